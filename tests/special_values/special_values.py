#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Special values through every element-wise function, reduction, choice and conversion, as folders like ONNX's node tests.

usage: special_values.py --out DIR [--sample N] [--only TEXT]

Each case is one operation on NaN, both infinities, -0, denormals and the ends of its type, in four forms: the shapes known, the shapes
open, more elements than the kernels of small tensors take, and the inputs constants, so that the result is folded. Expected is what
numpy computes, in f64 for functions of reals. ONNX Runtime without optimisation computes it, too, while the cases are made; the two
may differ only where DIFFERENCES says why. There are three folders: signed (-0 is not 0), plain, and f16. backend_tests --all runs
them, run.py beside this says with which tolerances. --sample N takes every Nth case.
"""
import argparse
import math
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

warnings.filterwarnings("ignore")
NAN, INF = math.nan, math.inf
INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]

# Where ONNX Runtime differs from what is expected: the beginning of a case's name, and why the other value is right.
DIFFERENCES = {
    "Cast_real_": "ONNX leaves reals outside of the type open, and each runtime, processor and width of vector has its own numbers. Here "
                  "they become the nearest number of the type, and NaN 0, on every device, folded or not: that loses least",
    "ArgMax_float": "the extreme so far is compared with >, so a NaN that is not first is lost; to numpy and the reference it is the extreme",
    "ArgMin_float": "as ArgMax",
    "ReduceMax_float": "a NaN is lost unless it is first; numpy and the reference keep it",
    "ReduceMin_float": "as ReduceMax",
    "ReduceMean_empty_float": "0; numpy's mean of nothing is NaN, of integers 0",
    "ReduceProd_int32": "products beyond the type are the least number; here and in numpy they wrap",
    "MaxPool_first_": "with indices, a NaN that is first stays; without, and in the reference, it is lost",
    "Clip_-1_None": "infinity becomes the largest number, the default of the bound that is missing; in the reference there is no bound",
    "Clip_None_1": "as above",
    "Sign_float16": "0; the NaN stays in f32 and f64",
    "Shrink_float64": "the bias makes the largest number infinite",
    "LogSoftmax_nan_0_float64": "in f64 a NaN that is last is lost, and beside an infinity the others are minus infinity; in f32 the line is NaN",
    "LogSoftmax_nan_1_float64": "as above",
    "Unique_nan": "all numbers are taken for equal to a NaN; numpy takes NaNs for one value of their own",
}

CASES = {}


def case(name, nodes, inputs, expected, *, opset=21, outputs=("y",), forms=("static", "open", "large", "constant"), zeros=True):
    """@param inputs  arrays by name. @param expected  arrays. @param zeros  their signs count."""
    assert name not in CASES, name
    CASES[name] = dict(nodes=nodes if isinstance(nodes, list) else [nodes], inputs=inputs, expected=expected, opset=opset, outputs=outputs,
                       forms=forms, zeros=zeros)


def node(kind, inputs, outputs="y", **attributes):
    split = lambda names: [n if n != "-" else "" for n in names.split()]
    return helper.make_node(kind, split(inputs), split(outputs), **attributes)


def label(kind):
    return np.dtype(kind).name


def reals(kind):
    limits = np.finfo(kind)
    tiny = float(limits.smallest_subnormal)
    values = [NAN, INF, -INF, 0.0, -0.0, tiny, -tiny, float(limits.smallest_normal), 0.5, -0.5, 1.0, -1.0, 1.5, -1.5, 2.5, -2.5, 0.1, -0.3, 3.7,
              -3.7, 10.0, -10.0, 17.0, -17.0, 21.0, -21.0, 80.0, -80.0, 200.0, -200.0, 2048.0, -2049.0, 30000.0, -30000.0, float(limits.max),
              float(limits.min)]
    if kind is not np.float16:
        values += [65536.0, 1e6, -1e6, 16777217.0, 3e9, -3e9, 1e19, -1e19, 1e30, -1e30]
    return np.array(values, kind)


def whole(kind):
    low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    values = [0, 1, 2, 3, 7, high, high - 1, high // 2, low, low + 1] + ([-1, -2, -7] if low < 0 else [])
    if high > 2**53:
        values += [2**53, 2**53 + 1, 2**53 + 3] + ([-2**53 - 1] if low < 0 else [])
    return np.array(values, kind)


def in_f64(function):
    return lambda x, kind: function(x.astype(np.float64)).astype(kind)


def erf(x):
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def softplus(x):
    return np.logaddexp(0.0, x)


FUNCTIONS = {
    "Abs": np.abs, "Neg": np.negative, "Ceil": np.ceil, "Floor": np.floor, "Sqrt": np.sqrt, "Exp": np.exp, "Log": np.log, "Sin": np.sin,
    "Cos": np.cos, "Tan": np.tan, "Asin": np.arcsin, "Acos": np.arccos, "Atan": np.arctan, "Sinh": np.sinh, "Cosh": np.cosh,
    "Tanh": np.tanh, "Asinh": np.arcsinh, "Acosh": np.arccosh, "Atanh": np.arctanh, "Erf": erf,
    "Sign": np.sign, "Round": np.round, "Sigmoid": lambda x: np.where(x >= 0, 1 / (1 + np.exp(-x)), np.exp(np.minimum(x, 0)) / (1 + np.exp(np.minimum(x, 0)))) + 0 * np.where(np.isnan(x), x, 0),
    "Softplus": softplus, "Softsign": lambda x: x / (1 + np.abs(x)), "Relu": lambda x: np.where(x > 0, x, np.where(np.isnan(x), x, 0.0)),
    "Reciprocal": lambda x: 1 / x, "Mish": lambda x: x * np.tanh(softplus(x)),
    "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1), "Identity": lambda x: x,
    "Elu": lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x),
    "Selu": lambda x: np.where(x < 0, 1.67326319217681884765625 * np.expm1(np.minimum(x, 0)), x) * 1.05070102214813232421875,
    "Celu": lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x),
    "LeakyRelu": lambda x: np.where(x < 0, float(np.float32(0.01)) * x, x),
    "HardSigmoid": lambda x: np.clip(float(np.float32(0.2)) * x + 0.5, 0, 1),
    "ThresholdedRelu": lambda x: np.where(x > 1, x, 0.0),
    "Gelu": lambda x: 0.5 * x * (1 + erf(x / math.sqrt(2))),
}
OPSETS = {"Gelu": 20, "Round": 22, "Mish": 22, "HardSwish": 22}


def unary():
    for kind in (np.float32, np.float16, np.float64):
        x = reals(kind)
        for name, function in FUNCTIONS.items():
            expected = in_f64(function)(x, kind)
            zeros = name not in ("Relu", "ThresholdedRelu", "Selu", "Celu", "Elu", "HardSwish", "Gelu", "Mish", "Sign", "LeakyRelu")
            some = x
            if name in ("Gelu", "Mish"):  # Below, f32 cancels what f64 does not.
                keep = ~(x < -3)
                some, expected = x[keep], expected[keep]
            if kind is not np.float64 and name in ("Sin", "Cos", "Tan", "Exp", "Sinh", "Cosh"):
                # One step of a large argument is many turns.
                keep = ~(np.abs(some.astype(np.float64)) > 1e7) | np.isinf(some)
                some, expected = some[keep], expected[keep]
            case(f"{name}_{label(kind)}", node(name, "x"), {"x": some}, [expected], opset=OPSETS.get(name, 21), zeros=zeros)
        case(f"Silu_{label(kind)}", [node("Sigmoid", "x", "s"), node("Mul", "x s")], {"x": x},
             [in_f64(lambda v: v * FUNCTIONS["Sigmoid"](v))(x, kind)], zeros=False)
        case(f"IsNaN_{label(kind)}", node("IsNaN", "x"), {"x": x}, [np.isnan(x)])
        for positive, negative in ((1, 1), (1, 0), (0, 1), (0, 0)):
            expected = (np.isposinf(x) & bool(positive)) | (np.isneginf(x) & bool(negative))
            case(f"IsInf_{positive}{negative}_{label(kind)}", node("IsInf", "x", detect_positive=positive, detect_negative=negative), {"x": x},
                 [expected])
        for low, high in ((-1.5, 2.5), (-INF, 0.0), (0.0, INF), (-1, None), (None, 1)):
            bounds = {n: kind(v) for n, v in (("l", low), ("h", high)) if v is not None}
            expected = np.minimum(np.maximum(x, bounds.get("l", kind(-INF))), bounds.get("h", kind(INF)))
            case(f"Clip_{low}_{high}_{label(kind)}", node("Clip", f"x {'l' if low is not None else '-'} {'h' if high is not None else '-'}"),
                 {"x": x} | bounds, [expected], zeros=False)
        small = x[np.abs(x.astype(np.float64)) < 50]
        tanh = 0.5 * small.astype(np.float64) * (1 + np.tanh(math.sqrt(2 / math.pi) * (small.astype(np.float64) + 0.044715 * small.astype(np.float64)**3)))
        case(f"Gelu_tanh_{label(kind)}", node("Gelu", "x", approximate="tanh"), {"x": small[small > -2]}, [tanh[small > -2].astype(kind)], opset=20,
             zeros=False)
        case(f"Shrink_{label(kind)}", node("Shrink", "x", lambd=1.0, bias=0.5), {"x": x},
             [np.where(x < -1, x + kind(0.5), np.where(x > 1, x - kind(0.5), np.where(np.isnan(x), kind(0), kind(0)))).astype(kind)], zeros=False)
    for kind in INTEGERS:
        x = whole(kind)
        case(f"Abs_{label(kind)}", node("Abs", "x"), {"x": x}, [np.abs(x)])
        case(f"Sign_{label(kind)}", node("Sign", "x"), {"x": x}, [np.sign(x)])
        case(f"BitwiseNot_{label(kind)}", node("BitwiseNot", "x"), {"x": x}, [~x])
        middle = kind(2**53 + 1) if kind in (np.int64, np.uint64) else kind(5)
        case(f"Clip_{label(kind)}", node("Clip", "x l h"), {"x": x, "l": kind(1), "h": middle}, [np.clip(x, kind(1), middle)])
        if np.iinfo(kind).min < 0:
            case(f"Neg_{label(kind)}", node("Neg", "x"), {"x": x}, [np.negative(x)])
            case(f"Relu_{label(kind)}", node("Relu", "x"), {"x": x}, [np.maximum(x, kind(0))])


def pairs(values):
    x, y = np.meshgrid(values, values, indexing="ij")
    return np.ascontiguousarray(x), np.ascontiguousarray(y)


def remainder(x, y):
    return np.fmod(x, y)


def binary():
    forms = ("static", "open", "constant", "large")
    functions = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum, "Equal": np.equal, "Less": np.less,
                 "Greater": np.greater, "LessOrEqual": np.less_equal, "GreaterOrEqual": np.greater_equal}
    for kind in (np.float32, np.float16, np.float64):
        values = reals(kind)[:20]
        x, y = pairs(values)
        more = functions | {"Div": np.divide, "Pow": np.power}
        for name, function in more.items():
            zeros = name not in ("Max", "Min")
            a, b = (x[:, np.isfinite(values)], y[:, np.isfinite(values)]) if name == "Pow" else (x, y)
            with_f64 = function(a.astype(np.float64), b.astype(np.float64)) if name == "Pow" else function(a, b)
            expected = with_f64 if with_f64.dtype == bool else with_f64.astype(kind)
            case(f"{name}_{label(kind)}", node(name, "a b"), {"a": a, "b": b}, [expected], forms=forms, zeros=zeros)
            # A constant on either side, of one number or of the other's shape.
            for value in (NAN, INF, 1.5, 0.0):
                number = np.array(value, kind)
                for side in ("ab", "ba"):
                    if name == "Pow" and side == "ba":
                        continue
                    made = function(values, number) if side == "ab" else function(number, values)
                    inputs = {"a": values} | {"b": number}
                    case(f"{name}_{side}_{value}_{label(kind)}", node(name, " ".join(side)), inputs, [np.asarray(made, made.dtype)],
                         forms=("half", "half open"), zeros=zeros)
        keep = np.isfinite(values) & (values != 0)
        case(f"Mod_{label(kind)}", node("Mod", "a b", fmod=1), {"a": x[:, keep], "b": y[:, keep]}, [np.fmod(x[:, keep], y[:, keep])], forms=forms)
        case(f"PRelu_{label(kind)}", node("PRelu", "a b"), {"a": x, "b": y}, [np.where(x < 0, x * y, x)], forms=forms, zeros=False)
        a, b, c = values, np.roll(values, 3), np.roll(values, 7)
        for name, function in (("Max", np.maximum), ("Min", np.minimum)):
            case(f"{name}_3_{label(kind)}", node(name, "a b c"), {"a": a, "b": b, "c": c}, [function(function(a, b), c)], forms=forms, zeros=False)
            case(f"{name}_1_{label(kind)}", node(name, "a"), {"a": a}, [a], forms=forms, zeros=False)
        case(f"Where_{label(kind)}", node("Where", "q a b"), {"q": a > 0, "a": a, "b": b}, [np.where(a > 0, a, b)], forms=forms)
    for kind in INTEGERS:
        x, y = pairs(whole(kind))
        for name, function in functions.items():
            case(f"{name}_{label(kind)}", node(name, "a b"), {"a": x, "b": y}, [function(x, y)], forms=forms)
        for name, function in (("BitwiseAnd", np.bitwise_and), ("BitwiseOr", np.bitwise_or), ("BitwiseXor", np.bitwise_xor)):
            case(f"{name}_{label(kind)}", node(name, "a b"), {"a": x, "b": y}, [function(x, y)], forms=forms)
        low, high = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
        some = np.array([v for v in whole(kind) if int(v) not in (0, -1)], kind)
        a, b = np.meshgrid(whole(kind), some, indexing="ij")
        a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
        case(f"Div_{label(kind)}", node("Div", "a b"), {"a": a, "b": b},
             [np.array([int(math.copysign(1, int(p) * int(q))) * (abs(int(p)) // abs(int(q))) for p, q in zip(a.flat, b.flat)], kind).reshape(a.shape)], forms=forms)
        case(f"Mod_{label(kind)}", node("Mod", "a b"), {"a": a, "b": b}, [np.mod(a, b)], forms=forms)
        case(f"Mod_fmod_{label(kind)}", node("Mod", "a b", fmod=1), {"a": a, "b": b}, [np.fmod(a, b)], forms=forms)
        if low == 0:
            width = high.bit_length()
            a, b = np.meshgrid(whole(kind), np.array([0, 1, width - 1, width, width + 1, min(high, 200)], kind), indexing="ij")
            a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
            for direction in ("LEFT", "RIGHT"):
                shift = lambda p, q: 0 if q >= width else (p << q) & high if direction == "LEFT" else p >> q
                made = np.array([shift(int(p), int(q)) for p, q in zip(a.flat, b.flat)], kind).reshape(a.shape)
                case(f"BitShift_{direction}_{label(kind)}", node("BitShift", "a b", direction=direction), {"a": a, "b": b}, [made], forms=forms)


def rows_of_reals(kind):
    return np.array([[1, 2, 3, 4], [NAN, 1, 2, 3], [1, 2, NAN, 3], [1, 2, 3, NAN], [INF, 1, 2, 3], [-INF, 1, 2, 3], [INF, -INF, 1, 2],
                     [-INF, -INF, -INF, -INF], [INF, INF, INF, INF], [0.0, -0.0, 0.0, -0.0], [-1, -2, -3, -4], [NAN, NAN, INF, 1]], kind)


def fold(function, x, axis, kind, keep):
    return np.asarray(function(x.astype(np.float64) if np.dtype(kind).kind == "f" else x, axis=axis, keepdims=keep)).astype(kind)


def reductions():
    def mean_of(x, axis, keepdims):
        if np.dtype(x.dtype).kind == "f":
            return np.mean(x, axis=axis, keepdims=keepdims)
        count = x.size if axis is None else int(np.prod([x.shape[a] for a in np.atleast_1d(axis)]))
        total = np.sum(x.astype(object), axis=axis, keepdims=keepdims)
        return np.vectorize(lambda v: int(v / count) if count else 0, otypes=[object])(total)

    functions = {
        "ReduceSum": np.sum, "ReduceMean": mean_of, "ReduceProd": np.prod, "ReduceMax": np.max, "ReduceMin": np.min,
        "ReduceL1": lambda x, axis, keepdims: np.sum(np.abs(x), axis=axis, keepdims=keepdims),
        "ReduceSumSquare": lambda x, axis, keepdims: np.sum(x * x, axis=axis, keepdims=keepdims),
        "ReduceL2": lambda x, axis, keepdims: np.sqrt(np.sum(x * x, axis=axis, keepdims=keepdims).astype(np.float64)),
        "ReduceLogSum": lambda x, axis, keepdims: np.log(np.sum(x, axis=axis, keepdims=keepdims)),
    }
    for name, function in functions.items():
        kinds = [np.float32, np.float16, np.float64, np.int32, np.int64]
        if name in ("ReduceMax", "ReduceMin"):
            kinds += [np.int8, np.uint8]
        if name == "ReduceLogSum":
            kinds = kinds[:3]
        for kind in kinds:
            is_real = np.dtype(kind).kind == "f"
            x = rows_of_reals(kind) if is_real else np.resize(whole(kind) if name in ("ReduceMax", "ReduceMin") else np.array([1, -2, 3, 7, 5], kind), (6, 4))
            for axes in ([1], [0], [0, 1]):
                for keep in (1, 0):
                    expected = fold(function, x, tuple(axes), kind, bool(keep))
                    case(f"{name}_{label(kind)}_{''.join(map(str, axes))}_{keep}", node(name, "x a", keepdims=keep), {"x": x, "a": np.array(axes, np.int64)},
                         [expected], zeros=False, forms=("axes", "axes open", "constant"))
            pictures = np.ascontiguousarray(np.broadcast_to(x.reshape(1, 1, *x.shape), (2, 3) + x.shape))
            case(f"{name}_{label(kind)}_picture", node(name, "x a", keepdims=1), {"x": pictures, "a": np.array([2, 3], np.int64)},
                 [fold(function, pictures, (2, 3), kind, True)], zeros=False, forms=("axes", "axes open"))
            empty = np.zeros((3, 0), kind)
            if name in ("ReduceMax", "ReduceMin"):
                ends = (-INF, INF) if is_real else (np.iinfo(kind).min, np.iinfo(kind).max)
                value = ends[0] if name == "ReduceMax" else ends[1]
            else:
                value = {"ReduceProd": 1, "ReduceMean": NAN if is_real else 0, "ReduceLogSum": -INF}.get(name, 0)
            for keep in (1, 0):
                case(f"{name}_empty_{label(kind)}_{keep}", node(name, "x a", keepdims=keep), {"x": empty, "a": np.array([1], np.int64)},
                     [np.full((3, 1) if keep else (3,), value, kind)], zeros=False, forms=("axes", "axes open", "constant"))


def extremes():
    for kind in (np.float32, np.float16, np.float64, np.int32, np.int64, np.int8, np.uint8):
        is_real = np.dtype(kind).kind == "f"
        x = rows_of_reals(kind) if is_real else np.resize(whole(kind), (5, 7))
        for name, function in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
            for last in (0, 1):
                for keep in (0, 1):
                    place = x.shape[1] - 1 - function(x[:, ::-1], axis=1) if last else function(x, axis=1)
                    place = place.astype(np.int64)
                    case(f"{name}_{label(kind)}_{last}_{keep}", node(name, "x", axis=1, keepdims=keep, select_last_index=last), {"x": x},
                         [place.reshape(-1, 1) if keep else place])
        for largest in (0, 1):
            # NaN behind all numbers in rising order, as numpy sorts; equal elements keep theirs.
            order = np.argsort(x, axis=1, kind="stable")
            if largest:
                key = np.where(np.isnan(x), INF, x.astype(np.float64)) if is_real else x.astype(object)
                order = np.array([sorted(range(x.shape[1]), key=lambda i: (not (is_real and np.isnan(x[r, i])), -key[r, i], i)) for r in range(x.shape[0])])
            k = np.array([3], np.int64)
            order = order[:, :3]
            case(f"TopK_{label(kind)}_{largest}", node("TopK", "x k", "y i", axis=1, largest=largest, sorted=1), {"x": x, "k": k},
                 [np.take_along_axis(x, order, 1), order.astype(np.int64)], outputs=("y", "i"), forms=("axes", "axes open", "constant"), zeros=False)
        case(f"CumSum_{label(kind)}", node("CumSum", "x a"), {"x": x, "a": np.array(1, np.int64)}, [np.cumsum(x, axis=1, dtype=kind)],
             forms=("axes", "axes open", "constant"), zeros=False) if np.dtype(kind).itemsize > 2 else None
    for kind in (np.float32,):
        for label_, row in (("first", [NAN, 1, 2, 3]), ("middle", [1, NAN, 2, 3]), ("numbers", [1, 5, -INF, INF])):
            for channels in (1, 16):
                x = np.ascontiguousarray(np.broadcast_to(np.array(row, kind).reshape(1, 1, 2, 2), (1, channels, 2, 2)))
                made = np.full((1, channels, 1, 1), np.nanmax(x), kind)
                case(f"MaxPool_{label_}_{channels}", node("MaxPool", "x", kernel_shape=[2, 2]), {"x": x}, [made], forms=("static", "open", "constant"))
                place = (np.arange(channels, dtype=np.int64) * 4 + int(np.nanargmax(np.array(row)))).reshape(1, channels, 1, 1)
                case(f"MaxPool_{label_}_{channels}_indices", node("MaxPool", "x", "y i", kernel_shape=[2, 2]), {"x": x}, [made, place],
                     outputs=("y", "i"), forms=("static", "open", "constant"))


def conversions():
    to = lambda kind: helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    for source in (np.float32, np.float16, np.float64):
        x = np.concatenate([reals(source), np.array([127.9, 128, -128.9, -129, 255.9, 256, 300, -300, 32767.9, 65504], source)])
        for target in INTEGERS:
            low, high = int(np.iinfo(target).min), int(np.iinfo(target).max)
            made = np.array([0 if math.isnan(v) else low if v <= low else high if v >= high else int(v) for v in x.astype(np.float64)], target)
            case(f"Cast_real_{label(source)}_{label(target)}", node("Cast", "x", to=to(target)), {"x": x}, [made])
        case(f"Cast_{label(source)}_bool", node("Cast", "x", to=TensorProto.BOOL), {"x": x}, [x.astype(bool)])
        for target in (np.float32, np.float16, np.float64):
            case(f"Cast_{label(source)}_{label(target)}", node("Cast", "x", to=to(target)), {"x": x}, [x.astype(target)])
    for source in INTEGERS:
        x = whole(source)
        for target in INTEGERS + [np.float32, np.float64, bool]:
            code = TensorProto.BOOL if target is bool else to(target)
            case(f"Cast_{label(source)}_{label(target)}", node("Cast", "x", to=code), {"x": x}, [x.astype(target)])


def ranges():
    big = 2**53
    for kind in (np.int64, np.int32, np.int16, np.float32, np.float64):
        steps = [(0, 5, 1), (5, 0, -2), (3, 3, 1), (0, -5, 1), (7, 8, 100)]
        if kind is np.int64:
            steps += [(big, big + 3, 1), (2**62, 2**62 + 5, 2), (-2**63, -2**63 + 7, 3), (2**63 - 1, 2**63 - 4, -1), (-2**63, 2**63 - 1, 2**62),
                      (2**63 - 1, -2**63, -2**62)]
        if np.dtype(kind).kind == "f":
            steps += [(0, 1, 0.25), (1, 0, -0.3)]
        for i, (start, stop, step) in enumerate(steps):
            count = max(0, -((start - stop) // step)) if np.dtype(kind).kind == "i" else max(0, math.ceil((stop - start) / step))
            made = np.array([start + k * step for k in range(count)], kind)
            case(f"Range_{label(kind)}_{i}", node("Range", "a b c"), {"a": kind(start), "b": kind(stop), "c": kind(step)}, [made],
                 forms=("static", "constant"))


def distinct():
    def unique(name, x, axis=None, is_sorted=1, forms=("static", "open", "constant")):
        values, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True, axis=axis)
        inverse = inverse.reshape(-1)
        if not is_sorted:
            order = np.argsort(first)
            place = np.argsort(order)
            values, first, counts, inverse = np.take(values, order, axis=axis or 0), first[order], counts[order], place[inverse]
        attributes = {"sorted": is_sorted} | ({} if axis is None else {"axis": axis})
        as_i64 = lambda a: a.astype(np.int64)
        case(f"Unique_{name}_{is_sorted}", node("Unique", "x", "y f i c", **attributes), {"x": x}, [values, as_i64(first), as_i64(inverse), as_i64(counts)],
             outputs=("y", "f", "i", "c"), forms=forms, zeros=False)

    for is_sorted in (0, 1):
        unique("i64_large", np.array([2**53, 2**53 + 1, 2**53, 2**53 + 1, -1, 2**63 - 1, 2**63 - 2], np.int64), is_sorted=is_sorted)
        for kind in (np.float32, np.int64, np.int32, np.float64, np.int8):
            unique(f"one_{label(kind)}", np.array([7], kind), is_sorted=is_sorted)
            unique(f"axis_of_one_{label(kind)}", np.array([[7, 8, 9]], kind), axis=0, is_sorted=is_sorted)
            unique(f"empty_{label(kind)}", np.zeros((0,), kind), is_sorted=is_sorted)
            unique(f"some_{label(kind)}", np.array([3, 1, 3, 2, 1, 1], kind), is_sorted=is_sorted)
        unique("nan_f32", np.array([2, NAN, 1, NAN, 2], np.float32), is_sorted=is_sorted)


def pieces():
    x = np.arange(24, dtype=np.float32).reshape(4, 6)
    least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    for i, (start, stop, step) in enumerate([(-1, least, -1), (5, -100, -1), (100, 0, -2), (3, 3, -1), (-2, -5, -1), (most, least, -1), (0, most, 1),
                                             (-100, 100, 1), (-100, 4, 2), (4, -1, 1), (2, -100, -3), (most, 0, 1)]):
        inputs = {"x": x, "s": np.array([start], np.int64), "e": np.array([stop], np.int64), "a": np.array([1], np.int64), "t": np.array([step], np.int64)}
        case(f"Slice_{i}", node("Slice", "x s e a t"), inputs, [x[:, start:stop:step]], forms=("axes", "axes open", "constant"))
    for kind in (np.float32, np.float16, np.float64):
        for name, shape in (("rows", (0, 4)), ("columns", (3, 0))):
            for kind_of in ("Hardmax", "Softmax", "LogSoftmax"):
                case(f"{kind_of}_empty_{name}_{label(kind)}", node(kind_of, "x", axis=1), {"x": np.zeros(shape, kind)}, [np.zeros(shape, kind)],
                     forms=("static", "open", "constant"))
        case(f"Hardmax_{label(kind)}", node("Hardmax", "x", axis=1), {"x": np.array([[1, 3, 2], [INF, 1, 2], [0.0, -0.0, 0]], kind)},
             [np.array([[0, 1, 0], [1, 0, 0], [1, 0, 0]], kind)])
        rows = np.array([[1, 2, 3], [-INF, 1, 2], [3, 3, 3], [1000, 0, -1000] if kind is not np.float16 else [600, 0, -600]], np.float64)
        shifted = np.exp(rows - rows.max(axis=1, keepdims=True))
        case(f"Softmax_{label(kind)}", node("Softmax", "x", axis=1), {"x": rows.astype(kind)}, [(shifted / shifted.sum(axis=1, keepdims=True)).astype(kind)])
        # A NaN, or an infinity, makes all numbers of its line NaN, wherever it stands.
        lines = np.array([[NAN, 1, 2, 0, 0.5], [1, NAN, 2, 0, 0.5], [0, 1, 2, 3, NAN], [INF, 1, 2, 0, 0.5], [0, 1, 2, 3, 4]], np.float64)
        for axis in (0, 1):
            x = lines if axis else np.ascontiguousarray(lines.T)
            below = x - x.max(axis=axis, keepdims=True)
            share = np.exp(below) / np.exp(below).sum(axis=axis, keepdims=True)
            for kind_of, made in (("Softmax", share), ("LogSoftmax", np.log(share))):
                case(f"{kind_of}_nan_{axis}_{label(kind)}", node(kind_of, "x", axis=axis), {"x": x.astype(kind)}, [made.astype(kind)])


def statistics():
    """Squares of f16 are beyond f16: statistics have more room."""
    random = np.random.default_rng(11)
    x, y = ((random.standard_normal(shape) * 3000).astype(np.float16) for shape in ((3, 64), (2, 4, 5, 6)))
    ones, zeros = (lambda n: np.ones(n, np.float16)), (lambda n: np.zeros(n, np.float16))

    def normal(a, axes):
        apart = a.astype(np.float64) - a.astype(np.float64).mean(axes, keepdims=True)
        return (apart / np.sqrt((apart**2).mean(axes, keepdims=True))).astype(np.float16)

    def own(name, nodes, data, made, constants=None, opset=22):
        case(f"{name}_large_float16", nodes, {"x": data} | (constants or {}), [made], opset=opset, zeros=False,
             forms=("axes", "axes open") if constants else ("static", "open"))

    own("LayerNormalization", node("LayerNormalization", "x s b"), x, normal(x, -1), {"s": ones(64), "b": zeros(64)})
    own("InstanceNormalization", node("InstanceNormalization", "x s b"), y, normal(y, (2, 3)), {"s": ones(4), "b": zeros(4)})
    own("GroupNormalization", node("GroupNormalization", "x s b", num_groups=2), y, normal(y.reshape(2, 2, -1), -1).reshape(y.shape),
        {"s": ones(4), "b": zeros(4)})
    own("MeanVarianceNormalization", node("MeanVarianceNormalization", "x", axes=[0, 2, 3]), y, normal(y, (0, 2, 3)))
    wide = x.astype(np.float64)
    own("RMSNormalization", node("RMSNormalization", "x s"), x, (wide / np.sqrt((wide**2).mean(-1, keepdims=True))).astype(np.float16), {"s": ones(64)}, 23)
    own("LpNormalization", node("LpNormalization", "x", axis=1), x, (wide / np.linalg.norm(wide, axis=1, keepdims=True)).astype(np.float16))
    squares = y.astype(np.float64)**2
    own("GlobalLpPool", node("GlobalLpPool", "x", p=2), y, np.sqrt(squares.sum((2, 3), keepdims=True)).astype(np.float16))
    own("LpPool", node("LpPool", "x", p=2, kernel_shape=[1, 3], strides=[1, 3]), y, np.sqrt(squares.reshape(2, 4, 5, 2, 3).sum(-1)).astype(np.float16))
    many = np.full((1, 70000), 0.5, np.float16)  # More than f16 counts.
    own("LogSoftmax", node("LogSoftmax", "x", axis=1), many, np.full(many.shape, -math.log(70000), np.float16))


def pictures():
    def filtered(x, count, axis, mode):
        """By the widened filter of antialiasing, which repeats the border; an element whose weight is 0 does not count, whatever it is."""
        extent, slope = x.shape[axis], min(count / x.shape[axis], 1.0)
        rows = np.moveaxis(x, axis, 0)
        made = np.zeros((count,) + rows.shape[1:])
        for i in range(count):
            centre, reach = (i + 0.5) * extent / count - 0.5, math.ceil((1 if mode == "linear" else 2) / slope)
            places = np.arange(math.floor(centre) + 1 - reach, math.floor(centre) + 1 + reach)
            d, a = np.abs(places - centre) * slope, -0.75
            weights = np.maximum(1 - d, 0) if mode == "linear" else np.where(
                d < 1, ((a + 2) * d - (a + 3)) * d * d + 1, np.where(d < 2, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a, 0))
            weights[np.abs(weights) < 1e-12] = 0
            each = np.bincount(np.clip(places, 0, extent - 1), weights / weights.sum(), extent)
            made[i] = sum(each[k] * rows[k] for k in np.flatnonzero(each))
        return np.moveaxis(made, 0, axis)

    plain = (np.arange(2 * 11 * 13) * 7 % 23 / 4.0).reshape(1, 2, 11, 13)
    for kind in (np.float32, np.float16, np.float64):
        for mode in ("linear", "cubic"):
            for number, sizes in enumerate(([5, 4], [3, 6], [4, 9])):
                for value in (NAN, INF, -INF):
                    for place in ((4, 7), (0, 12)):
                        x = plain.astype(kind)
                        x[0, 1][place] = value
                        y = filtered(filtered(x.astype(np.float64), sizes[0], 2, mode), sizes[1], 3, mode)
                        case(f"Resize_antialias_{mode}_{number}_{value}_{place[0]}_{label(kind)}", node("Resize", "x - - s", mode=mode, antialias=1, axes=[2, 3]),
                             {"x": x, "s": np.array(sizes, np.int64)}, [y.astype(kind)], opset=19, forms=("axes", "axes open", "constant"), zeros=False)


def forms_of(content):
    """The case in each of its forms: name, model inputs, initialisers, expected arrays, whether shapes are open."""
    inputs = content["inputs"]
    for form in content["forms"]:
        values, constants, expected = dict(inputs), {}, content["expected"]
        if form == "large":
            if any(a.ndim == 0 or a.size == 0 for a in inputs.values()) or expected is None:
                continue
            # More than the kernels of small tensors take, along a new first axis.
            times = -(-4200 // min(a.size for a in inputs.values()))
            if any(e.shape != next(iter(inputs.values())).shape for e in expected) or len({a.shape for a in inputs.values()}) > 1:
                continue
            grow = lambda a: np.ascontiguousarray(np.broadcast_to(a, (times,) + a.shape)) if a.ndim == 1 else np.ascontiguousarray(np.tile(a, (times,) + (1,) * (a.ndim - 1)))
            if any("axis" == at.name for n in content["nodes"] for at in n.attribute):
                continue
            values, expected = {n: grow(a) for n, a in inputs.items()}, [grow(e) for e in expected]
        elif form == "constant":
            values, constants = {}, dict(inputs)
        elif form.startswith("half") or form.startswith("axes"):  # All but the first are constants.
            first = next(iter(inputs))
            values, constants = {first: inputs[first]}, {n: a for n, a in inputs.items() if n != first}
        yield form.replace(" ", "_"), values, constants, expected, form.endswith("open")


def model_of(content, values, constants, is_open):
    describe = lambda n, a: helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), [f"{n}{i}" for i in range(a.ndim)] if is_open else a.shape)
    graph = helper.make_graph(content["nodes"], "case", [describe(n, a) for n, a in values.items()], [onnx.ValueInfoProto(name=n) for n in content["outputs"]],
                              [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", content["opset"])], ir_version=10)


def computed_by_runtime(model, values):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, values)
    except Exception:  # It has no kernel for the type, or refuses the case.
        return None


def are_near(a, b):
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    tolerance = {2: 4e-3, 4: 1e-4, 8: 1e-4}[a.dtype.itemsize]
    with np.errstate(all="ignore"):
        return bool(np.all((a == b) | (np.isnan(a) & np.isnan(b)) | (np.isfinite(b) & (np.abs(a.astype(np.float64) - b) <= 1e-6 + tolerance * np.abs(b)))))


def write(folder, model, values, expected):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    for prefix, arrays in (("input", values.values()), ("output", expected)):
        for k, array in enumerate(arrays):
            (data / f"{prefix}_{k}.pb").write_bytes(numpy_helper.from_array(np.asarray(array)).SerializeToString())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sample", type=int, default=1)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    for group in (unary, binary, reductions, extremes, conversions, ranges, distinct, pieces, statistics, pictures):
        group()
    shutil.rmtree(options.out, ignore_errors=True)
    written, compared, unexplained, number, used = 0, 0, [], 0, set()
    for name, content in CASES.items():
        for form, values, constants, expected, is_open in forms_of(content) if options.only in name else ():
            number += 1
            if number % options.sample:
                continue
            model = model_of(content, values, constants, is_open)
            judged = computed_by_runtime(model, values)
            compared += judged is not None
            if judged is not None and not all(are_near(np.asarray(j), np.asarray(e)) for j, e in zip(judged, expected)):
                reasons = [prefix for prefix in DIFFERENCES if name.startswith(prefix)]
                used.update(reasons)
                if not reasons:
                    unexplained.append(f"{name} ({form}): ONNX Runtime {[np.asarray(j).ravel()[:60].tolist() for j in judged]}, expected "
                                       f"{[np.asarray(e).ravel()[:60].tolist() for e in expected]}")
            # f16 rounds attributes, too.
            group = "f16" if "float16" in name else "signed" if content["zeros"] else "plain"
            write(options.out / group / f"{name}_{form}", model, values, expected)
            written += 1
    if options.sample == 1 and not options.only:
        unexplained += [f"{prefix}: ONNX Runtime does not differ any more" for prefix in DIFFERENCES if prefix not in used]
    for line in unexplained:
        print(line, file=sys.stderr)
    print(f"{written} cases, {compared} of them compared with ONNX Runtime")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
