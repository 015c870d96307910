# SPDX-License-Identifier: Apache-2.0
"""Cases of ONNX Runtime's own domain, com.microsoft. What has no kernel for this processor there, or one that rounds, is computed here by
the formula of its documentation."""
import math

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx_case import RANDOM, case, computed, fused, node, reals


def microsoft_forms():
    for is_open in (False, True):
        own = dict(microsoft=True, is_open=is_open)
        label = "_open" if is_open else ""
        case(f"ms_GatherND{label}", [fused("GatherND", "x i")], {"x": reals(3, 4, 2)}, {"i": np.array([[0, 3], [2, -1]], np.int64)}, **own)
        case(f"ms_GatherND_i32{label}", [fused("GatherND", "x i")], {"x": reals(3, 4, 2)}, {"i": np.array([[[1]], [[2]]], np.int32)}, **own)
        for mode in ("bilinear", "nearest", "bicubic"):
            for padding in ("zeros", "border", "reflection"):
                case(f"ms_GridSample_{mode}_{padding}{label}", [fused("GridSample", "x g", mode=mode, padding_mode=padding, align_corners=int(is_open))],
                     {"x": reals(2, 3, 5, 6), "g": reals(2, 4, 3, 2)}, **own)
        case(f"ms_Pad_reflect{label}", [fused("Pad", "x p", mode="reflect")], {"x": reals(3, 4)}, {"p": np.array([1, 0, 0, 2], np.int64)}, **own)
        case(f"ms_Pad_row{label}", [fused("Pad", "x p v")], {"x": reals(3, 4)}, {"p": np.array([[1, 0, 0, 2]], np.int64), "v": np.float32(0.5)}, **own)
        for axis in (0, 1, -1):
            case(f"ms_ExpandDims_{axis}{label}", [fused("ExpandDims", "x a")], {"x": reals(2, 3)}, {"a": np.int32(axis)}, **own)
        case(f"ms_Inverse{label}", [fused("Inverse", "x")], {"x": reals(2, 3, 3) + 3 * np.eye(3, dtype=np.float32)}, **own)
        for metric in ("euclidean", "sqeuclidean"):
            case(f"ms_CDist_{metric}{label}", [fused("CDist", "a b", metric=metric)], {"a": reals(4, 5), "b": reals(3, 5)}, **own)
        boxes = np.array([[0.13, 0.21, 0.71, 0.9], [0.8, 0.6, 0.2, 0.1], [-0.3, 0, 1.2, 1], [0.5, 0.5, 0.5, 0.5]], np.float32)
        for mode in ("bilinear", "nearest"):
            for size in ((3, 4), (1, 5), (4, 1)):
                case(f"ms_CropAndResize_{mode}_{size[0]}x{size[1]}{label}", [fused("CropAndResize", "x r b s", mode=mode, extrapolation_value=7.0)],
                     {"x": reals(2, 3, 6, 7), "r": boxes}, {"b": np.array([1, 0, 1, 0], np.int32), "s": np.array(size, np.int32)}, **own)
        case(f"ms_Trilu{label}", [fused("Trilu", "x k", upper=0)], {"x": reals(2, 4, 5)}, {"k": np.int64(1)}, **own)
    for label, numbers in (("many", [2, 1, 1, 3, 4, 3]), ("one", [5])):
        case(f"ms_Unique_{label}", [fused("Unique", "x", "y i c")], {"x": np.array(numbers, np.float32)}, outputs=("y", "i", "c"), microsoft=True)
    words = {"i": RANDOM.integers(0, 9, (2, 4)).astype(np.int32), "t": RANDOM.integers(0, 2, (2, 4)).astype(np.int32),
             "m": np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)}
    tables = {"w": reals(9, 8), "p": reals(6, 8), "u": reals(2, 8), "g": reals(8), "e": reals(8), "n": np.array([[3, 2, 1, 0]], np.int32)}
    for label, names, outputs in (("mask", "i t w p u g e m", "y k"), ("no_mask", "i t w p u g e", "y k"), ("no_segments", "i - w p - g e m", "y k"),
                                  ("places", "i t w p u g e m n", "y k s")):
        used = {n: a for n, a in words.items() if n in names.split()}
        case(f"embed_layer_norm_{label}", [fused("EmbedLayerNormalization", names, outputs)], used, tables, outputs=tuple(outputs.split()), microsoft=True)


def diffusion_layers():
    """ONNX Runtime has kernels of these for GPUs only: the documentation's formulae, in f64."""
    gelu = lambda a: a * 0.5 * (1 + np.vectorize(math.erf)(a / np.sqrt(2)))
    silu = lambda a: a / (1 + np.exp(-a))
    x, skip, bias = reals(2, 6, 16), reals(2, 6, 16), reals(16)
    case("ms_BiasAdd", [fused("BiasAdd", "x b s")], {"x": x, "s": skip}, {"b": bias}, microsoft=True, expected=[x + bias + skip])
    left, right = np.split((x + bias).astype(np.float64), 2, axis=-1)
    case("ms_BiasSplitGelu", [fused("BiasSplitGelu", "x b")], {"x": x}, {"b": bias}, microsoft=True, expected=[(left * gelu(right)).astype(np.float32)])

    def normalised(a, groups, gamma, beta, activation):
        """@param a  with the channels at axis 1"""
        split = a.astype(np.float64).reshape(a.shape[0], groups, -1)
        split = (split - split.mean(-1, keepdims=True)) / np.sqrt(split.var(-1, keepdims=True) + 1e-5)
        y = split.reshape(a.shape) * gamma[:, None, None] + beta[:, None, None]
        return (silu(y) if activation else y).astype(np.float32)

    picture, gamma, beta, shift = reals(2, 8, 4, 5), reals(8), reals(8), reals(8)
    to_last = lambda a: np.ascontiguousarray(a.transpose(0, 2, 3, 1))
    convolution = {"w": reals(6, 4, 3, 3, scale=0.3), "b": reals(6)}
    more = reals(2, 6, 4, 5)
    plain = standard([node("Conv", "x w b", group=2, pads=[1] * 4)], {"x": picture}, convolution)
    own = dict(group=2, pads=[1] * 4)
    case("ms_NhwcConv", [fused("NhwcConv", "x w b", **own)], {"x": to_last(picture)}, convolution, microsoft=True, expected=[to_last(plain)])
    case("ms_NhwcFusedConv", [fused("NhwcFusedConv", "x w b z", activation="Relu", **own)], {"x": to_last(picture), "z": to_last(more)}, convolution, microsoft=True,
         expected=[to_last(np.maximum(plain + more, 0))])
    for last in (0, 1):
        for activation in (0, 1):
            placed = to_last if last else (lambda a: a)
            own = dict(groups=4, activation=activation, channels_last=last, epsilon=1e-5)
            for is_open in (False, True):
                label = f"{'last' if last else 'first'}_{'silu' if activation else 'plain'}{'_open' if is_open else ''}"
                case(f"ms_GroupNorm_{label}", [fused("GroupNorm", "x g e", **own)], {"x": placed(picture)}, {"g": gamma, "e": beta}, microsoft=True,
                     is_open=is_open, expected=[placed(normalised(picture, 4, gamma, beta, activation))])
                for kind in ("whole", "flat"):
                    more = reals(2, 8, 4, 5) if kind == "whole" else reals(2, 8)
                    sum = picture + (more if kind == "whole" else more[:, :, None, None]) + shift[:, None, None]
                    case(f"ms_SkipGroupNorm_{label}_{kind}", [fused("SkipGroupNorm", "x g e k b", "y s", **own)],
                         {"x": placed(picture), "k": placed(more) if kind == "whole" else more}, {"g": gamma, "e": beta, "b": shift}, outputs=("y", "s"),
                         microsoft=True, is_open=is_open, expected=[placed(normalised(sum, 4, gamma, beta, activation)), placed(sum)])


def quantised_layers():
    scales = {"s": np.float32(0.0517), "t": np.float32(0.0413), "r": np.float32(0.0637)}
    for kind, low, high in ((np.uint8, 0, 256), (np.int8, -128, 128)):
        label = np.dtype(kind).name
        numbers = lambda *shape: RANDOM.integers(low, high, shape).astype(kind)
        own = scales | {"z": kind(3), "o": kind(100), "p": kind(17)}
        for last in (0, 1):
            for name, more in (("", {}), ("_pads", dict(pads=[1, 0, 0, 1])), ("_counts_pads", dict(pads=[1, 1, 1, 1], count_include_pad=1)),
                               ("_ceil", dict(ceil_mode=1))):
                case(f"QLinearAveragePool_{label}_last{last}{name}",
                     [fused("QLinearAveragePool", "x s z r p", kernel_shape=[2, 3], strides=[2, 2], channels_last=last, **more)],
                     {"x": numbers(1, 6, 7, 3) if last else numbers(1, 3, 6, 7)}, own, microsoft=True)
        case(f"QLinearWhere_{label}", [fused("QLinearWhere", "c x s z w t o r p")],
             {"c": RANDOM.integers(0, 2, (2, 1, 4)).astype(bool), "x": numbers(3, 4), "w": numbers(2, 3, 1)}, own, microsoft=True)
        for last in (0, 1):
            picture = numbers(1, 6, 7, 4) if last else numbers(1, 4, 6, 7)
            case(f"ms_QLinearConv_{label}_last{last}", [fused("QLinearConv", "x s z w ws wz r p b", channels_last=last, group=2, pads=[1, 0, 1, 1], strides=[2, 1])],
                 {"x": picture}, own | {"w": numbers(6, 2, 3, 3), "ws": np.full(6, 0.0213, np.float32), "wz": np.zeros(6, kind) if kind == np.int8 else np.full(6, 7, kind),
                                        "b": RANDOM.integers(-99, 99, 6).astype(np.int32), "r": np.float32(2.371)}, microsoft=True)
    steps, batch, width, hidden = 4, 2, 3, 5
    for direction in ("forward", "reverse", "bidirectional"):
        count = 2 if direction == "bidirectional" else 1
        for kind in (np.uint8, np.int8):
            middle = 128 if kind == np.uint8 else 0
            code = lambda *shape: (RANDOM.integers(-20, 20, shape) + middle).astype(kind)
            for by_column in (False, True):
                shape = (count, 4 * hidden) if by_column else (count,)
                own = {"w": code(count, width, 4 * hidden), "r": code(count, hidden, 4 * hidden), "b": reals(count, 8 * hidden, scale=0.3),
                       "h": reals(count, batch, hidden), "c": reals(count, batch, hidden), "p": reals(count, 3 * hidden, scale=0.2),
                       "ws": np.full(shape, 0.02, np.float32), "wz": np.full(shape, middle, kind), "rs": np.full(shape, 0.03, np.float32),
                       "rz": np.full(shape, middle, kind)}
                # Numbers that ONNX Runtime rounds to 8 bits without a loss.
                x = (RANDOM.integers(-127, 128, (steps, batch, width)) / 127).astype(np.float32)
                name = f"DynamicQuantizeLSTM_{direction}_{np.dtype(kind).name}{'_by_column' if by_column else ''}"
                case(name, [fused("DynamicQuantizeLSTM", "x w r b - h c p ws wz rs rz", "y yh yc", hidden_size=hidden, direction=direction)], {"x": x}, own,
                     outputs=("y", "yh", "yc"), microsoft=True, expected=quantised_lstm(x, own, direction, hidden))
    attentions()


def quantised_lstm(x, own, direction, hidden):
    """The standard's LSTM with the weights that the codes stand for, by ONNX Runtime: its own operation rounds the state at each step."""
    spread = lambda a: a[:, None, None] if a.ndim == 1 else a[:, None, :]
    weights = {n: np.ascontiguousarray(((own[n].astype(np.float32) - spread(own[n + "z"]).astype(np.float32)) * spread(own[n + "s"])).transpose(0, 2, 1)) for n in "wr"}
    constants = {n: a for n, a in (own | weights).items() if n in ("w", "r", "b", "h", "c", "p")}
    return standard([node("LSTM", "x w r b - h c p", "y yh yc", hidden_size=hidden, direction=direction)], {"x": x}, constants, ("y", "yh", "yc"))


def standard(nodes, inputs, constants, outputs=("y",)):
    """What ONNX Runtime computes for nodes of the standard; one output as itself."""
    graph = helper.make_graph(nodes, "standard", [helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape) for n, a in inputs.items()],
                              [onnx.ValueInfoProto(name=n) for n in outputs], [numpy_helper.from_array(a, n) for n, a in constants.items()])
    made = computed(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=10), outputs, inputs)
    return made if len(outputs) > 1 else made[0]


def attentions():
    heads, size, batch, words, width = 2, 4, 2, 5, 12
    hidden = heads * size
    for x_kind, w_kind in ((np.uint8, np.int8), (np.uint8, np.uint8)):
        code = lambda kind, *shape: RANDOM.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape).astype(kind)
        weights = code(w_kind, width, 3 * hidden)
        if w_kind == np.int8:
            weights //= w_kind(2)  # With AVX2 alone ONNX Runtime adds pairs of products in 16 bits, which saturate with eight.
        own = {"w": weights, "b": reals(3 * hidden), "s": np.float32(0.02), "t": np.float32(0.01), "z": x_kind(2),
               "o": w_kind(3), "tc": np.abs(reals(3 * hidden, scale=0.02)) + np.float32(0.001), "oc": code(w_kind, 3 * hidden)}
        x = {"x": code(x_kind, batch, words, width)}
        label = f"QAttention_{np.dtype(x_kind).name}_{np.dtype(w_kind).name}"
        case(label, [fused("QAttention", "x w b s t - z o", num_heads=heads)], x, own, microsoft=True)
        case(f"{label}_no_zeros", [fused("QAttention", "x w b s t", num_heads=heads)], x, own, microsoft=True)
        case(f"{label}_by_column", [fused("QAttention", "x w b s tc - z o", num_heads=heads)], x, own, microsoft=True)
        for kind, mask in (("lengths", np.array([3, 5], np.int32)), ("keys", np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32))):
            case(f"{label}_{kind}", [fused("QAttention", "x w b s t m z o", num_heads=heads)], x | {"m": mask}, own, microsoft=True)
        case(f"{label}_causal", [fused("QAttention", "x w b s t - z o", num_heads=heads, unidirectional=1)], x, own, microsoft=True)
        case(f"{label}_past", [fused("QAttention", "x w b s t - z o p", "y n", num_heads=heads, unidirectional=1)],
             x | {"p": reals(2, batch, heads, 3, size)}, own, outputs=("y", "n"), microsoft=True)


def few_bits():
    rows = 7
    for k, block in ((128, 32), (80, 16), (72, 16)):
        blocks = -(-k // block)
        own = {"b": RANDOM.integers(0, 256, (rows, blocks, block // 4)).astype(np.uint8), "s": np.abs(reals(rows, blocks, scale=0.1)), "f": reals(rows),
               "z": RANDOM.integers(0, 256, (rows, -(-blocks // 4))).astype(np.uint8), "r": reals(rows, blocks) + 2}
        for label, names in (("plain", "a b s"), ("zeros", "a b s z"), ("bias", "a b s - - f"), ("real_zeros", "a b s r")):
            case(f"matmul_2_bits_blocks_of_{block}_of_{k}_{label}", [fused("MatMulNBits", names, K=k, N=rows, bits=2, block_size=block)], {"a": reals(2, 3, k)},
                 own, microsoft=True)
    # The group of each row (act-order of GPTQ): in the order of blocks, equally many of each group, and any.
    k, block, blocks = 64, 16, 4
    orders = {"same": np.repeat(np.arange(blocks), block), "mixed": RANDOM.permutation(np.repeat(np.arange(blocks), block)),
              "unequal": RANDOM.integers(0, blocks, k)}
    for bits in (2, 4, 8):
        codes, zeros = RANDOM.integers(0, 1 << bits, (rows, k)), RANDOM.integers(0, 1 << bits, (rows, blocks))
        scales, a = np.abs(reals(rows, blocks, scale=0.1)), reals(3, k)
        own = {"b": packed_rows(codes, bits).reshape(rows, blocks, -1), "s": scales, "z": packed_rows(zeros, bits)}
        for label, groups in orders.items():
            own["g"] = groups.astype(np.int32)
            for names in ("a b s z g", "a b s - g"):
                centre = zeros[:, groups] if "z" in names else 1 << (bits - 1)
                weights = (codes - centre) * scales[:, groups]
                case(f"matmul_{bits}_bits_groups_{label}{'_zeros' if 'z' in names else ''}", [fused("MatMulNBits", names, K=k, N=rows, bits=bits, block_size=block)],
                     {"a": a}, dict(own), microsoft=True, expected=[(a @ weights.T).astype(np.float32)])
    for kind, name in ((0, "fp4"), (1, "nf4")):
        for n, k, block in ((4, 64, 64), (6, 96, 32), (5, 48, 32), (3, 20, 16)):
            own = {"b": RANDOM.integers(0, 256, (n * k + 1) // 2).astype(np.uint8), "m": np.abs(reals(-(-n * k // block)))}
            case(f"matmul_bnb4_{name}_{n}x{k}_blocks_of_{block}", [fused("MatMulBnb4", "a b m", N=n, K=k, block_size=block, quant_type=kind)], {"a": reals(2, 3, k)},
                 own, microsoft=True)


def packed_rows(codes, bits):
    """Numbers of few bits, row by row, from the lowest bit on."""
    shown = (codes[..., None] >> np.arange(bits)) & 1
    return np.packbits(shown.reshape(*codes.shape[:-1], -1).astype(np.uint8), axis=-1, bitorder="little")


def experts():
    tokens, hidden, inner, count = 5, 16, 32, 4
    x, router = reals(tokens, hidden), reals(tokens, count)
    parts = {"w": reals(count, inner, hidden, scale=0.3), "b": reals(count, inner), "v": reals(count, hidden, inner, scale=0.3), "c": reals(count, hidden),
             "d": reals(count, 2 * inner, hidden, scale=0.3), "e": reals(count, 2 * inner)}
    both = dict(swiglu_fusion=1, swiglu_limit=1.5, activation_alpha=1.7, activation_beta=1.0)
    for activation in ("relu", "gelu", "silu", "identity", "swiglu"):
        more = both if activation == "swiglu" else {}
        first = "d e" if activation == "swiglu" else "w b"
        for label, names in (("plain", f"x r {first[0]} - v"), ("bias", f"x r {first} v c")):
            for normalise in (0, 1):
                case(f"MoE_{activation}_{label}_{normalise}",
                     [fused("MoE", names, activation_type=activation, k=2, normalize_routing_weights=normalise, **more)], {"x": x, "r": router}, parts, microsoft=True)
    case("MoE_of_batches_open", [fused("MoE", "x r w - v", activation_type="relu", k=1)], {"x": reals(2, 3, hidden), "r": reals(6, count)}, parts, microsoft=True,
         is_open=True)
    # ONNX Runtime has these for GPUs only.
    shares = chosen_shares(router, 2)
    third = {"t": reals(count, inner, hidden, scale=0.3)}
    sigmoid = lambda a: 1 / (1 + np.exp(-a))
    layer = lambda weights: np.einsum("th,enh->ten", x, weights)
    outcome = lambda h: [np.einsum("te,ten,ehn->th", shares, h, parts["v"]).astype(np.float32)]
    gate, linear = np.minimum(layer(parts["w"]), 1.5), np.clip(layer(third["t"]), -1.5, 1.5)
    limits = dict(activation_type="swiglu", swiglu_limit=1.5, activation_alpha=1.7, activation_beta=1.0, k=2)
    case("MoE_swiglu_of_three", [fused("MoE", "x r w - v - t", **limits)], {"x": x, "r": router}, parts | third, microsoft=True,
         expected=outcome(gate * sigmoid(1.7 * gate) * (linear + 1)))
    halves = np.split(layer(parts["d"]), 2, axis=-1)
    gate, linear = np.minimum(halves[0], 1.5), np.clip(halves[1], -1.5, 1.5)
    case("MoE_swiglu_of_halves", [fused("MoE", "x r d - v", swiglu_fusion=2, **limits)], {"x": x, "r": router}, parts, microsoft=True,
         expected=outcome(gate * sigmoid(1.7 * gate) * (linear + 1)))
    case("MoE_silu_of_three", [fused("MoE", "x r w - v - t", activation_type="silu", k=2)], {"x": x, "r": router}, parts | third, microsoft=True,
         expected=outcome(layer(parts["w"]) * sigmoid(layer(parts["w"])) * layer(third["t"])))
    # Which experts are chosen: of equals the first ones, one for all rows, all for each row, none where there are no rows.
    nan = router.copy()
    nan[1, 2] = np.nan
    for label, odds, k in (("ties", np.zeros_like(router), 2), ("two_ties", np.round(router), 3), ("one_expert", router + np.eye(count)[2].astype(np.float32) * 100, 1),
                           ("all", router, count), ("nan", nan, 2)):
        for normalise in (0, 1):
            kept = chosen_shares(odds, k)
            kept = kept / kept.sum(-1, keepdims=True) if normalise else kept
            case(f"MoE_chooses_{label}_{normalise}", [fused("MoE", "x r w - v", activation_type="relu", k=k, normalize_routing_weights=normalise)], {"x": x, "r": odds},
                 parts, microsoft=True, expected=[np.einsum("te,ten,ehn->th", kept, np.maximum(layer(parts["w"]), 0), parts["v"]).astype(np.float32)])
    case("MoE_of_no_rows", [fused("MoE", "x r w - v", activation_type="relu", k=2)], {"x": reals(0, hidden), "r": reals(0, count)}, parts, microsoft=True,
         expected=[np.zeros((0, hidden), np.float32)])
    for bits in (2, 4, 8):
        for block in (0, 16):
            for activation in ("relu", "swiglu"):
                outputs = inner * (2 if activation == "swiglu" else 1)
                blocks = lambda depth: (depth // block,) if block else ()
                code = lambda *shape: RANDOM.integers(0, 1 << bits, shape)
                first, second = code(count, outputs, hidden), code(count, hidden, inner)
                zeros = [code(count, n, *blocks(depth)) for n, depth in ((outputs, hidden), (hidden, inner))]
                scales = [np.abs(reals(*z.shape, scale=0.3 / (1 << bits))) for z in zeros]
                own = {"q": packed_rows(first, bits), "s": scales[0], "b": reals(count, outputs), "v": packed_rows(second, bits), "t": scales[1],
                       "c": reals(count, hidden), "y1": packed_rows(zeros[0], bits), "y2": packed_rows(zeros[1], bits)}
                form = dict(k=2, expert_weight_bits=bits, activation_type=activation, normalize_routing_weights=1) | (dict(block_size=block) if block else {})
                form |= both if activation == "swiglu" else {}
                values = lambda codes, scale, zero: ((codes.reshape(*zero.shape, -1) - zero[..., None]) * scale[..., None]).reshape(codes.shape)
                for label, names in (("plain", "x r q s - v t"), ("zeros", "x r q s b v t c - - - y1 y2"), ("weights", "x r q s - v t - - - - - - - u")):
                    has_zeros, is_weighed = "y1" in names, names.endswith("u")
                    given = np.abs(reals(tokens, count))
                    share = chosen_shares(router, 2, given if is_weighed else None)
                    share /= share.sum(-1, keepdims=True)
                    middle = [z if has_zeros else np.full_like(z, 1 << (bits - 1)) for z in zeros]
                    h = np.einsum("th,enh->ten", x, values(first, scales[0], middle[0])) + (own["b"] if has_zeros else 0)
                    if activation == "swiglu":
                        gate, linear = np.minimum(h[..., ::2], 1.5), np.clip(h[..., 1::2], -1.5, 1.5)
                        h = gate * sigmoid(1.7 * gate) * (linear + 1)
                    h = np.maximum(h, 0) if activation == "relu" else h
                    y = np.einsum("ten,ehn->teh", h, values(second, scales[1], middle[1])) + (own["c"] if has_zeros else 0)
                    # Written out, since ONNX Runtime rounds rows to 8 bits for some of these forms.
                    case(f"QMoE_{bits}_bits_blocks_of_{block}_{activation}_{label}", [fused("QMoE", names, **form)],
                         {"x": x, "r": router} | ({"u": given} if is_weighed else {}), own, microsoft=True,
                         expected=[np.einsum("te,teh->th", share, y).astype(np.float32)])


def chosen_shares(router, k, shares=None):
    odds = np.exp(router - router.max(-1, keepdims=True))
    odds = odds / odds.sum(-1, keepdims=True) if shares is None else shares
    chosen = np.argsort(-router, axis=-1, kind="stable")[:, :k]
    kept = np.zeros(odds.shape)
    np.put_along_axis(kept, chosen, np.take_along_axis(odds.astype(np.float64), chosen, -1), -1)
    return kept


GROUPS = (microsoft_forms, diffusion_layers, quantised_layers, few_bits, experts)
