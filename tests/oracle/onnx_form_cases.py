#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small ONNX models for attributes and shapes that the node tests leave out, each with known and with open extents, in their folders. Expected
values come from ONNX Runtime without optimisations; where it refuses or shortens a form, from onnx.reference or from the formula of the
standard, written here with NumPy. backend_tests runs them.

usage: onnx_form_cases.py --out DIR
"""
import argparse
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

RANDOM = np.random.default_rng(29)
CASES = {}
INF = np.float32(np.inf)


def case(name, nodes, inputs, constants=None, opset=21, outputs=("y",), expected=None, forms=("known", "open")):
    """@param inputs, constants  arrays by name. @param expected  "reference" or the arrays; ONNX Runtime's otherwise."""
    nodes = nodes if isinstance(nodes, list) else [nodes]
    for form in forms:
        assert f"{name}_{form}" not in CASES, name
        CASES[f"{name}_{form}"] = (nodes, inputs, constants or {}, opset, outputs, expected, form == "open")


def node(kind, inputs, outputs="y", **attributes):
    split = lambda names: [n if n != "-" else "" for n in names.split()]
    return helper.make_node(kind, split(inputs), split(outputs), **attributes)


def reals(*shape, scale=1.0):
    return (RANDOM.standard_normal(shape) * scale).astype(np.float32)


def ints(*values):
    return np.array(values, np.int64)


def is_clear(coordinates, rounding, present, target, policy):
    """Whether no position that is read for a pixel lies where rounding in f32 decides between two pixels."""
    scales = target if target.dtype == np.float32 else target / np.array(present)
    if policy != "stretch":
        scales = np.full(len(present), scales.min() if policy == "not_larger" else scales.max())
    for extent, wanted, scale in zip(present, target, scales):
        whole = policy == "stretch" and target.dtype != np.float32
        count = int(wanted) if whole else int(np.floor(np.float32(extent) * np.float32(scale) + (policy != "stretch") / 2))
        x = np.arange(count)
        at = {"asymmetric": x / scale, "align_corners": x * (extent - 1) / max(count - 1, 1)}.get(coordinates, (x + 0.5) / scale - 0.5)
        if coordinates == "half_pixel_symmetric":
            at = at + extent / 2 * (1 - count / (scale * extent))
        at = at[at != 0] + (0.5 if "round" in rounding else 0)
        if np.any(np.abs(at - np.round(at)) < 1e-4):
            return False
    return True


def resizes():
    picture = reals(1, 2, 7, 9)
    targets = {"down": ints(4, 5), "up": ints(13, 20), "mixed": ints(3, 16),
               "scales_down": np.float32([0.6, 0.7]), "scales_up": np.float32([2.3, 1.7]), "scales_same": np.float32([2, 1.07]),
               "scales_mixed": np.float32([1.3, 0.45])}
    common = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "asymmetric", "align_corners", "tf_crop_and_resize")
    kinds = [("nearest", dict(nearest_mode=n)) for n in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")]
    kinds += [("linear", {}), ("linear", dict(antialias=1)), ("cubic", {}), ("cubic", dict(antialias=1)), ("cubic", dict(exclude_outside=1)),
              ("cubic", dict(antialias=1, exclude_outside=1, cubic_coeff_a=-0.5))]
    for mode, more in kinds:
        for coordinates in common:
            crops = coordinates == "tf_crop_and_resize"
            if crops and more.get("antialias"):
                continue  # ONNX Runtime reads such a filter from outside of the picture.
            for label, target in targets.items():
                for policy in ("stretch", "not_larger", "not_smaller"):
                    if policy != "stretch" and target.dtype == np.float32:
                        continue
                    if mode == "nearest" and coordinates == "half_pixel_symmetric" and not is_clear(coordinates, more["nearest_mode"], (7, 9), target, policy):
                        continue
                    attributes = dict(mode=mode, coordinate_transformation_mode=coordinates, axes=[2, 3], **more)
                    if policy != "stretch":
                        attributes["keep_aspect_ratio_policy"] = policy
                    if crops:
                        attributes["extrapolation_value"] = 9.0
                    names = "x roi t" if target.dtype == np.float32 else "x roi - t"
                    roi = {"roi": np.float32([0.21, 0.12, 0.83, 1.17])} if crops else {}
                    short = "_".join([mode, *(f"{k[:4]}{v}" for k, v in more.items()), coordinates, label, policy])
                    # Where an axis keeps its extent, ONNX Runtime's antialiasing leaves it as it is, whatever the scale.
                    keeps = label == "scales_same" and "antialias" in more
                    if keeps and coordinates == "align_corners":
                        continue  # The reference takes a length with a fraction.
                    case(f"resize_{short}", node("Resize", names if crops else names.replace("roi", "-"), **attributes), {"x": picture},
                         roi | {"t": target}, opset=19, expected="reference" if keeps else None)
    for name in ("round_prefer_floor", "ceil"):
        case(f"resize_nearest_{name}_for_nn", node("Resize", "x roi t", nearest_mode=name, coordinate_transformation_mode="tf_half_pixel_for_nn"),
             {"x": picture}, {"roi": np.zeros(0, np.float32), "t": np.float32([1, 1, 0.6, 2.3])}, opset=11)
    case("resize_of_integers", node("Resize", "x - - t", coordinate_transformation_mode="half_pixel_symmetric"),
         {"x": RANDOM.integers(0, 255, (1, 1, 5, 6)).astype(np.uint8)}, {"t": ints(1, 1, 3, 8)}, opset=19)
    # Positions in the middle of two elements, near it and on elements, by sizes.
    for coordinates in ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"):
        for rounding in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
            for extent in (7, 10, 14, 20, 23):
                counts = [n for n in range(1, 25) if n != extent]
                case(f"resize_of_{extent}_{coordinates}_{rounding}",
                     [node("Resize", f"x - - t{n}", f"y{n}", coordinate_transformation_mode=coordinates, nearest_mode=rounding, axes=[1]) for n in counts],
                     {"x": reals(1, extent)}, {f"t{n}": ints(n) for n in counts}, 19, tuple(f"y{n}" for n in counts))
    # Scales that only the model's inputs tell.
    for mode in ("nearest", "linear", "cubic"):
        case(f"resize_{mode}_by_computed_scales", node("Resize", "x - t", mode=mode),
             {"x": picture, "t": np.float32([1, 1, 2, 1.07])}, opset=13)
    for opset, kind in ((9, "Upsample"), (10, "Resize")):
        for mode in ("nearest", "linear"):
            for label, scales in (("up", [1, 1, 2.3, 1.7]), ("same", [1, 1, 2, 1.07]), ("down", [1, 1, 0.6, 0.7])):
                if kind == "Upsample" and label == "down":
                    continue
                case(f"{kind.lower()}_{mode}_{label}_of_set_{opset}", node(kind, "x t", mode=mode), {"x": picture}, {"t": np.float32(scales)},
                     opset=opset)
    # 1000 times the f32 nearest to 0.7 is 700 in f32 only.
    case("resize_extent_in_f32", node("Resize", "x - t"), {"x": reals(1, 1, 1, 1000)}, {"t": np.float32([1, 1, 1, 0.7])}, opset=13)


def recurrences():
    steps, batch, features, hidden = 4, 3, 2, 3
    kinds = {"RNN": (1, 1, [["LeakyRelu"], ["Elu"], ["Affine"]]),
             "GRU": (3, 2, [["Sigmoid", "LeakyRelu"], ["HardSigmoid", "ScaledTanh"], ["Sigmoid", "Elu"]]),
             "LSTM": (4, 3, [["Sigmoid", "Tanh", "LeakyRelu"], ["HardSigmoid", "Affine", "Tanh"], ["Sigmoid", "Elu", "ScaledTanh"]])}
    alphas = {"LeakyRelu": 0.3, "Elu": 0.8, "Affine": 0.7, "HardSigmoid": 0.15, "ScaledTanh": 1.3}
    betas = {"Affine": 0.2, "HardSigmoid": 0.45, "ScaledTanh": 0.6}
    for kind, (gates, states, lists) in kinds.items():
        for number, functions in enumerate(lists):
            for direction in ("forward", "reverse", "bidirectional"):
                d = 2 if direction == "bidirectional" else 1
                chosen = functions + lists[(number + 1) % 3] if d == 2 else functions
                own = {"w": reals(d, gates * hidden, features), "r": reals(d, gates * hidden, hidden), "b": reals(d, 2 * gates * hidden)}
                attributes = dict(hidden_size=hidden, direction=direction, activations=chosen,
                                  activation_alpha=[alphas[f] for f in chosen if f in alphas])
                if any(f in betas for f in chosen):
                    attributes["activation_beta"] = [betas[f] for f in chosen if f in betas]
                outputs = ("y", "h", "c") if kind == "LSTM" else ("y", "h")
                more = {"h": reals(d, batch, hidden)} | ({"c": reals(d, batch, hidden)} if kind == "LSTM" else {})
                starts = "h0" + (" c0" if kind == "LSTM" else "")
                inputs = {"x": reals(steps, batch, features)}
                case(f"{kind.lower()}_{number}_{direction}_parameters", node(kind, "x w r b", " ".join(outputs), **attributes), inputs, own, 14, outputs)
                case(f"{kind.lower()}_{number}_{direction}_lengths", node(kind, f"x w r b n {starts}", " ".join(outputs), **attributes),
                     inputs | {"n": np.int32([4, 1, 3])} | {f"{k}0": v for k, v in more.items()}, own, 14, outputs)
    # A list that ends early leaves defaults to the functions behind it.
    for functions in (["Elu", "LeakyRelu"], ["LeakyRelu", "Elu"]):
        case(f"rnn_{functions[0].lower()}_takes_all",
             node("RNN", "x w r", "y h", hidden_size=3, direction="bidirectional", activations=functions, activation_alpha=[0.4]),
             {"x": reals(steps, batch, features)}, {"w": reals(2, 3, features), "r": reals(2, 3, 3)}, 14, ("y", "h"))
    for inner in (0, 1):
        case(f"gru_linear_before_reset{inner}_clipped",
             node("GRU", "x w r b", "y h", hidden_size=3, activations=["HardSigmoid", "Softsign"], linear_before_reset=inner, clip=0.5),
             {"x": reals(steps, batch, features)}, {"w": reals(1, 9, features), "r": reals(1, 9, 3), "b": reals(1, 18)}, 14, ("y", "h"))
        case(f"lstm_peepholes_coupled{inner}", node("LSTM", "x w r b - - - p", "y h c", hidden_size=3, input_forget=inner),
             {"x": reals(steps, batch, features)}, {"w": reals(1, 12, features), "r": reals(1, 12, 3), "b": reals(1, 24), "p": reals(1, 9)}, 14,
             ("y", "h", "c"))


def ordinary_recurrences():
    """The functions that most models have, with states in and out, for one and for several rows, the batch first or second."""
    steps, features = 6, 7
    for kind, gates, more in (("RNN", 1, {}), ("GRU", 3, {"linear_before_reset": 1}), ("LSTM", 4, {})):
        for direction in ("forward", "reverse", "bidirectional"):
            for batch, hidden in ((1, 33), (3, 48), (8, 5)):
                d = 2 if direction == "bidirectional" else 1
                own = {"w": reals(d, gates * hidden, features), "r": reals(d, gates * hidden, hidden, scale=hidden**-0.5),
                       "b": reals(d, 2 * gates * hidden)}
                states = {f"{s}0": reals(d, batch, hidden) for s in ("hc" if kind == "LSTM" else "h")}
                inputs, outputs = {"x": reals(steps, batch, features)} | states, ("y", "h", "c")[:1 + len(states)]
                names, name = f"x w r b - {' '.join(states)}", f"{kind.lower()}_{direction}_{batch}_rows_of_{hidden}"
                attributes = dict(hidden_size=hidden, direction=direction, **more)
                nodes = [node(kind, names, " ".join(outputs), **attributes)]
                case(name, nodes, inputs, own, 14, outputs)
                # ONNX Runtime refuses this layout: its values are those of the other one, turned.
                y, *last = by_runtime(make_model(nodes, inputs, own, 14, outputs, False), inputs, outputs)
                turned = {n: np.ascontiguousarray(np.swapaxes(a, 0, 1)) for n, a in inputs.items()}
                case(f"{name}_batch_first", node(kind, names, " ".join(outputs), layout=1, **attributes), turned, own, 14, outputs,
                     [y.transpose(2, 0, 1, 3)] + [a.swapaxes(0, 1) for a in last], forms=("known",))


def reductions():
    ordinary = reals(2, 3, 4)
    rows = {"large": np.float32([[100, 99, 98], [-1000, -1001, -1002]]), "infinite": np.float32([[INF, 1, 2], [-INF, -INF, -INF], [-INF, 2, -INF]]),
            "both": np.float32([[INF, -INF, 1]]), "nan": np.float32([[1, np.nan, 2], [0, 1, 2]])}
    for keep in (0, 1):
        for label, x in rows.items():
            case(f"log_sum_exp_{label}_keep{keep}", node("ReduceLogSumExp", "x a", keepdims=keep), {"x": x}, {"a": ints(1)}, 18)
            case(f"log_sum_exp_{label}_keep{keep}_of_set_13", node("ReduceLogSumExp", "x", axes=[-1], keepdims=keep), {"x": x}, None, 13)
        for kind in ("ReduceLogSumExp", "ReduceLogSum", "ReduceSumSquare", "ReduceL1", "ReduceL2"):
            x = np.abs(ordinary) if kind == "ReduceLogSum" else ordinary
            case(f"{kind}_all_keep{keep}", node(kind, "x", keepdims=keep), {"x": x}, None, 18)
            case(f"{kind}_axes_keep{keep}", node(kind, "x a", keepdims=keep), {"x": x}, {"a": ints(0, -1)}, 18)
        for kind in ("ReduceLogSumExp", "ReduceLogSum", "ReduceSum", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"):
            case(f"{kind}_of_nothing_keep{keep}", node(kind, "x a", keepdims=keep), {"x": np.zeros((3, 0), np.float32)}, {"a": ints(1)}, 18)
    for kind in ("ReduceLogSumExp", "ReduceLogSum", "ReduceSumSquare", "ReduceL1", "ReduceL2", "ReduceMax", "ReduceSum"):
        x = np.abs(ordinary) if kind == "ReduceLogSum" else ordinary
        case(f"{kind}_of_each", node(kind, "x", noop_with_empty_axes=1), {"x": x}, None, 18 if kind != "ReduceSum" else 13)
        case(f"{kind}_of_each_by_input", node(kind, "x a", noop_with_empty_axes=1), {"x": x}, {"a": ints()}, 18 if kind != "ReduceSum" else 13)
        case(f"{kind}_of_computed_axes", node(kind, "x a"), {"x": x, "a": ints(1, 2)}, None, 18 if kind != "ReduceSum" else 13)
        case(f"{kind}_of_computed_no_axes", node(kind, "x a"), {"x": x, "a": ints()}, None, 18 if kind != "ReduceSum" else 13)
    case("log_sum_exp_f64", node("ReduceLogSumExp", "x a", keepdims=0), {"x": np.float64([[800, 801], [-np.inf, -np.inf]])}, {"a": ints(1)}, 18)
    for kind in ("ReduceLogSumExp", "ReduceLogSum"):
        case(f"{kind}_i32", node(kind, "x a", keepdims=0), {"x": np.int32([[1, 2], [3, 40]])}, {"a": ints(1)}, 18)
    # ONNX Runtime cuts each exponential to an integer.
    case("log_sum_exp_cut_once", node("ReduceLogSumExp", "x a", keepdims=0), {"x": np.int32([[3, 3, 2, 2, 2, 2], [1, 0, 0, 0, 0, 0], [-3, -3, -3, -9, -9, -9]])},
         {"a": ints(1)}, 18, expected=[np.int32([4, 2, -1])])
    for opset in (11, 13):
        for kind in ("Softmax", "LogSoftmax", "Hardmax"):
            for label, shape in (("axis", (2, 0)), ("batch", (0, 3)), ("middle", (2, 0, 3))):
                case(f"{kind.lower()}_of_nothing_{label}_of_set_{opset}", node(kind, "x", axis=1), {"x": np.zeros(shape, np.float32)}, None, opset,
                     expected=[np.zeros(shape, np.float32)])
            case(f"{kind.lower()}_of_set_{opset}", node(kind, "x", axis=1), {"x": ordinary}, None, opset)


def normalisations():
    def lrn(x, size, alpha, beta, bias):
        before, behind, channels, sums = (size - 1) // 2, size // 2, x.shape[1], np.zeros_like(x)
        for c in range(channels):
            sums[:, c] = np.square(x[:, max(0, c - before):min(channels, c + behind + 1)]).sum(1)
        return (x / (bias + alpha / size * sums) ** beta).astype(np.float32)

    for size in (1, 2, 3, 4, 6, 8):
        for shape in ((1, 6, 1, 1), (2, 5, 3, 4), (2, 7, 3), (1, 4, 2, 3, 2)):
            x = reals(*shape)
            case(f"lrn_{size}_of_{'_'.join(map(str, shape))}", node("LRN", "x", size=size, alpha=0.7, beta=0.6, bias=1.5), {"x": x}, None, 13,
                 expected=[lrn(x.astype(np.float64), size, 0.7, 0.6, 1.5)])
    for kind in (np.float16, np.float32, np.float64):
        x = (RANDOM.standard_normal((2, 3, 8)) * 2).astype(kind)
        case(f"layer_statistics_{np.dtype(kind).name}", node("LayerNormalization", "x s b", "y mean deviation"), {"x": x},
             {"s": np.ones(8, kind), "b": np.zeros(8, kind)}, 17, ("y", "mean", "deviation"))
    large = np.float16([[300, -400, 500, 600], [1, 2, 3, 4]])
    mean = np.square(large.astype(np.float32)).mean(-1, keepdims=True)
    case("rms_of_large_f16", node("RMSNormalization", "x s"), {"x": large}, {"s": np.ones(4, np.float16)}, 23,
         expected=[(large / np.sqrt(mean + 1e-5)).astype(np.float16)])


def positions():
    x = np.arange(5, dtype=np.float32)
    for start in (-9, -6, -5, -1, 3, 9):
        for stop in (-2**63, -9, -6, -4, 1, 9):
            for step in (-1, -2):
                case(f"slice_{start}_{stop}_{step}".replace("-", "m"), node("Slice", "x s e a t"), {"x": np.stack([x, x + 9])},
                     {"s": ints(start), "e": ints(stop), "a": ints(1), "t": ints(step)}, 13)
    for scale in (0.8, 0.25, 1.0):
        for mode in ("half_pixel", "output_half_pixel"):
            boxes = np.float32([[0, 0, 4, 4], [1, 1, 5, 3], [-2, -1, 9, 7], [-1.25, -1.25, 6.25, 6.25], [0.5, -1, 5.5, 6]])
            case(f"roi_align_{mode}_{int(scale * 100)}",
                 node("RoiAlign", "x r b", output_height=2, output_width=3, sampling_ratio=2, spatial_scale=scale, coordinate_transformation_mode=mode),
                 {"x": reals(1, 2, 6, 6), "r": boxes, "b": np.zeros(5, np.int64)}, None, 16)
    data = reals(2, 3, 4)
    for label, indices in (("rows", [[-2, 1], [1, -3]]), ("elements", [[-2, 1, -2], [-1, 0, -1]]), ("slices", [[1], [-2]])):
        index = np.array(indices, np.int64)
        case(f"gather_nd_{label}", node("GatherND", "d i"), {"d": data, "i": index}, None, 18)
        updates = reals(*data[tuple(index.T)].shape)
        for reduction in ("none", "add", "max"):
            case(f"scatter_nd_{label}_{reduction}", node("ScatterND", "d i u", reduction=reduction), {"d": data, "i": index, "u": updates}, None, 18)
    # Negative pads crop first; what wraps around is what is left.
    for pads in ([-1, 2], [2, -1], [-2, -1], [-3, 4], [7, -2], [4, 6]):
        for mode in ("wrap", "edge", "constant"):
            case(f"pad_{mode}_{pads[0]}_{pads[1]}".replace("-", "m"), node("Pad", "x p - a", mode=mode), {"x": reals(2, 5, 3)}, {"p": ints(*pads), "a": ints(1)}, 19)
    case("pad_wrap_all", node("Pad", "x p", mode="wrap"), {"x": reals(3, 4), "p": ints(-1, 1, 1, -1)}, None, 19)
    case("leaky_scalar", node("LeakyRelu", "x", alpha=0.3), {"x": np.array(-2, np.float32)}, None, 16)
    case("gather_nd_batched", node("GatherND", "d i", batch_dims=1), {"d": data, "i": np.array([[-1], [1]], np.int64)}, None, 18)


def windows():
    for label, shape in (("less", [8, 8]), ("odd", [7, 8]), ("whole", [9, 9]), ("beyond", [10, 9])):
        for pad in ("NOTSET", "SAME_UPPER", "SAME_LOWER"):
            for group in (1, 2):
                case(f"conv_transpose_{label}_{pad}_group{group}", node("ConvTranspose", "x w b", strides=[2, 2], output_shape=shape, auto_pad=pad, group=group),
                     {"x": reals(2, 2, 4, 4)}, {"w": reals(2, 3, 3, 3), "b": reals(3 * group)}, 11)
        case(f"conv_transpose_{label}_padded", node("ConvTranspose", "x w", strides=[3, 2], output_shape=shape, output_padding=[1, 0], dilations=[1, 2]),
             {"x": reals(1, 2, 3, 3)}, {"w": reals(2, 3, 2, 3)}, 11)
    for p in (1, 2, 3):
        for label, more in (("ceil", dict(ceil_mode=1)), ("ceil_padded", dict(ceil_mode=1, pads=[1, 1, 1, 0])), ("upper", dict(auto_pad="SAME_UPPER")),
                            ("lower", dict(auto_pad="SAME_LOWER")), ("padded", dict(pads=[1, 0, 0, 1])), ("dilated", dict(dilations=[2, 1], ceil_mode=1))):
            # ONNX Runtime adds up what a window covers within the padding; the reference and OpenVINO take its average for the whole window.
            case(f"lp_pool_{p}_{label}", node("LpPool", "x", kernel_shape=[3, 2], strides=[2, 2], p=p, **more), {"x": reals(1, 2, 8, 7)}, None, 18,
                 expected="reference" if "ceil_mode" in more else None)
    x = reals(2, 12, 5)
    case("columns_of_one_axis", node("Col2Im", "x i k", pads=[1, 0], strides=[2]), {"x": x}, {"i": ints(12), "k": ints(4)}, 18)
    case("columns_of_one_axis_dilated", node("Col2Im", "x i k", dilations=[2]), {"x": x}, {"i": ints(9), "k": ints(3)}, 18,
         expected="reference")  # ONNX Runtime mixes the channels.
    case("columns_of_three_axes", node("Col2Im", "x i k"), {"x": reals(1, 10, 12)}, {"i": ints(3, 4, 5), "k": ints(1, 1, 5)}, 18)
    case("columns_of_three_axes_padded", node("Col2Im", "x i k", pads=[0, 1, 0, 1, 0, 1], strides=[1, 2, 1]), {"x": reals(2, 16, 36)},
         {"i": ints(4, 5, 3), "k": ints(2, 2, 2)}, 18)
    for axes in (1, 2, 3):
        for order in (0, 1):
            case(f"places_of_{axes}_axes_order{order}", node("MaxPool", "x", "y i", kernel_shape=[2] * axes, strides=[2] * axes, storage_order=order),
                 {"x": reals(2, 3, *(4, 6, 8)[:axes])}, None, 12, ("y", "i"))
    case("max_unpool", node("MaxUnpool", "x i", kernel_shape=[2, 2], strides=[2, 2]),
         {"x": reals(1, 1, 2, 2), "i": np.array([[[[5, 7], [13, 15]]]], np.int64)}, None, 11)


def signals():
    for inverse in (0, 1):
        for components in (1, 2):
            case(f"dft_inverse{inverse}_components{components}", node("DFT", "x - a", inverse=inverse), {"x": reals(2, 7, 3, components)}, {"a": ints(1)[0]}, 20)
            case(f"dft_inverse{inverse}_components{components}_longer", node("DFT", "x n a", inverse=inverse), {"x": reals(2, 7, components)},
                 {"n": ints(9)[0], "a": ints(1)[0]}, 20)
    case("dft_onesided", node("DFT", "x - a", onesided=1), {"x": reals(2, 8, 1)}, {"a": ints(1)[0]}, 20)
    window = np.hanning(8).astype(np.float32)
    case("stft_window", node("STFT", "x s w", onesided=1), {"x": reals(2, 40, 1)}, {"s": ints(4)[0], "w": window}, 17)
    case("stft_computed", node("STFT", "x s w n", onesided=1), {"x": reals(2, 40, 1), "s": np.array(4), "w": window, "n": np.array(8)}, None, 17)


def shapes():
    for count in (2, 3, 4):
        for axis in (1, -1):
            outputs = tuple("abcd"[:count])
            case(f"split_into_{count}_axis{axis % 2}_{'first' if axis > 0 else 'last'}", node("Split", "x", " ".join(outputs), axis=axis, num_outputs=count),
                 {"x": reals(2, 7)}, None, 18, outputs)
    for shape in ((0, 3, 4), (2, 0, 4), (2, 3, 0), (2, 3, 4)):
        for axis in range(4):
            case(f"flatten_{'_'.join(map(str, shape))}_axis{axis}", node("Flatten", "x", axis=axis), {"x": reals(*shape)}, None, 13)
    # A rank that only values tell: the extents of 1 that are removed.
    case("split_of_unknown_rank", [node("Squeeze", "x", "s"), node("Split", "s", "a b", axis=1, num_outputs=2), node("Concat", "b a", axis=1)],
         {"x": reals(3, 1, 6)}, None, 18)


def attentions():
    for heads, more in ((3, dict(num_heads=3)), (3, dict(num_heads=3, interleaved=1))):
        tables = {"c": reals(2, 5, 4), "s": reals(2, 5, 4)}
        case(f"rotary_tables{len(more)}", node("RotaryEmbedding", "x c s", **more), {"x": reals(2, 5, heads * 8)} | tables, None, 23)
        case(f"rotary_tables_of_heads{len(more)}", node("RotaryEmbedding", "x c s", **{k: v for k, v in more.items() if k != "num_heads"}),
             {"x": reals(2, heads, 5, 8)} | tables, None, 23)
        case(f"rotary_part{len(more)}", node("RotaryEmbedding", "x c s", rotary_embedding_dim=4, **more), {"x": reals(2, 5, heads * 8)} |
             {k: v[:, :, :2] for k, v in tables.items()}, None, 23)
        case(f"rotary_positions{len(more)}", node("RotaryEmbedding", "x c s p", **more),
             {"x": reals(2, 5, heads * 8), "c": reals(9, 4), "s": reals(9, 4), "p": RANDOM.integers(0, 9, (2, 5))}, None, 23)


def sequences():
    x = reals(7, 3)
    for at in (0, 1, -1):
        case(f"sequence_at_{at}_of_parts".replace("-", "m"), [node("SplitToSequence", "x k", "s", axis=0), node("SequenceAt", "s p")],
             {"x": x, "p": np.array(at, np.int64)}, {"k": ints(3)[0]}, 18, forms=("known",))
        case(f"sequence_at_{at}_of_lengths".replace("-", "m"), [node("SplitToSequence", "x k", "s", axis=1), node("SequenceAt", "s p")],
             {"x": x, "p": np.array(at, np.int64)}, {"k": ints(1, 2)}, 18)
        case(f"sequence_at_{at}_of_inputs".replace("-", "m"), [node("SequenceConstruct", "x z", "s"), node("SequenceAt", "s p")],
             {"x": x, "z": reals(2, 5), "p": np.array(at, np.int64)}, None, 18)


def old_broadcasts():
    x = np.abs(reals(2, 3, 4, 5)) + 1
    for kind, function in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide), ("Pow", np.power)):
        for axis, shape in ((1, (3,)), (1, (3, 4)), (0, (2, 3)), (3, (5,))):
            y = np.abs(reals(*shape)) + 0.5
            case(f"{kind.lower()}_axis{axis}_rank{len(shape)}_of_set_6", node(kind, "x z", broadcast=1, axis=axis), {"x": x, "z": y}, None, 6,
                 expected=[function(x, y.reshape(shape + (1,) * (4 - axis - len(shape))))])
        case(f"{kind.lower()}_trailing_of_set_6", node(kind, "x z", broadcast=1), {"x": x, "z": x[0, 0]}, None, 6, expected=[function(x, x[0, 0])])
    slope = np.float32([0.1, 0.2, 0.3])
    centred = x - 2
    case("prelu_of_set_6", node("PRelu", "x s"), {"x": centred}, {"s": slope}, 6,
         expected=[np.where(centred < 0, centred * slope.reshape(1, 3, 1, 1), centred)])


GROUPS = (resizes, recurrences, reductions, normalisations, positions, windows, signals, shapes, attentions, sequences, old_broadcasts,
          ordinary_recurrences)


def make_model(nodes, inputs, constants, opset, outputs, is_open):
    values = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), [f"{n}{i}" for i in range(a.ndim)] if is_open else a.shape)
              for n, a in inputs.items()]
    results = [onnx.ValueInfoProto(name=n) for n in outputs]
    graph = helper.make_graph(nodes, "case", values, results, [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()])
    if opset < 9:  # Old files declare initialisers as inputs, too.
        graph.input.extend(helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in constants.items())
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10 if opset >= 9 else 3)


def by_runtime(model, inputs, outputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(list(outputs), inputs)


def write(folder, nodes, inputs, constants, opset, outputs, expected, is_open):
    model = make_model(nodes, inputs, constants, opset, outputs, is_open)
    if expected is None:
        # The same values whether extents are known or not.
        made = by_runtime(make_model(nodes, inputs, constants, opset, outputs, False), inputs, outputs)
    else:
        made = ReferenceEvaluator(model).run(list(outputs), inputs) if isinstance(expected, str) else expected
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    for prefix, arrays in (("input", inputs.values()), ("output", made)):
        for k, array in enumerate(arrays):
            (data / f"{prefix}_{k}.pb").write_bytes(numpy_helper.from_array(np.asarray(array)).SerializeToString())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    for group in GROUPS:
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
