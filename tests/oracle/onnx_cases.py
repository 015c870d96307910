#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small ONNX models for cases missing from ONNX's own node tests, in the same folders (model.onnx, test_data_set_0), with
ONNX Runtime's results without optimisations. backend_tests runs them.

usage: onnx_cases.py --out DIR
"""
import argparse
import shutil
import sys
from pathlib import Path

import numpy as np
import onnx_learned_cases
import onnx_microsoft_cases
from onnx import TensorProto, helper, numpy_helper
from onnx_case import CASES, RANDOM, case, fused, node, reals, write


def resizes():
    picture = reals(1, 2, 13, 17)
    forms = {"half_pixel": "half_pixel", "corners": "align_corners", "asymmetric": "asymmetric"}
    for mode in ("linear", "cubic"):
        for short, coordinates in forms.items():
            for antialias, exclude in ((1, 0), (1, 1), (0, 1)):
                if mode == "linear" and not antialias:
                    continue
                for label, sizes in (("down", [6, 5]), ("mixed", [7, 40]), ("up", [26, 20])):
                    attributes = dict(mode=mode, antialias=antialias, exclude_outside=exclude, axes=[2, 3],
                                      coordinate_transformation_mode=coordinates)
                    if mode == "cubic" and exclude:
                        attributes["cubic_coeff_a"] = -0.5
                    case(f"resize_{mode}_{short}_{label}_antialias{antialias}_exclude{exclude}",
                         [node("Resize", "x - - sizes", **attributes)], {"x": picture}, {"sizes": np.array(sizes, np.int64)})
        case(f"resize_{mode}_antialias_by_scales", [node("Resize", "x - scales", mode=mode, antialias=1)], {"x": picture},
             {"scales": np.array([1, 1, 0.37, 0.61], np.float32)})
    case("resize_linear_antialias_u8", [node("Resize", "x - - sizes", mode="linear", antialias=1)],
         {"x": RANDOM.integers(0, 2, (1, 1, 16, 16)).astype(np.uint8) * 200},
         {"sizes": np.array([1, 1, 4, 8], np.int64)})


def quantisation():
    x = np.concatenate([np.zeros(4, np.float32), reals(60, scale=2)]).reshape(1, 4, 4, 4)
    for kind, zero in ((np.int8, 3), (np.uint8, 131), (np.int16, 77), (np.uint16, 32771)):
        for domain in ("", "com.microsoft"):
            scale = 0.0474 if np.dtype(kind).itemsize == 1 else 0.000213
            name = f"{np.dtype(kind).name}{'_ms' if domain else ''}"
            constants = {"s": np.float32(scale), "z": kind(zero)}
            pair = [node("QuantizeLinear", "x s z", "q", domain=domain), node("DequantizeLinear", "q s z", "d", domain=domain)]
            case(f"zero_stays_zero_{name}", pair + [node("Sign", "d", "y"), node("Identity", "d", "e")], {"x": x}, constants,
                 outputs=("y", "e"), microsoft=bool(domain))
    constants = {"s": np.float32(0.0474), "z": np.int8(3)}
    pair = [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d")]
    case("zero_of_dynamic_quantisation", pair + [node("DynamicQuantizeLinear", "d", "y scale zero")],
         {"x": np.zeros((2, 8), np.float32)}, constants, outputs=("y", "scale", "zero"))
    case("zero_among_channels", [node("QuantizeLinear", "x s z", "q"), node("DequantizeLinear", "q s z", "d"), node("Sign", "d")],
         {"x": x}, {"s": np.array([0.05, 0.0474, 0.1, 0.0033], np.float32), "z": np.array([3, -7, 0, 11], np.int8)})


def recurrences():
    steps, batch, features, hidden = 3, 2, 4, 5
    for directions, direction in ((1, "forward"), (2, "bidirectional")):
        x = reals(steps, batch, features, scale=2)
        constants = {"w": reals(directions, 4 * hidden, features), "r": reals(directions, 4 * hidden, hidden),
                     "b": reals(directions, 8 * hidden), "h": reals(directions, batch, hidden),
                     "c": reals(directions, batch, hidden, scale=3)}
        for label, peepholes in (("none", None), ("zero", np.zeros((directions, 3 * hidden), np.float32)),
                                 ("some", reals(directions, 3 * hidden))):
            for coupled in (0, 1):
                names = "x w r b - h c" + (" p" if peepholes is not None else "")
                own = constants | ({"p": peepholes} if peepholes is not None else {})
                case(f"lstm_{direction}_peepholes_{label}_coupled{coupled}_clipped",
                     [node("LSTM", names, "y last cell", hidden_size=hidden, direction=direction, clip=0.4,
                           input_forget=coupled)],
                     {"x": x}, own, outputs=("y", "last", "cell"))


def forms():
    case("matmul_of_nothing", [node("MatMul", "a b")], {"a": np.zeros((0, 0), np.float32), "b": np.zeros((0, 5), np.float32)})
    case("matmul_over_nothing", [node("MatMul", "a b")], {"a": np.zeros((3, 0), np.float32), "b": np.zeros((0, 5), np.float32)})
    case("gemm_over_nothing", [node("Gemm", "a b c")], {"a": np.zeros((3, 0), np.float32), "b": np.zeros((0, 5), np.float32)},
         {"c": reals(5)})
    empty = {"a": np.zeros((0, 0), np.float32), "b": np.zeros((0, 5), np.float32)}
    case("layer_of_nothing", [node("MatMul", "a b", "m"), node("Add", "m c", "s"), node("Relu", "s")], empty, {"c": reals(5)})
    case("layer_over_nothing", [node("MatMul", "a b", "m"), node("Add", "m c", "s"), node("Relu", "s")],
         {"a": np.zeros((2, 3, 0), np.float32), "b": np.zeros((0, 5), np.float32)}, {"c": reals(5)})
    case("gemm_of_nothing_transposed", [node("Gemm", "a b c", transA=1, transB=1)],
         {"a": np.zeros((0, 3), np.float32), "b": np.zeros((5, 0), np.float32)}, {"c": reals(5)})
    case("einsum_of_nothing", [node("Einsum", "a b", equation="ij,jk->ik")], empty)
    case("product_of_integers_of_nothing", [node("MatMul", "a b")],
         {"a": np.zeros((0, 0), np.int64), "b": np.zeros((0, 5), np.int64)})
    case("stft_of_rank_2", [node("STFT", "x step window length", onesided=1)], {"x": reals(2, 64)},
         {"step": np.int64(8), "window": np.hanning(16).astype(np.float32), "length": np.int64(16)}, opset=17)
    # Added one after another in f32, none of the ones would count.
    many = np.concatenate([np.float32([1 << 24]), np.ones(1 << 16, np.float32)])
    case("sum_of_many_sizes", [node("ReduceSum", "x", keepdims=0), node("ReduceL1", "x", "m", keepdims=0)], {"x": many},
         outputs=("y", "m"))
    case("resize_linear_antialias_one_place", [node("Resize", "x - - sizes", mode="linear", antialias=1)],
         {"x": reals(1, 1, 40, 1)}, {"sizes": np.array([1, 1, 1, 3], np.int64)})
    for mode in ("linear", "cubic"):
        case(f"resize_{mode}_antialias_of_any_size", [node("Resize", "x - - sizes", mode=mode, antialias=1)],
             {"x": reals(1, 2, 19, 11), "sizes": np.array([1, 2, 7, 16], np.int64)}, is_open=True)
        case(f"resize_{mode}_antialias_by_any_scale", [node("Resize", "x - scales", mode=mode, antialias=1, axes=[2, 3])],
             {"x": reals(1, 2, 19, 11), "scales": np.array([0.4, 0.9], np.float32)}, is_open=True)
    case("resize_linear_symmetric", [node("Resize", "x - scales", mode="linear", coordinate_transformation_mode="half_pixel_symmetric")],
         {"x": reals(1, 1, 7, 9)}, {"scales": np.array([1, 1, 0.6, 1.7], np.float32)})
    dense = np.array([[0, 1.5, 0], [0, 0, -2]], np.float32)
    for label, indices in (("linear", np.array([1, 5], np.int64)), ("by_axis", np.array([[0, 1], [1, 2]], np.int64))):
        sparse = helper.make_sparse_tensor(numpy_helper.from_array(np.array([1.5, -2], np.float32), "k"),
                                           numpy_helper.from_array(indices, "i"), [2, 3])
        case(f"constant_sparse_{label}", [node("Constant", "", "k", sparse_value=sparse), node("Add", "x k")],
             {"x": np.ones_like(dense)})
        case(f"initializer_sparse_{label}", [node("Add", "x k")], {"x": np.ones_like(dense)}, sparse=(sparse,))
    case("constant_ints", [node("Constant", "", "k", value_ints=[2, -3]), node("Mul", "x k")],
         {"x": np.array([[1, 2]], np.int64)})
    case("constant_floats", [node("Constant", "", "k", value_floats=[2.0, -3.0]), node("Mul", "x k")],
         {"x": np.array([[1, 2]], np.float32)})


def sequences():
    x = {"x": reals(3, 6)}
    half, one = {"n": np.int64(2)}, {"p": np.int64(-1)}
    parts = node("SplitToSequence", "x n", "s", axis=1)
    for new in (0, 1):
        for axis in (0, 1, -1):
            case(f"sequence_split_and_concat_new{new}_axis{axis}", [parts, node("ConcatFromSequence", "s", axis=axis, new_axis=new)], x, half)
            case(f"sequence_of_open_length_new{new}_axis{axis}",
                 [node("SplitToSequence", "x", "s", axis=1), node("ConcatFromSequence", "s", axis=axis, new_axis=new)], x, is_open=True)
    case("sequence_unbind", [node("SplitToSequence", "x", "s", axis=0, keepdims=0), node("SequenceAt", "s p")], x, one)
    case("sequence_at_any_place", [node("SplitToSequence", "x", "s", axis=0, keepdims=0), node("SequenceAt", "s p")], x | {"p": np.array(1)})
    case("sequence_split_sizes", [node("SplitToSequence", "x n", "s", axis=1), node("SequenceAt", "s p")], x,
         {"n": np.array([1, 3, 2], np.int64)} | one)
    case("sequence_insert_erase_length",
         [node("SequenceConstruct", "x a", "s"), node("SequenceInsert", "s b p", "t"), node("SequenceErase", "t q", "u"),
          node("SequenceLength", "u", "n"), node("ConcatFromSequence", "u", axis=0)],
         x | {"a": reals(1, 6), "b": reals(2, 6)}, {"p": np.int64(0), "q": np.int64(1)}, outputs=("y", "n"))
    body = helper.make_graph([helper.make_node("Mul", ["e", "e"], ["g"])], "body", [helper.make_tensor_value_info("e", TensorProto.FLOAT, None)],
                             [helper.make_tensor_value_info("g", TensorProto.FLOAT, None)])
    case("sequence_map", [parts, node("SequenceMap", "s", "t", body=body), node("ConcatFromSequence", "t", axis=1)], x, half)
    typed = lambda name, kind, shape: helper.make_tensor_value_info(name, kind, shape)
    listed = helper.make_tensor_sequence_value_info
    grow = helper.make_graph(
        [node("Cast", "i", "f", to=TensorProto.FLOAT), node("Add", "x f", "e"), node("SequenceInsert", "si e", "so"), node("Identity", "c", "co")],
        "grow", [typed("i", TensorProto.INT64, []), typed("c", TensorProto.BOOL, []), listed("si", TensorProto.FLOAT, None)],
        [typed("co", TensorProto.BOOL, []), listed("so", TensorProto.FLOAT, None)])
    for label, first in (("nothing", [node("SequenceEmpty", "", "s")]), ("one", [node("SequenceConstruct", "x", "s")])):
        case(f"sequence_grown_by_a_loop_from_{label}",
             first + [node("Loop", "m - s", "t", body=grow), node("ConcatFromSequence", "t", axis=1, new_axis=1), node("SequenceLength", "t", "n")],
             x | {"m": np.array(4)}, outputs=("y", "n"))
    branch = lambda name, kind: helper.make_graph([node(kind, "x", f"{name}_a"), node("SequenceConstruct", f"{name}_a x", name)], name, [],
                                                  [listed(name, TensorProto.FLOAT, None)])
    case("sequence_of_branches", [node("If", "c", "s", then_branch=branch("t", "Neg"), else_branch=branch("e", "Abs")),
                                  node("ConcatFromSequence", "s", axis=0)], x | {"c": np.array(False)})
    case("optional_values", [node("Optional", "x", "o"), node("OptionalHasElement", "o", "h"), node("OptionalGetElement", "o", "y")], x, opset=18,
         outputs=("y", "h"))


def standard_attention():
    batch, queries, keys, size = 2, 5, 7, 8
    flat = lambda n, heads: reals(batch, n, heads * size)
    tall = lambda n, heads: reals(batch, heads, n, size)
    outputs = ("y", "pk", "pv", "qk")
    for label, heads, attributes in (
            ("plain", 4, {}), ("groups", 2, {}), ("one_group", 1, {}), ("causal", 4, dict(is_causal=1)), ("scaled", 4, dict(scale=0.2)),
            ("softcap", 4, dict(softcap=0.7)), ("groups_causal_softcap", 2, dict(is_causal=1, softcap=2.0))):
        inputs = {"q": flat(queries, 4), "k": flat(keys, heads), "v": flat(keys, heads)}
        case(f"attention_flat_{label}", [node("Attention", "q k v", q_num_heads=4, kv_num_heads=heads, **attributes)], inputs, opset=23)
        inputs = {"q": tall(queries, 4), "k": tall(keys, heads), "v": tall(keys, heads)}
        case(f"attention_tall_{label}", [node("Attention", "q k v", **attributes)], inputs, opset=23)
    masks = {"numbers": reals(queries, keys), "bools": RANDOM.random((queries, keys)) > 0.3, "heads": reals(batch, 4, queries, keys)}
    masks["bools"][:, 0] = True
    for label, mask in masks.items():
        for causal in (0, 1):
            inputs = {"q": tall(queries, 4), "k": tall(keys, 2), "v": tall(keys, 2), "m": mask}
            case(f"attention_mask_{label}_causal{causal}", [node("Attention", "q k v m", is_causal=causal)], inputs, opset=23)
    past = {"pk0": tall(3, 2), "pv0": tall(3, 2)}
    inputs = {"q": flat(queries, 4), "k": flat(keys, 2), "v": flat(keys, 2)} | past
    case("attention_past", [node("Attention", "q k v - pk0 pv0", "y pk pv", q_num_heads=4, kv_num_heads=2)], inputs, opset=23,
         outputs=outputs[:3])
    case("attention_past_of_any_size", [node("Attention", "q k v - pk0 pv0", "y pk pv", q_num_heads=4, kv_num_heads=2)], inputs, opset=23,
         outputs=outputs[:3], is_open=True)
    case("attention_past_masked", [node("Attention", "q k v m pk0 pv0", "y pk pv", q_num_heads=4, kv_num_heads=2)],
         inputs | {"m": reals(queries, keys + 3)}, opset=23, outputs=outputs[:3])
    for mode in range(4):
        case(f"attention_scores_{mode}", [node("Attention", "q k v m", "y - - qk", qk_matmul_output_mode=mode, softcap=1.5)],
             {"q": tall(queries, 2), "k": tall(keys, 2), "v": tall(keys, 2), "m": reals(queries, keys)}, opset=23, outputs=("y", "qk"))
    for interleaved in (0, 1):
        angles = RANDOM.uniform(-3, 3, (20, size // 2))
        caches = {"c": np.cos(angles).astype(np.float32), "s": np.sin(angles).astype(np.float32)}
        case(f"rotary_positions_interleaved{interleaved}", [node("RotaryEmbedding", "x c s p", interleaved=interleaved)],
             {"x": tall(5, 3), "p": RANDOM.integers(0, 20, (batch, 5))}, caches, opset=23)
        case(f"rotary_flat_interleaved{interleaved}", [node("RotaryEmbedding", "x c s p", interleaved=interleaved, num_heads=3)],
             {"x": flat(5, 3), "p": RANDOM.integers(0, 20, (batch, 5))}, caches, opset=23)
        part = {"c": np.cos(angles[:, :2]).astype(np.float32), "s": np.sin(angles[:, :2]).astype(np.float32)}
        case(f"rotary_part_interleaved{interleaved}",
             [node("RotaryEmbedding", "x c s p", interleaved=interleaved, rotary_embedding_dim=4)],
             {"x": tall(5, 3), "p": RANDOM.integers(0, 20, (batch, 5))}, part, opset=23)
        own = {name: table[:10].reshape(batch, 5, 4) for name, table in caches.items()}
        case(f"rotary_own_tables_interleaved{interleaved}", [node("RotaryEmbedding", "x c s", interleaved=interleaved)],
             {"x": tall(5, 3)}, own, opset=23)
    case("rms_normalization", [node("RMSNormalization", "x w", epsilon=1e-4)], {"x": reals(2, 3, 8)}, {"w": reals(8)}, opset=23)
    for mode in ("linear", "circular"):
        first = np.array([1, 4] if mode == "linear" else [5, 2], np.int64)
        case(f"tensor_scatter_{mode}", [node("TensorScatter", "x u i", mode=mode)],
             {"x": tall(7, 2), "u": tall(3, 2), "i": first}, opset=24)
    regions = np.array([[0, 1, 2, 9, 8], [1, 4, 0, 13, 15]], np.float32)
    case("max_roi_pool", [node("MaxRoiPool", "x r", pooled_shape=[3, 2], spatial_scale=0.5)], {"x": reals(2, 3, 8, 8), "r": regions}, opset=17)
    masked = np.array([[0, 0, -np.inf], [-np.inf] * 3], np.float32)
    case("attention_of_nothing_with_scores", [node("Attention", "q k v m", "y - - qk", qk_matmul_output_mode=3)],
         {"q": tall(2, 2), "k": tall(3, 2), "v": tall(3, 2), "m": masked}, opset=23, outputs=("y", "qk"))
    case("swish", [node("Swish", "x", alpha=1.3)], {"x": reals(3, 4)}, opset=24)


def microsoft_attention():
    batch, heads, size, hidden = 2, 4, 8, 32
    three = {"q": reals(batch, 5, hidden), "k": reals(batch, 6, hidden), "v": reals(batch, 6, hidden)}
    multi = dict(num_heads=heads)
    case("mha_plain", [fused("MultiHeadAttention", "q k v", **multi)], three, microsoft=True)
    case("mha_bias", [fused("MultiHeadAttention", "q k v b", **multi)], three, {"b": reals(3 * hidden)}, microsoft=True)
    case("mha_padding", [fused("MultiHeadAttention", "q k v - m", **multi)], three | {"m": np.array([[1] * 6, [1] * 4 + [0] * 2], np.int32)},
         microsoft=True)
    case("mha_added", [fused("MultiHeadAttention", "q k v - - a", **multi)], three | {"a": reals(1, heads, 5, 6)}, microsoft=True)
    case("mha_past", [fused("MultiHeadAttention", "q k v - - - pk pv", "y nk nv", **multi)],
         {"q": reals(batch, 2, hidden), "k": reals(batch, 2, hidden), "v": reals(batch, 2, hidden), "pk": reals(batch, heads, 3, size),
          "pv": reals(batch, heads, 3, size)}, outputs=("y", "nk", "nv"), microsoft=True)
    case("mha_causal", [fused("MultiHeadAttention", "q k v", unidirectional=1, **multi)],
         {n: reals(batch, 5, hidden) for n in "qkv"}, microsoft=True)
    weights = {"w": reals(24, 3 * hidden, scale=0.3), "b": reals(3 * hidden)}
    x = {"x": reals(batch, 5, 24)}
    case("ms_attention", [fused("Attention", "x w b", **multi)], x, weights, microsoft=True)
    case("ms_attention_causal", [fused("Attention", "x w b", unidirectional=1, **multi)], x, weights, microsoft=True)
    for label, mask in (("keys", np.array([[1] * 5, [1, 1, 1, 0, 0]], np.int32)), ("ends", np.array([5, 3], np.int32)),
                        ("ends_starts", np.array([5, 4, 1, 0], np.int32)),
                        ("queries", np.tril(np.ones((batch, 5, 5), np.int32)))):
        case(f"ms_attention_mask_{label}", [fused("Attention", "x w b m", **multi)], x | {"m": mask}, weights, microsoft=True)
    case("ms_attention_past", [fused("Attention", "x w b - p", "y n", unidirectional=1, **multi)],
         {"x": reals(batch, 2, 24), "p": reals(2, batch, heads, 3, size)}, weights, outputs=("y", "n"), microsoft=True)
    angles = RANDOM.uniform(-3, 3, (16, size // 2))
    tables = {"c": np.cos(angles).astype(np.float32), "s": np.sin(angles).astype(np.float32)}
    for label, position in (("offset", np.array([3], np.int64)), ("each", RANDOM.integers(0, 16, (batch, 5)))):
        for interleaved in (0, 1):
            case(f"ms_rotary_{label}_interleaved{interleaved}", [fused("RotaryEmbedding", "x p c s", interleaved=interleaved)],
                 {"x": reals(batch, 5, hidden), "p": position}, tables, microsoft=True)
    outputs, size, hidden = ("y", "nk", "nv"), 16, 64
    angles = RANDOM.uniform(-3, 3, (16, size // 2))
    tables = {"c": np.cos(angles).astype(np.float32), "s": np.sin(angles).astype(np.float32)}
    for kv in (4, 2, 1):
        for label, queries, past, lengths in (("prompt", 5, 0, [4, 4]), ("ragged_prompt", 5, 0, [4, 2]), ("step", 1, 6, [6, 6])):
            rows = lambda n, count: reals(batch, n, count * size)
            inputs = {"q": rows(queries, heads), "k": rows(queries, kv), "v": rows(queries, kv), "pk": reals(batch, kv, past, size),
                      "pv": reals(batch, kv, past, size), "l": np.array(lengths, np.int32), "t": np.array(queries + past, np.int32)}
            for rotary in (0, 1):
                names = "q k v pk pv l t" + (" c s" if rotary else "")
                # What ONNX Runtime computes for padded queries has no meaning, so it is not compared.
                shown = outputs if label != "ragged_prompt" else ("first",)
                cut = [] if label != "ragged_prompt" else [node("Slice", "y from to", "first")]
                case(f"gqa_{kv}_{label}_rotary{rotary}",
                     [fused("GroupQueryAttention", names, outputs, num_heads=heads, kv_num_heads=kv, do_rotary=rotary)] + cut, inputs,
                     tables | ({"from": np.array([0, 0], np.int64), "to": np.array([2, 3], np.int64)} if cut else {}),
                     outputs=shown, microsoft=True)
    step = {"q": reals(1, 1, hidden), "k": reals(1, 1, 2 * size), "v": reals(1, 1, 2 * size), "pk": reals(1, 2, 6, size),
            "pv": reals(1, 2, 6, size), "l": np.array([6], np.int32), "t": np.array(7, np.int32)}
    for label, attributes in (("window", dict(local_window_size=3)), ("softcap", dict(softcap=1.5)), ("scale", dict(scale=0.3)),
                              ("smooth", dict(smooth_softmax=1))):
        case(f"gqa_{label}", [fused("GroupQueryAttention", "q k v pk pv l t", outputs, num_heads=heads, kv_num_heads=2, **attributes)],
             step, outputs=outputs, microsoft=True)
    # A score per head that only enters the softmax's denominator (GPT-OSS).
    sinks = {"h": reals(heads)}
    case("gqa_sinks", [fused("GroupQueryAttention", "q k v pk pv l t - - - - h", outputs, num_heads=heads, kv_num_heads=2)],
         step, sinks, outputs=outputs, microsoft=True)
    prompt = {"q": reals(1, 5, hidden), "k": reals(1, 5, 2 * size), "v": reals(1, 5, 2 * size), "l": np.array([4], np.int32),
              "t": np.array(5, np.int32)}
    case("gqa_sinks_prompt", [fused("GroupQueryAttention", "q k v - - l t - - - - h", outputs, num_heads=heads, kv_num_heads=2,
                                    local_window_size=3)], prompt, sinks, outputs=outputs, microsoft=True)
    case("gqa_of_any_size", [fused("GroupQueryAttention", "q k v pk pv l t c s", outputs, num_heads=heads, kv_num_heads=2, do_rotary=1)],
         step, tables, outputs=outputs, microsoft=True, is_open=False)
    packed = {n: v for n, v in step.items() if n not in "kv"} | {"q": reals(1, 1, hidden + 4 * size)}
    case("gqa_packed", [fused("GroupQueryAttention", "q - - pk pv l t", outputs, num_heads=heads, kv_num_heads=2)], packed,
         outputs=outputs, microsoft=True)


def microsoft_layers():
    x, bias = reals(2, 3, 8, scale=2), reals(8)
    for kind in ("Gelu", "QuickGelu", "FastGelu"):
        case(f"ms_{kind}", [fused(kind, "x")], {"x": x}, microsoft=True)
    case("ms_QuickGelu_alpha", [fused("QuickGelu", "x", alpha=0.9)], {"x": x}, microsoft=True)
    case("ms_BiasGelu", [fused("BiasGelu", "x b")], {"x": x}, {"b": bias}, microsoft=True)
    case("ms_FastGelu_bias", [fused("FastGelu", "x b")], {"x": x}, {"b": bias}, microsoft=True)
    own = {"g": reals(8), "e": reals(8), "b": bias}
    case("skip_layer_norm", [fused("SkipLayerNormalization", "x s g e b", "y - - sum")], {"x": x, "s": reals(2, 3, 8)}, own,
         outputs=("y", "sum"), microsoft=True)
    case("skip_layer_norm_short", [fused("SkipLayerNormalization", "x s g", epsilon=1e-3)], {"x": x, "s": reals(2, 3, 8)}, own, microsoft=True)
    case("skip_rms_norm", [fused("SkipSimplifiedLayerNormalization", "x s g b", "y - - sum", epsilon=1e-5)], {"x": x, "s": reals(2, 3, 8)},
         own, outputs=("y", "sum"), microsoft=True)
    case("simplified_layer_norm", [node("SimplifiedLayerNormalization", "x g", epsilon=1e-5)], {"x": x}, own, opset=17)
    case("embed_layer_norm", [fused("EmbedLayerNormalization", "i t w p u g e", "y -")],
         {"i": RANDOM.integers(0, 9, (2, 3)).astype(np.int32), "t": RANDOM.integers(0, 2, (2, 3)).astype(np.int32)},
         {"w": reals(9, 8), "p": reals(5, 8), "u": reals(2, 8)} | own, microsoft=True)
    for a, b in ((0, 0), (1, 0), (0, 1), (1, 1)):
        case(f"fused_matmul_{a}{b}", [fused("FusedMatMul", "a b", transA=a, transB=b, alpha=0.7)],
             {"a": reals(2, 5, 4) if a else reals(2, 4, 5), "b": reals(2, 6, 5) if b else reals(2, 5, 6)}, microsoft=True)
    case("fused_matmul_rows_outside", [fused("FusedMatMul", "a b", transBatchA=1, transBatchB=1)],
         {"a": reals(4, 2, 5), "b": reals(5, 2, 6)}, microsoft=True)
    convolution = {"w": reals(4, 3, 3, 3, scale=0.4), "b": reals(4)}
    picture = {"x": reals(1, 3, 7, 7)}
    for name, parameters in (("Relu", []), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 0.8]), ("HardSigmoid", [0.3, 0.4]), ("Tanh", []), ("Sigmoid", [])):
        extra = dict(activation_params=parameters) if parameters else {}
        case(f"fused_conv_{name}", [fused("FusedConv", "x w b", activation=name, pads=[1, 1, 1, 1], **extra)], picture, convolution, microsoft=True)
    case("fused_conv_sum", [fused("FusedConv", "x w b z", activation="Relu", pads=[1, 1, 1, 1])], picture | {"z": reals(1, 4, 7, 7)},
         convolution, microsoft=True)
    case("fused_gemm", [fused("FusedGemm", "a b c", activation="LeakyRelu", activation_alpha=0.2, transB=1)],
         {"a": reals(3, 4)}, {"b": reals(5, 4), "c": reals(5)}, microsoft=True)


def weight_only():
    rows, width = 6, 64
    for bits, block, k in ((4, 16, width), (4, 32, 96), (4, 32, 80), (8, 16, width)):
        blocks = -(-k // block)
        packed = RANDOM.integers(0, 256, (rows, blocks, block * bits // 8)).astype(np.uint8)
        constants = {"b": packed, "s": np.abs(reals(rows, blocks, scale=0.1)), "f": reals(rows),
                     "z": RANDOM.integers(0, 256, (rows, -(-blocks * bits // 8))).astype(np.uint8), "r": reals(rows, blocks, scale=3) + 8}
        for label, names in (("plain", "a b s"), ("zeros", "a b s z"), ("bias", "a b s - - f"), ("real_zeros", "a b s r")):
            if label == "real_zeros" and bits == 8:
                continue
            case(f"matmul_{bits}_bits_blocks_of_{block}_of_{k}_{label}",
                 [fused("MatMulNBits", names, K=k, N=rows, bits=bits, block_size=block)], {"a": reals(2, 3, k)}, constants, microsoft=True)

    for kind in (np.uint8, np.int8):
        numbers = RANDOM.integers(np.iinfo(kind).min, np.iinfo(kind).max, (width, 8), endpoint=True).astype(kind)
        for block in (16, 32):
            own = {"b": numbers, "s": np.abs(reals(width // block, 8, scale=0.1)), "z": RANDOM.integers(0, 9, (width // block, 8)).astype(kind)}
            case(f"matmul_{np.dtype(kind).name}_dequantised_by_blocks_of_{block}",
                 [node("DequantizeLinear", "b s z", "w", axis=0, block_size=block), node("MatMul", "a w")], {"a": reals(2, 3, width)}, own)

    words = RANDOM.integers(0, 256, (7, 16)).astype(np.uint8)
    own = {"d": words, "s": np.abs(reals(7, 2, scale=0.1)), "z": RANDOM.integers(0, 256, (7, 1)).astype(np.uint8)}
    index = {"i": np.array([[0, 6, 3], [2, 2, 1]], np.int64)}
    for label, names in (("plain", "d i s"), ("zeros", "d i s z")):
        case(f"gather_4_bits_{label}", [fused("GatherBlockQuantized", names, bits=4, block_size=16, gather_axis=0, quantize_axis=1)], index, own,
             microsoft=True)
    case("gather_8_bits", [fused("GatherBlockQuantized", "d i s", bits=8, block_size=16, gather_axis=0, quantize_axis=1)], index,
         own | {"s": own["s"][:, :1]}, microsoft=True)


def eight_bits():
    for kind, low, high in ((np.uint8, 0, 256), (np.int8, -128, 128)):
        numbers = lambda *shape: RANDOM.integers(low, high, shape).astype(kind)
        label = np.dtype(kind).name
        scales = {"s": np.float32(0.0517), "t": np.float32(0.03113), "r": np.float32(0.0709), "z": kind(3), "o": kind(100), "p": kind(17)}
        pair = {"a": numbers(2, 3, 4), "b": numbers(3, 4)}
        for name in ("QLinearAdd", "QLinearMul"):
            case(f"{name}_{label}", [fused(name, "a s z b t o r p")], pair, scales, microsoft=True)
        for name in ("QLinearSigmoid", "QLinearLeakyRelu"):
            own = scales | {"r": np.float32(1 / 256 if name == "QLinearSigmoid" else 0.07), "p": kind(low if name == "QLinearSigmoid" else 17)}
            case(f"{name}_{label}", [fused(name, "a s z r p")], {"a": numbers(2, 3, 4)}, own, microsoft=True)
        for last in (0, 1):
            case(f"QLinearGlobalAveragePool_{label}_last{last}", [fused("QLinearGlobalAveragePool", "a s z t p", channels_last=last)],
                 {"a": numbers(1, 3, 5, 7)}, scales, microsoft=True)
        case(f"QLinearConcat_{label}", [fused("QLinearConcat", "r p a s z b t o", axis=1)], {"a": numbers(2, 3), "b": numbers(2, 5)}, scales,
             microsoft=True)
        case(f"MatMulIntegerToFloat_{label}", [fused("MatMulIntegerToFloat", "a b s t z o f")], {"a": numbers(3, 4), "b": numbers(4, 5)},
             scales | {"f": reals(5)}, microsoft=True)
        case(f"DynamicQuantizeMatMul_{label}", [fused("DynamicQuantizeMatMul", "a b s z f")], {"a": reals(3, 4)},
             # Weights of seven bits: with AVX2 alone ONNX Runtime adds pairs of products in 16 bits, which saturate with eight.
             {"b": numbers(4, 5) // kind(2), "s": np.float32(0.02), "z": kind(3), "f": reals(5)}, microsoft=True)
        case(f"NhwcMaxPool_{label}", [fused("NhwcMaxPool", "a", kernel_shape=[2, 3], strides=[2, 1], pads=[0, 1, 0, 1])],
             {"a": numbers(1, 6, 7, 5)}, microsoft=True)
        case(f"QGemm_{label}", [fused("QGemm", "a s z b t o c r p", transB=1)], {"a": numbers(3, 4)},
             scales | {"b": numbers(5, 4), "c": RANDOM.integers(-99, 99, 5).astype(np.int32), "r": np.float32(0.4)}, microsoft=True)
        case(f"QLinearSoftmax_{label}", [fused("QLinearSoftmax", "a s z r p", axis=-1, opset=13)], {"a": numbers(2, 5)},
             scales | {"r": np.float32(1 / 256), "p": kind(low)}, microsoft=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    for group in (resizes, quantisation, recurrences, forms, sequences, standard_attention, microsoft_attention, microsoft_layers, weight_only, eight_bits,
                  *onnx_microsoft_cases.GROUPS, *onnx_learned_cases.GROUPS):
        group()
    shutil.rmtree(options.out, ignore_errors=True)
    failures = 0
    for name, content in CASES.items():
        try:
            write(options.out / name, *content)
        except Exception as error:  # If the oracle refuses it, it is no case.
            shutil.rmtree(options.out / name, ignore_errors=True)
            print(f"{name}: {str(error).splitlines()[0][:300]}", file=sys.stderr)
            failures += 1
    print(f"{len(CASES) - failures} cases")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
