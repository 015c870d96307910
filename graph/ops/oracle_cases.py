#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Single-operation models with inputs and outputs, computed by OpenVINO's CPU plugin: the judge of the operation table.

usage: oracle_cases.py FOLDER    writes FOLDER/index.txt and one binary file per tensor
"""
import os

import numpy as np
import openvino as ov
from openvino import opset1, opset3, opset4, opset5, opset6, opset7, opset8, opset9, opset10, opset11, opset12, opset13, opset14, opset15, opset16

from oracle_cases_regions import GROUPS
from oracle_recorder import F, OUT, attempt, case, core, f, i, index, raw, rng


def unary():
    x = f(2, 3, 5)
    for name in ["relu", "abs", "negative", "sign", "sigmoid", "tanh", "erf", "exp", "sin", "cos", "tan", "atan", "sinh", "cosh", "asinh", "floor", "ceiling",
                 "hswish", "hsigmoid", "softplus", "softsign", "mish"]:
        fn = {"hswish": opset4.hswish, "hsigmoid": opset5.hsigmoid, "softplus": opset4.softplus, "softsign": opset9.softsign, "mish": opset4.mish,
              "asinh": opset4.asinh}.get(name, getattr(opset1, name, None))
        attempt(name, [x * 3], fn)
    attempt("log", [np.abs(x) + 0.1], opset1.log)
    attempt("sqrt", [np.abs(x)], opset1.sqrt)
    attempt("asin", [x / 2], opset1.asin)
    attempt("acos", [x / 2], opset1.acos)
    attempt("acosh", [np.abs(x) + 1], opset4.acosh)
    attempt("atanh", [x / 2.1], opset4.atanh)
    for m in ["half_to_even", "half_away_from_zero"]:
        attempt("round " + m, [np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 1.2], F)], lambda a, m=m: opset5.round(a, m))
    attempt("elu", [x], lambda a: opset1.elu(a, 0.7))
    attempt("clamp", [x], lambda a: opset1.clamp(a, -0.5, 1.25))
    attempt("clamp i32", [i(7, t=np.int32)], lambda a: opset1.clamp(a, -2.5, 3.5))
    attempt("gelu 2", [x * 2], lambda a: opset2_gelu(a))
    for m in ["erf", "tanh"]:
        attempt("gelu 7 " + m, [x * 2], lambda a, m=m: opset7.gelu(a, m))
    attempt("swish", [x], lambda a: opset4.swish(a))
    attempt("swish beta", [x, np.array(1.7, F)], lambda a, b: opset4.swish(a, b), constants=(1,))
    attempt("hard sigmoid", [x, np.array(0.3, F), np.array(0.4, F)], opset1.hard_sigmoid, constants=(1, 2))
    attempt("selu", [x, np.array(1.6, F), np.array(1.05, F)], opset1.selu, constants=(1, 2))
    attempt("prelu channels", [f(2, 3, 4), f(3)], opset1.prelu)
    attempt("prelu one", [f(2, 3, 4), f(1)], opset1.prelu)
    special = np.array([np.nan, np.inf, -np.inf, 0, 1], F)
    attempt("is nan", [special], opset10.is_nan)
    attempt("is finite", [special], opset10.is_finite)
    attempt("is inf", [special], lambda a: opset10.is_inf(a, {"detect_negative": False, "detect_positive": True}))
    attempt("logical not", [i(5, low=0, high=2).astype(bool)], opset1.logical_not)
    attempt("inverse erf", [np.linspace(-1, 1, 41, dtype=F)], lambda a: raw("opset17", "ErfInv", [a], {}))
    attempt("relu rank 0", [np.array(-1.5, F)], opset1.relu)
    attempt("relu i32", [i(6, t=np.int32)], opset1.relu)
    attempt("abs i32", [i(6, t=np.int32)], opset1.abs)


def opset2_gelu(a):
    from openvino import opset2
    return opset2.gelu(a)


def divide_truncating(a, b):
    from openvino.utils.node_factory import NodeFactory
    return NodeFactory("opset1").create("Divide", [a.output(0), b.output(0)], {"auto_broadcast": "numpy", "m_pythondiv": False})


def binary():
    shapes = [((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (4,)), ((2, 1, 4), (3, 1)), ((), (2, 3)), ((1, 3, 1, 1), (2, 3, 2, 2)), ((5, 1), (1, 6))]
    for name in ["add", "subtract", "multiply", "divide", "maximum", "minimum", "squared_difference", "power", "mod", "floor_mod"]:
        for a, b in shapes:
            x, y = f(*a), f(*b, low=0.5, high=3)
            if name == "power":
                x = np.abs(x)
            attempt(f"{name} {a} {b}", [x, y], getattr(opset1, name))
    for name in ["add", "subtract", "multiply", "maximum", "minimum", "squared_difference", "mod", "floor_mod", "power"]:
        attempt(name + " i32", [i(3, 4, t=np.int32), i(4, low=1, high=4, t=np.int32)], getattr(opset1, name))
    # The plugin truncates whatever m_pythondiv is, so only the truncating form is tested.
    attempt("divide i32", [i(3, 4, t=np.int32), i(4, low=1, high=4, t=np.int32)], divide_truncating)
    attempt("divide i32 negative", [i(3, 4, t=np.int32), -i(4, low=1, high=4, t=np.int32)], divide_truncating)
    for name in ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]:
        attempt(name, [i(3, 4, t=np.int32), i(4, t=np.int32)], getattr(opset1, name))
        attempt(name + " f32", [np.round(f(3, 4)), np.round(f(3, 1))], getattr(opset1, name))
    for name in ["logical_and", "logical_or", "logical_xor"]:
        attempt(name, [i(3, 4, low=0, high=2).astype(bool), i(4, low=0, high=2).astype(bool)], getattr(opset1, name))
    for name in ["bitwise_and", "bitwise_or", "bitwise_xor"]:
        attempt(name, [i(3, 4, t=np.int32), i(4, t=np.int32)], getattr(opset13, name))
    attempt("bitwise_not", [i(3, 4, t=np.int32)], opset13.bitwise_not)
    attempt("shift left", [i(6, t=np.int32), i(6, low=0, high=5, t=np.int32)], opset15.bitwise_left_shift)
    attempt("shift right", [i(6, t=np.int32), i(6, low=0, high=5, t=np.int32)], opset15.bitwise_right_shift)
    attempt("select", [i(2, 1, 4, low=0, high=2).astype(bool), f(3, 1), f(2, 3, 4)], opset1.select)


def convolution():
    o = opset1
    for label, x, w, kw in [
        ("1d", (2, 3, 9), (4, 3, 3), dict(strides=[2], pads_begin=[1], pads_end=[0], dilations=[1])),
        ("2d", (2, 3, 8, 7), (4, 3, 3, 3), dict(strides=[1, 1], pads_begin=[1, 1], pads_end=[1, 1], dilations=[1, 1])),
        ("2d stride dilation", (1, 2, 11, 13), (3, 2, 3, 2), dict(strides=[2, 3], pads_begin=[0, 2], pads_end=[1, 1], dilations=[2, 1])),
        ("2d same upper", (1, 2, 10, 7), (3, 2, 3, 4), dict(strides=[2, 2], pads_begin=[0, 0], pads_end=[0, 0], dilations=[1, 1], auto_pad="same_upper")),
        ("2d same lower", (1, 2, 10, 7), (3, 2, 3, 4), dict(strides=[2, 2], pads_begin=[0, 0], pads_end=[0, 0], dilations=[1, 1], auto_pad="same_lower")),
        ("2d valid", (1, 2, 10, 7), (3, 2, 3, 4), dict(strides=[1, 2], pads_begin=[1, 1], pads_end=[1, 1], dilations=[1, 1], auto_pad="valid")),
        ("3d", (1, 2, 5, 6, 7), (3, 2, 2, 3, 3), dict(strides=[1, 2, 1], pads_begin=[1, 0, 1], pads_end=[0, 1, 1], dilations=[1, 1, 2])),
    ]:
        attempt("convolution " + label, [f(*x), f(*w)], lambda a, b, kw=kw: o.convolution(a, b, **kw))
    attempt("group convolution", [f(2, 6, 7, 8), f(3, 4, 2, 3, 3)], lambda a, b: o.group_convolution(a, b, [1, 2], [1, 1], [1, 0], [1, 1]))
    attempt("depthwise convolution", [f(1, 5, 7, 8), f(5, 1, 1, 3, 3)], lambda a, b: o.group_convolution(a, b, [2, 2], [1, 1], [1, 1], [1, 1]))
    attempt("backprop", [f(2, 3, 5, 4), f(3, 4, 3, 2)],
            lambda a, b: o.convolution_backprop_data(a, b, strides=[2, 2], pads_begin=[1, 0], pads_end=[0, 1], dilations=[1, 1], output_padding=[1, 0]))
    attempt("backprop dilated", [f(1, 2, 5, 4), f(2, 3, 3, 3)], lambda a, b: o.convolution_backprop_data(a, b, strides=[2, 1], pads_begin=[1, 1], pads_end=[1, 1], dilations=[2, 1]))
    for pad in ["same_upper", "same_lower", "explicit", "valid"]:
        attempt("backprop output shape " + pad, [f(1, 2, 5, 4), f(2, 3, 3, 3), np.array([10, 9], np.int64)],
                lambda a, b, c, pad=pad: o.convolution_backprop_data(a, b, output_shape=c, strides=[2, 2], pads_begin=[1, 0], pads_end=[0, 0], dilations=[1, 1], auto_pad=pad), constants=(2,))
    attempt("group backprop", [f(1, 4, 5, 4), f(2, 2, 3, 3, 3)], lambda a, b: o.group_convolution_backprop_data(a, b, strides=[2, 2], pads_begin=[1, 1], pads_end=[1, 1], dilations=[1, 1]))


def pooling():
    x = f(2, 3, 9, 8)
    for rounding in ["floor", "ceil"]:
        for pad in ["explicit", "same_upper", "same_lower", "valid"]:
            attempt(f"max pool 1 {rounding} {pad}", [x], lambda a: opset1.max_pool(a, [2, 3], [1, 0], [0, 1], [3, 2], rounding, pad))
            for exclude in [True, False]:
                attempt(f"avg pool {rounding} {pad} {exclude}", [x], lambda a: opset1.avg_pool(a, [2, 3], [1, 0], [0, 1], [3, 2], exclude, rounding, pad))
    for rounding, pad in (("ceil", "explicit"), ("ceil", "valid")):
        for exclude in [True, False]:  # The last windows reach beyond the picture.
            attempt(f"avg pool {rounding} {pad} {exclude} beyond", [f(1, 2, 5, 6)],
                    lambda a: opset1.avg_pool(a, [2, 4], [0, 0], [0, 0], [2, 3], exclude, rounding, pad))
    attempt("max pool 8", [x], lambda a: opset8.max_pool(a, [2, 2], [1, 1], [1, 1], [0, 0], [3, 3], "floor", "explicit", "i64", 0))
    attempt("max pool 8 dilated", [x], lambda a: opset8.max_pool(a, [1, 2], [2, 1], [1, 1], [1, 0], [3, 2], "ceil", "explicit", "i32", 2))
    attempt("max pool 14", [x], lambda a: opset14.max_pool(a, [2, 2], [1, 1], [1, 1], [1, 1], [3, 3], "ceil_torch", "explicit", "i64", 0))
    attempt("avg pool 14", [x], lambda a: opset14.avg_pool(a, [2, 2], [1, 1], [1, 1], [3, 3], True, "ceil_torch", "explicit"))
    attempt("max pool 1d", [f(1, 2, 9)], lambda a: opset1.max_pool(a, [2], [1], [1], [3], "floor", "explicit"))
    attempt("max pool 3d", [f(1, 2, 5, 6, 7)], lambda a: opset1.max_pool(a, [2, 1, 2], [0, 0, 1], [0, 0, 1], [2, 2, 3], "floor", "explicit"))
    attempt("avg pool 3d", [f(1, 2, 5, 6, 7)], lambda a: opset1.avg_pool(a, [2, 1, 2], [0, 0, 1], [0, 0, 1], [2, 2, 3], False, "ceil", "explicit"))
    attempt("adaptive avg pool", [x, np.array([4, 3], np.int64)], opset8.adaptive_avg_pool, constants=(1,))


def shapes():
    c = lambda *v: np.array(v, np.int64)
    x = f(2, 3, 4)
    attempt("reshape", [x, c(4, -1)], lambda a, b: opset1.reshape(a, b, False), constants=(1,))
    attempt("reshape zero", [x, c(0, 0, 2, -1)], lambda a, b: opset1.reshape(a, b, True), constants=(1,))
    attempt("squeeze", [f(1, 3, 1, 2), c(0, -2)], opset1.squeeze, constants=(1,))
    for axes in ((1,), (0, 1), (-2, -1)):
        attempt("squeeze_skips_" + "_".join(map(str, axes)), [f(1, 3, 1, 2), c(*axes)], lambda x, a: opset15.squeeze(x, a, allow_axis_skip=True), constants=(1,))
    attempt("unsqueeze", [x, c(0, -1)], opset1.unsqueeze, constants=(1,))
    attempt("transpose", [x, c(2, 0, 1)], opset1.transpose, constants=(1,))
    attempt("transpose u8", [i(3, 5, low=0, high=255, t=np.uint8), c(1, 0)], opset1.transpose, constants=(1,))
    attempt("concat", [f(2, 3, 4), f(2, 1, 4), f(2, 2, 4)], lambda *a: opset1.concat(list(a), -2))
    attempt("concat i32", [i(2, 3, t=np.int32), i(1, 3, t=np.int32)], lambda *a: opset1.concat(list(a), 0))
    attempt("shape of", [x], lambda a: opset3.shape_of(a, "i32"))
    attempt("convert f32 i32", [f(7, low=-9, high=9)], lambda a: opset1.convert(a, "i32"))
    attempt("convert f32 u8", [np.array([0, 1.6, 3.2, 254.9, 255], F)], lambda a: opset1.convert(a, "u8"))
    attempt("convert f32 f16", [f(50, low=-70, high=70)], lambda a: opset1.convert(a, "f16"))
    attempt("convert f16 f32", [f(50).astype(np.float16)], lambda a: opset1.convert(a, "f32"))
    attempt("convert i32 bool", [i(9, low=-1, high=2, t=np.int32)], lambda a: opset1.convert(a, "boolean"))
    attempt("convert f32 bool", [np.array([0, 0.2, -1, 5], F)], lambda a: opset1.convert(a, "boolean"))
    attempt("convert i64 f32", [i(9)], lambda a: opset1.convert(a, "f32"))
    attempt("convert like", [f(4, low=-9, high=9), i(1, t=np.int32)], opset1.convert_like)
    attempt("broadcast", [f(3, 1), c(2, 3, 4)], lambda a, b: opset3.broadcast(a, b), constants=(1,))
    attempt("broadcast explicit", [f(3), c(2, 3, 4), c(1)], lambda a, b, m: opset3.broadcast(a, b, m, "EXPLICIT"), constants=(1, 2))
    attempt("broadcast bidirectional", [f(3, 1), c(2, 1, 4)], lambda a, b: opset3.broadcast(a, b, broadcast_spec="BIDIRECTIONAL"), constants=(1,))
    attempt("tile", [f(2, 3), c(2, 1, 3)], opset1.tile, constants=(1,))
    attempt("tile short", [f(2, 3, 2), c(2)], opset1.tile, constants=(1,))
    y = f(4, 5, 6)
    ss = lambda name, b, e, s, **kw: attempt("strided slice " + name, [y, c(*b), c(*e), c(*s)],
                                             lambda a, p, q, r: opset1.strided_slice(a, p, q, r, kw.get("bm", [0] * len(b)), kw.get("em", [0] * len(b)), kw.get("na", [0] * len(b)), kw.get("sh", [0] * len(b)), kw.get("el", [0] * len(b))), constants=(1, 2, 3))
    ss("plain", [1, 0, 2], [3, 5, 6], [1, 2, 3])
    ss("masks", [1, 1, 2], [3, 4, 5], [1, 1, 2], bm=[1, 0, 0], em=[0, 1, 0])
    ss("reverse", [-1, -1, 5], [-5, 1, 0], [-1, -1, -2], em=[1, 0, 0], bm=[1, 0, 0])
    ss("shrink", [1, -2, 0], [2, 0, 6], [1, 1, 1], sh=[1, 1, 0])
    ss("new axis", [0, 0, 1], [0, 4, 3], [1, 1, 1], na=[1, 0, 0])
    ss("ellipsis", [0, 1], [0, 4], [1, 1], el=[1, 0])
    ss("past the end", [0, 0, 0], [100, -1, 1000], [1, 1, 1])
    attempt("slice", [y, c(1, -1), c(4, -9), c(2, -2), c(0, -1)], opset8.slice, constants=(1, 2, 3, 4))
    attempt("slice no axes", [y, c(1, 0, 2), c(3, 9, 3), c(1, 1, 1)], lambda a, b, e, s: opset8.slice(a, b, e, s), constants=(1, 2, 3))
    attempt("split", [f(2, 6, 3), np.array(1, np.int64)], lambda a, b: opset1.split(a, b, 3), constants=(1,))
    attempt("variadic split", [f(2, 6, 3), np.array(-2, np.int64), c(1, -1, 2)], opset1.variadic_split, constants=(1, 2))
    for mode in ["constant", "edge", "reflect", "symmetric"]:
        attempt("pad " + mode, [f(3, 4), c(2, 1), c(1, 3), np.array(1.5, F)], lambda a, b, e, v, mode=mode: opset1.pad(a, b, e, mode, v), constants=(1, 2, 3))
    attempt("pad 12 negative", [f(5, 4), c(-2, 1), c(1, -1), np.array(1.5, F)], lambda a, b, e, v: opset12.pad(a, b, e, "constant", v), constants=(1, 2, 3))
    for mode in ["blocks_first", "depth_first"]:
        attempt("depth to space " + mode, [f(2, 8, 2, 3)], lambda a, mode=mode: opset1.depth_to_space(a, mode, 2))
        attempt("space to depth " + mode, [f(2, 2, 4, 6)], lambda a, mode=mode: opset1.space_to_depth(a, mode, 2))
    attempt("shuffle channels", [f(2, 6, 3)], lambda a: opset3.shuffle_channels(a, 1, 3))
    attempt("roll", [f(4, 5), c(1, -2), c(0, 1)], opset7.roll, constants=(1, 2))
    attempt("reverse sequence", [f(3, 4, 2), np.array([2, 4, 1], np.int32)], lambda a, b: opset1.reverse_sequence(a, b, 0, 1))


def gathers():
    x = f(3, 4, 5)
    attempt("gather 1", [x, i(2, 2, low=0, high=4), np.array(1, np.int64)], opset1.gather, constants=(2,))
    attempt("gather 7 batch", [x, i(3, 2, low=0, high=5), np.array(2, np.int64)], lambda a, b, c: opset7.gather(a, b, c, 1), constants=(2,))
    attempt("gather 8 negative", [x, i(6, low=-5, high=5), np.array(-1, np.int64)], lambda a, b, c: opset8.gather(a, b, c, 0), constants=(2,))
    attempt("gather scalar index", [x, np.array(2, np.int64), np.array(1, np.int64)], lambda a, b, c: opset8.gather(a, b, c, 0), constants=(2,))
    attempt("gather elements", [x, i(3, 2, 5, low=0, high=4)], lambda a, b: opset6.gather_elements(a, b, 1))
    attempt("gather nd", [x, i(2, 2, low=0, high=3)], lambda a, b: opset8.gather_nd(a, b, 0))
    attempt("gather nd batch", [x, i(3, 2, 1, low=0, high=4)], lambda a, b: opset8.gather_nd(a, b, 1))
    attempt("scatter update", [x, np.array([3, 0], np.int64), f(3, 2, 5), np.array(1, np.int64)], opset3.scatter_update, constants=(3,))
    attempt("scatter nd", [x, np.array([[0, 1], [2, 3]], np.int64), f(2, 5)], opset4.scatter_nd_update)
    for r in ["none", "sum", "sub", "prod", "min", "max"]:
        attempt("scatter nd " + r, [x, np.array([[0, 1], [2, 3], [0, 1]] if r != "none" else [[0, 1], [2, 3]], np.int64), f(3 if r != "none" else 2, 5)], lambda a, b, c, r=r: opset15.scatter_nd_update(a, b, c, r))
    attempt("scatter elements 3", [x, np.array([[[3, 1, 0, 2, 1]]], np.int64), f(1, 1, 5), np.array(1, np.int64)], opset3.scatter_elements_update, constants=(3,))
    for r in ["none", "sum", "prod", "min", "max", "mean"]:
        for init in [True, False]:
            attempt(f"scatter elements {r} {init}", [f(4, 3), np.array([[1, 2, 0], [1, 3, 0]] if r != "none" else [[1, 2, 0], [0, 3, 1]], np.int64), f(2, 3), np.array(0, np.int64)],
                    lambda a, b, c, d, r=r, init=init: opset12.scatter_elements_update(a, b, c, d, r, init), constants=(3,))


def reductions():
    x = f(2, 3, 4, 5)
    for name in ["reduce_sum", "reduce_mean", "reduce_prod", "reduce_max", "reduce_min"]:
        for axes, keep in [([1], True), ([0, -1], False), ([2, 1], True), ([0, 1, 2, 3], False)]:
            attempt(f"{name} {axes}", [x, np.array(axes, np.int64)], lambda a, b, keep=keep: getattr(opset1, name)(a, b, keep), constants=(1,))
    for name in ["reduce_l1", "reduce_l2"]:
        attempt(name, [x, np.array([1, 3], np.int64)], lambda a, b: getattr(opset4, name)(a, b, False), constants=(1,))
    for name in ["reduce_logical_and", "reduce_logical_or"]:
        attempt(name, [i(3, 4, low=0, high=2).astype(bool), np.array([1], np.int64)], lambda a, b: getattr(opset1, name)(a, b, True), constants=(1,))
    attempt("reduce sum i32", [i(3, 4, t=np.int32), np.array([0], np.int64)], lambda a, b: opset1.reduce_sum(a, b, False), constants=(1,))
    for ex in [False, True]:
        for rev in [False, True]:
            attempt(f"cum sum {ex} {rev}", [f(3, 4), np.array(1, np.int64)], lambda a, b, ex=ex, rev=rev: opset3.cum_sum(a, b, ex, rev), constants=(1,))
    for mode in ["max", "min"]:
        for sort in ["value", "index"]:
            attempt(f"top k {mode} {sort}", [f(3, 9), np.array(4, np.int64)], lambda a, b, mode=mode, sort=sort: opset3.topk(a, b, 1, mode, sort, "i32"), constants=(1,))
    attempt("top k 11 stable", [np.round(f(3, 9)), np.array(5, np.int64)], lambda a, b: opset11.topk(a, b, -1, "max", "value", "i64", True), constants=(1,))
    attempt("non zero", [i(3, 4, low=0, high=2, t=np.int32)], lambda a: opset3.non_zero(a, "i64"))


def normalisations():
    x = f(2, 3, 4, 5)
    attempt("softmax 1", [x], lambda a: opset1.softmax(a, 1))
    attempt("softmax 8", [x], lambda a: opset8.softmax(a, -1))
    attempt("softmax large", [x * 100], lambda a: opset8.softmax(a, 2))
    attempt("log softmax", [x], lambda a: opset5.log_softmax(a, -2))
    attempt("batch norm 5", [x, f(3), f(3), f(3), f(3, low=0.5, high=2)], lambda d, g, b, m, v: opset5.batch_norm_inference(d, g, b, m, v, 1e-3))
    attempt("mvn 6", [x, np.array([2, 3], np.int64)], lambda a, b: opset6.mvn(a, b, True, 1e-5, "inside_sqrt"), constants=(1,))
    attempt("mvn 6 outside", [x, np.array([-1], np.int64)], lambda a, b: opset6.mvn(a, b, True, 1e-2, "outside_sqrt"), constants=(1,))
    attempt("mvn 6 mean only", [x, np.array([1, 2, 3], np.int64)], lambda a, b: opset6.mvn(a, b, False, 1e-5, "inside_sqrt"), constants=(1,))
    for mode in ["add", "max"]:
        attempt("normalize l2 " + mode, [x, np.array([1], np.int64)], lambda a, b, mode=mode: opset1.normalize_l2(a, b, 1e-2, mode), constants=(1,))
    attempt("lrn", [f(2, 6, 4, 5), np.array([1], np.int64)], lambda a, b: opset1.lrn(a, b, 0.5, 0.75, 2.0, 3), constants=(1,))
    attempt("lrn space", [f(2, 6, 4, 5), np.array([2, 3], np.int64)], lambda a, b: opset1.lrn(a, b, 0.5, 0.75, 2.0, 3), constants=(1,))
    attempt("group norm", [f(2, 6, 4, 5), f(6), f(6)], lambda a, b, c: opset12.group_normalization(a, b, c, 3, 1e-3))
    for ta in [False, True]:
        for tb in [False, True]:
            attempt(f"matmul {ta} {tb}", [f(2, 4, 5) if not ta else f(2, 5, 4), f(5, 3) if not tb else f(3, 5)], lambda a, b, ta=ta, tb=tb: opset1.matmul(a, b, ta, tb))
    attempt("matmul batch", [f(2, 1, 4, 5), f(3, 5, 2)], lambda a, b: opset1.matmul(a, b, False, False))
    attempt("matmul vector left", [f(5), f(2, 5, 3)], lambda a, b: opset1.matmul(a, b, False, False))
    attempt("matmul vector right", [f(2, 3, 5), f(5)], lambda a, b: opset1.matmul(a, b, False, False))
    attempt("matmul vectors", [f(5), f(5)], lambda a, b: opset1.matmul(a, b, False, False))
    q, k, v = f(2, 3, 4, 8), f(2, 3, 6, 8), f(2, 3, 6, 5)
    attempt("attention", [q, k, v], lambda a, b, c: opset13.scaled_dot_product_attention(a, b, c))
    attempt("attention mask", [q, k, v, f(4, 6)], lambda a, b, c, m: opset13.scaled_dot_product_attention(a, b, c, m))
    attempt("attention causal", [q, f(2, 3, 4, 8), f(2, 3, 4, 5)], lambda a, b, c: opset13.scaled_dot_product_attention(a, b, c, causal=True))
    attempt("attention scale", [q, k, v, f(2, 1, 4, 6), np.array(0.3, F)], lambda a, b, c, m, s: opset13.scaled_dot_product_attention(a, b, c, m, s), constants=(4,))
    attempt("lstm cell", [f(2, 4), f(2, 3), f(2, 3), f(12, 4), f(12, 3), f(12)], lambda x, h, c, w, r, b: opset4.lstm_cell(x, h, c, w, r, b, 3), constants=(3, 4, 5))
    for before in [False, True]:
        attempt(f"gru cell {before}", [f(2, 4), f(2, 3), f(9, 4), f(9, 3), f(12 if before else 9)], lambda x, h, w, r, b, before=before: opset3.gru_cell(x, h, w, r, b, 3, linear_before_reset=before), constants=(2, 3, 4))
    attempt("fake quantize", [x * 2, np.array(-1, F), np.array(2, F), np.array(-0.5, F), np.array(1.5, F)], lambda a, b, c, d, e: opset1.fake_quantize(a, b, c, d, e, 16), constants=(1, 2, 3, 4))
    attempt("fake quantize channels", [x * 2, f(1, 3, 1, 1, low=-2, high=-1), f(1, 3, 1, 1, low=1, high=2), f(1, 3, 1, 1, low=-2, high=-1), f(1, 3, 1, 1, low=1, high=2)],
            lambda a, b, c, d, e: opset1.fake_quantize(a, b, c, d, e, 256), constants=(1, 2, 3, 4))
    attempt("one hot", [i(2, 3, low=0, high=4), np.array(4, np.int64), np.array(2.5, F), np.array(-1, F)], lambda a, b, c, d: opset1.one_hot(a, b, c, d, 1), constants=(1, 2, 3))
    attempt("range", [np.array(2, np.int64), np.array(11, np.int64), np.array(3, np.int64)], lambda a, b, c: opset4.range(a, b, c, "i64"), constants=(0, 1, 2))
    attempt("range f32", [np.array(1.5, F), np.array(-3, F), np.array(-0.5, F)], lambda a, b, c: opset4.range(a, b, c, "f32"))
    attempt("eye", [np.array(3, np.int64), np.array(4, np.int64), np.array(1, np.int64)], lambda a, b, c: opset9.eye(a, b, c, "f32"), constants=(0, 1, 2))


def interpolate_4(image, sizes, scales, axes, attributes):
    from openvino.utils.node_factory import NodeFactory
    return NodeFactory("opset4").create("Interpolate", [image.output(0), sizes.output(0), scales.output(0), axes.output(0)], attributes)


def resizes():
    x = f(1, 2, 5, 7)
    c = lambda *v: np.array(v, np.int64)
    transforms = ["half_pixel", "pytorch_half_pixel", "asymmetric", "tf_half_pixel_for_nn", "align_corners"]
    for size in [(9, 11), (3, 4), (5, 1)]:
        for transform in transforms:
            for nearest in ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil", "simple"]:
                attempt(f"interpolate 11 nearest {size} {transform} {nearest}", [x, c(*size), c(2, 3)],
                        lambda a, b, d, t=transform, n=nearest: opset11.interpolate(a, b, "nearest", "sizes", axes=d, coordinate_transformation_mode=t, nearest_mode=n), constants=(1, 2))
            for mode in ["linear_onnx", "cubic", "linear"]:
                attempt(f"interpolate 11 {mode} {size} {transform}", [x, c(*size), c(2, 3)],
                        lambda a, b, d, t=transform, m=mode: opset11.interpolate(a, b, m, "sizes", axes=d, coordinate_transformation_mode=t), constants=(1, 2))
    for mode in ["nearest", "linear_onnx", "cubic", "linear"]:
        for scale in [(2.0, 1.5), (0.6, 0.5)]:
            attempt(f"interpolate 4 {mode} {scale}", [x, c(10, 10), np.array(scale, F), c(2, 3)],
                    lambda a, b, s, d, m=mode: interpolate_4(a, b, s, d, {"mode": m, "shape_calculation_mode": "scales", "coordinate_transformation_mode": "asymmetric"}),
                    constants=(1, 2, 3))
    attempt("interpolate 11 scales", [x, np.array([2, 2], F), c(2, 3)], lambda a, b, d: opset11.interpolate(a, b, "nearest", "scales", axes=d, coordinate_transformation_mode="asymmetric", nearest_mode="floor"), constants=(1, 2))
    attempt("interpolate 11 pads", [x, c(9, 8), c(2, 3)], lambda a, b, d: opset11.interpolate(a, b, "linear_onnx", "sizes", [0, 0, 1, 0], [0, 0, 2, 1], axes=d), constants=(1, 2))
    for mode in ["bilinear_pillow", "bicubic_pillow"]:
        for size in [(9, 11), (3, 4)]:
            attempt(f"interpolate 11 {mode} {size}", [x, c(*size), c(2, 3)], lambda a, b, d, m=mode: opset11.interpolate(a, b, m, "sizes", axes=d, cube_coeff=-0.5), constants=(1, 2))
    attempt("interpolate 1", [x, c(10, 14)], lambda a, b: opset1.interpolate(a, b, {"axes": [2, 3], "mode": "nearest", "align_corners": False}), constants=(1,))


def colours():
    u = lambda *shape: rng.integers(0, 256, shape).astype(np.uint8)
    for name in ["nv12_to_rgb", "nv12_to_bgr", "i420_to_rgb", "i420_to_bgr"]:
        fn = getattr(opset8, name)
        for make, kind in [(u, "u8"), (lambda *shape: rng.uniform(0, 255, shape).astype(F), "f32")]:
            attempt(f"{name} one plane {kind}", [make(2, 12, 10, 1)], fn)
            chroma = [make(2, 4, 5, 2)] if "nv12" in name else [make(2, 4, 5, 1), make(2, 4, 5, 1)]
            attempt(f"{name} planes {kind}", [make(2, 8, 10, 1)] + chroma, fn)


def detections():
    boxes = np.sort(rng.uniform(0, 1, (1, 20, 2, 2)), axis=2).reshape(1, 20, 4).astype(F)
    scores = f(1, 2, 20, low=0, high=1)
    attempt("nms", [boxes, scores, np.array(5, np.int64), np.array(0.3, F), np.array(0.2, F)],
            lambda a, b, c, d, e: opset9.non_max_suppression(a, b, c, d, e, box_encoding="corner", sort_result_descending=True), constants=(2, 3, 4))


def recurrent():
    for direction in ["forward", "reverse", "bidirectional"]:
        d = 2 if direction == "bidirectional" else 1
        x, lengths = f(3, 5, 4), np.array([5, 2, 4], np.int32)
        attempt(f"lstm sequence {direction}", [x, f(3, d, 6), f(3, d, 6), lengths, f(d, 24, 4), f(d, 24, 6), f(d, 24)],
                lambda x, h, c, n, w, r, b, k=direction: opset5.lstm_sequence(x, h, c, n, w, r, b, 6, k), constants=(4, 5, 6))
        attempt(f"rnn sequence {direction}", [x, f(3, d, 6), lengths, f(d, 6, 4), f(d, 6, 6), f(d, 6)],
                lambda x, h, n, w, r, b, k=direction: opset5.rnn_sequence(x, h, n, w, r, b, 6, k), constants=(3, 4, 5))
        for before in [False, True]:
            attempt(f"gru sequence {direction} {before}", [x, f(3, d, 6), lengths, f(d, 18, 4), f(d, 18, 6), f(d, 24 if before else 18)],
                    lambda x, h, n, w, r, b, k=direction, before=before: opset5.gru_sequence(x, h, n, w, r, b, 6, k, linear_before_reset=before), constants=(3, 4, 5))
    attempt("rnn cell", [f(2, 4), f(2, 3), f(3, 4), f(3, 3), f(3)], lambda x, h, w, r, b: opset3.rnn_cell(x, h, w, r, b, 3, ["relu"], [], []), constants=(2, 3, 4))
    attempt("lstm cell clipped", [f(2, 4), f(2, 3), f(2, 3), f(12, 4), f(12, 3), f(12)],
            lambda x, h, c, w, r, b: opset4.lstm_cell(x, h, c, w, r, b, 3, ["sigmoid", "tanh", "tanh"], [], [], 0.5), constants=(3, 4, 5))


def sampled():
    x = f(2, 3, 9, 11)
    rois = np.array([[0.5, 1.2, 6, 7.5], [-2, -1, 3, 4], [4, 2, 12, 10], [3, 3, 3.2, 3.1]], F)
    batches = np.array([0, 1, 1, 0], np.int64)
    for mode in ["avg", "max"]:
        for ratio in [0, 2]:
            attempt(f"roi align 3 {mode} {ratio}", [x, rois, batches], lambda a, b, c, m=mode, r=ratio: opset3.roi_align(a, b, c, 3, 2, r, 0.9, m))
        for aligned in ["asymmetric", "half_pixel_for_nn", "half_pixel"]:
            attempt(f"roi align 9 {mode} {aligned}", [x, rois, batches], lambda a, b, c, m=mode, k=aligned: opset9.roi_align(a, b, c, 3, 2, 2, 0.9, m, k))
    for pad in [False, True]:
        attempt(f"deformable convolution 8 {pad}", [f(1, 4, 7, 6), f(1, 2 * 18, 4, 3), f(6, 2, 3, 3), f(1, 18, 4, 3, low=0, high=1)],
                lambda a, o, w, m, p=pad: opset8.deformable_convolution(a, o, w, [2, 2], [1, 1], [1, 1], [1, 1], m, "EXPLICIT", 2, 2, p))
    attempt("deformable convolution 1", [f(1, 2, 7, 6), f(1, 18, 7, 6), f(3, 2, 3, 3)],
            lambda a, o, w: opset1.deformable_convolution(a, o, w, [1, 1], [1, 1], [1, 1], [1, 1]))
    attempt("col2im", [f(2, 12, 20), np.array([6, 7], np.int64), np.array([2, 2], np.int64)],
            lambda a, b, c: opset15.col2im(a, b, c, strides=[1, 2], dilations=[1, 1], pads_begin=[0, 1], pads_end=[0, 1]), constants=(1, 2))
    repeated = np.array([[3, 1, 3], [2, 1, 2], [3, 1, 3]], np.int64)
    for ordered in [False, True]:
        attempt(f"unique {ordered}", [repeated], lambda a, s=ordered: raw("opset10", "Unique", [a], {"sorted": s}))
        attempt(f"unique rows {ordered}", [repeated, np.array(0, np.int64)], lambda a, b, s=ordered: raw("opset10", "Unique", [a, b], {"sorted": s}), constants=(1,))


def single_shot():
    grid, picture = np.array([3, 4], np.int64), np.array([96, 128], np.int64)
    for label, attributes in {"all sizes": dict(min_size=[20.0, 30.0], max_size=[40.0, 50.0], aspect_ratio=[2.0, 3.0], flip=True, clip=True, variance=[0.1, 0.1, 0.2, 0.2], step=0.0, offset=0.5),
                              "one scale": dict(min_size=[0.2], aspect_ratio=[2.0], flip=True, step=-1.0, offset=0.5, scale_all_sizes=False, variance=[0.1]),
                              "fixed": dict(fixed_size=[32.0, 48.0], density=[2.0, 1.0], aspect_ratio=[], step=16.0, offset=0.5, variance=[0.1]),
                              "fixed ratios": dict(fixed_size=[32.0], fixed_ratio=[0.5], density=[2.0], step=16.0, offset=0.5)}.items():
        attempt("prior box " + label, [grid, picture], lambda a, b, k=attributes: raw("opset1", "PriorBox", [a, b], k), constants=(0, 1))
    attempt("prior box 8", [grid, picture], lambda a, b: raw("opset8", "PriorBox", [a, b], dict(min_size=[20.0], max_size=[40.0], aspect_ratio=[2.0], flip=True, offset=0.5, min_max_aspect_ratios_order=False)),
            constants=(0, 1))
    attempt("prior box clustered", [grid, picture], lambda a, b: raw("opset1", "PriorBoxClustered", [a, b], dict(width=[20.0, 40.0], height=[30.0, 10.0], step_w=16.0, step_h=32.0, offset=0.5, clip=True,
            variance=[0.1, 0.1, 0.2, 0.2])), constants=(0, 1))
    priors = np.sort(rng.uniform(0, 1, (1, 2, 12, 2, 2)), axis=3).reshape(1, 2, 48).astype(F)
    priors[:, 1] = np.tile(np.array([0.1, 0.1, 0.2, 0.2], F), 12)
    scores = rng.permutation(2 * 12 * 3).reshape(2, 36).astype(F) / 72
    for label, more in {"corner": {}, "centre": dict(code_type="caffe.PriorBoxParameter.CENTER_SIZE"), "kept": dict(keep_top_k=[4]), "clipped": dict(clip_after_nms=True, clip_before_nms=True)}.items():
        attributes = dict(background_label_id=0, top_k=10, keep_top_k=[20], share_location=True, nms_threshold=0.45, confidence_threshold=0.3, normalized=True) | more
        attempt("detection output 8 " + label, [f(2, 48), scores, priors], lambda a, b, c, k=attributes: raw("opset8", "DetectionOutput", [a, b, c], k))
        attempt("detection output 1 " + label, [f(2, 48), scores, priors], lambda a, b, c, k=attributes: raw("opset1", "DetectionOutput", [a, b, c], dict(num_classes=3) | k))
    attempt("detection output own boxes", [f(2, 144), scores, priors], lambda a, b, c: raw("opset8", "DetectionOutput", [a, b, c], dict(top_k=10, keep_top_k=[20], share_location=False, nms_threshold=0.45,
            confidence_threshold=0.3, normalized=True)))
    attempt("region yolo softmax", [f(2, 18, 3, 4)], lambda a: raw("opset1", "RegionYolo", [a], dict(coords=4, classes=4, num=2, do_softmax=True, mask=[], axis=1, end_axis=3, anchors=[])))
    attempt("region yolo", [f(2, 27, 3, 4)], lambda a: raw("opset1", "RegionYolo", [a], dict(coords=4, classes=4, num=9, do_softmax=False, mask=[0, 1, 2], axis=1, end_axis=3, anchors=[])))
    attempt("reorg yolo", [f(2, 8, 4, 6)], lambda a: __import__("openvino").opset2.reorg_yolo(a, [2]))


def small_floats():
    """Conversions from all codes of the real types of 4 and 8 bits, and to them; NumPy has no such types."""
    # The plugin rounds to f16 on its way to f8e5m2, so all of these are f16. Beyond a type's range its kernels differ among themselves.
    values = np.concatenate([f(60, low=-7, high=7), f(40, low=-440, high=440), f(20, low=-1e-2, high=1e-2), np.array([0, -0.0, 448, 0.25, 2.5, 3.5, 5, -5], F)])
    values = values.astype(np.float16).astype(F)
    for kind in [ov.Type.f8e4m3, ov.Type.f8e5m2, ov.Type.f8e8m0, ov.Type.f4e2m1, ov.Type.nf4]:
        name, short = kind.to_string(), {"nfloat4": "nf4"}.get(kind.to_string(), kind.to_string())
        few = short in ("f4e2m1", "nf4")
        codes = np.array([i * 2 | (i * 2 + 1) << 4 for i in range(8)] if few else range(256), np.uint8)
        count = 16 if few else 256
        coded = ov.Tensor(kind, [count])
        coded.data[:] = codes.view(coded.data.dtype).reshape(coded.data.shape)
        for label, given, shape, source, target in (("from", coded, [count], kind, ov.Type.f32), ("to", values, list(values.shape), ov.Type.f32, kind)):
            parameter = opset1.parameter(shape, source)
            compiled = core.compile_model(ov.Model([opset1.convert(parameter, target)], [parameter], "m"), "CPU")
            request = compiled.create_infer_request()
            request.infer([given])
            made = request.get_output_tensor()
            number, lines = len(index), [f"case convert {label} {short}", "node Convert 1 1e-6", f"attribute destination_type={short if label == 'to' else 'f32'}"]
            for word, tensor, type_name in (("input", given, "f32" if label == "to" else short), ("output", made, short if label == "to" else "f32")):
                data = np.asarray(tensor.data if isinstance(tensor, ov.Tensor) else tensor)
                data.tofile(os.path.join(OUT, f"{number}_{word}.bin"))
                lines.append(f"{word} {type_name} {','.join(map(str, shape))} {number}_{word}.bin")
            index.append("\n".join(lines))


for group in [*GROUPS, small_floats, unary, binary, convolution, pooling, shapes, gathers, reductions, normalisations, resizes, colours, detections, recurrent, sampled, single_shot]:
    group()
with open(os.path.join(OUT, "index.txt"), "w") as out:
    out.write("\n".join(index) + "\n")
print(f"{len(index)} cases")
