#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small ONNX models as today's exporters and quantisers write them, in folders like those of ONNX's node tests: functions of the model, bodies
that read names from outside, the patterns of torch.onnx, and forms of operators that only some operation sets have. Each has known and open
extents. Expected values come from ONNX Runtime without optimisations. backend_tests runs them.

usage: onnx_export_cases.py --out DIR
"""
import argparse
import shutil
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper
from onnx_form_cases import by_runtime, ints, node

RANDOM = np.random.default_rng(7)
CASES = {}
FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
LAST = np.iinfo(np.int64).max


def reals(*shape, scale=1.0):
    return (RANDOM.standard_normal(shape) * scale).astype(np.float32)


def case(name, nodes, inputs, constants=None, outputs=("y",), functions=(), opset=21, forms=("known", "open")):
    """@param inputs, constants  arrays by name."""
    for form in forms:
        assert f"{name}_{form}" not in CASES, name
        nodes = nodes if isinstance(nodes, list) else [nodes]
        CASES[f"{name}_{form}"] = (nodes, inputs, constants or {}, outputs, functions, opset, form)


def own(kind, inputs, outputs="y", overload="", **attributes):
    """A call of a function of the model."""
    made = node(kind, inputs, outputs, domain="own", **attributes)
    made.overload = overload
    return made


def referring(made, attribute, name, kind):
    """The node, with an attribute that is the function's attribute `name`."""
    made.attribute.add(name=attribute, ref_attr_name=name, type=kind)
    return made


def function(name, inputs, outputs, nodes, attributes=(), defaults=(), overload="", uses=()):
    sets = [helper.make_opsetid("", 21)] + [helper.make_opsetid(domain, 1) for domain in uses]
    made = helper.make_function("own", name, inputs.split(), outputs.split(), nodes, sets, list(attributes))
    made.attribute_proto.extend(defaults)
    made.overload = overload
    return made


def value(name, kind=FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def body(nodes, inputs, outputs, constants=None):
    return helper.make_graph(nodes, "body", inputs, outputs, [numpy_helper.from_array(np.asarray(a), n) for n, a in (constants or {}).items()])


def branches(condition, outputs, then, otherwise):
    return helper.make_node("If", [condition], outputs.split(), then_branch=then, else_branch=otherwise)


def single(kind, inputs, **attributes):
    """A branch of one node."""
    return body([node(kind, inputs, "o", **attributes)], [], [value("o")])


def functions():
    x = reals(3, 4)
    square = function("Square", "a", "b", [node("Mul", "a a", "b")])
    leak_node = lambda: [referring(node("LeakyRelu", "a", "b"), "alpha", "slope", AttributeProto.FLOAT)]
    leak = function("Leak", "a", "b", leak_node(), ["slope"])
    with_default = function("Leak", "a", "b", leak_node(), defaults=[helper.make_attribute("slope", 0.4)])
    case("function", own("Square", "x"), {"x": x}, functions=[square])
    case("function_twice", [own("Square", "x", "t"), own("Square", "t")], {"x": x}, functions=[square])
    case("function_attribute", own("Leak", "x", slope=0.3), {"x": x}, functions=[leak])
    case("function_attribute_absent", own("Leak", "x"), {"x": x}, functions=[leak])
    case("function_attribute_default", own("Leak", "x"), {"x": x}, functions=[with_default])
    case("function_attribute_over_default", own("Leak", "x", slope=0.1), {"x": x}, functions=[with_default])
    nested = function("Both", "a", "b", [referring(own("Leak", "a", "t"), "slope", "s", AttributeProto.FLOAT), own("Square", "t", "b")], ["s"], uses=["own"])
    case("function_nested", own("Both", "x", s=0.7), {"x": x}, functions=[leak, square, nested])
    for label, attribute, kind, given, inner in (
            ("float", "value_float", AttributeProto.FLOAT, 2.5, node("Add", "a c", "b")), ("ints", "value_ints", AttributeProto.INTS, [2, -1], node("Reshape", "a c", "b")),
            ("tensor", "value", AttributeProto.TENSOR, numpy_helper.from_array(reals(4)), node("Add", "a c", "b"))):
        made = function("With", "a", "b", [referring(node("Constant", "", "c"), attribute, "v", kind), inner], ["v"])
        case(f"function_constant_of_{label}", own("With", "x", v=given), {"x": x}, functions=[made])
    for label, inner, attribute, kind, given in (
            ("axis", node("Softmax", "a", "b"), "axis", AttributeProto.INT, 0), ("order", node("Transpose", "a", "b"), "perm", AttributeProto.INTS, [1, 0]),
            ("type", node("Cast", "a", "b"), "to", AttributeProto.INT, TensorProto.INT32), ("text", node("Gelu", "a", "b"), "approximate", AttributeProto.STRING, "tanh")):
        case(f"function_of_{label}", own("Of", "x", q=given), {"x": x}, functions=[function("Of", "a", "b", [referring(inner, attribute, "q", kind)], ["q"])])
    limited = function("Limited", "a low high", "b", [node("Clip", "a low high", "b")])
    case("function_input_absent", own("Limited", "x - h"), {"x": x, "h": np.array(0.5, np.float32)}, functions=[limited])
    case("function_inputs_left_out", own("Limited", "x"), {"x": x}, functions=[limited])
    case("function_second_output", own("Two", "x", "- y"), {"x": x}, functions=[function("Two", "a", "b c", [node("Neg", "a", "b"), node("Abs", "a", "c")])])
    case("function_named_as_an_operator", [own("Relu", "x", "t"), node("Relu", "t")], {"x": x}, functions=[function("Relu", "a", "b", [node("Neg", "a", "b")])])
    clash = function("Clash", "x", "y", [node("Neg", "x", "t"), node("Add", "t x", "t2"), node("Exp", "t2", "y")])
    case("function_of_equal_names", [node("Abs", "x", "t"), own("Clash", "t", "t2"), node("Add", "t2 t")], {"x": x}, functions=[clash])
    overloads = [function("F", "a", "b", [node("Neg", "a", "b")], overload="neg"), function("F", "a", "b", [node("Abs", "a", "b")], overload="abs")]
    case("function_overloads", [own("F", "x", "t", "neg"), own("F", "t", "y", "abs"), own("F", "t", "z", "neg")], {"x": x}, outputs=("y", "z"), functions=overloads)
    either = lambda then: [branches("c", "b", then, single("Neg", "a"))]
    chosen = function("Chosen", "c a", "b", either(body(
        [referring(node("LeakyRelu", "a", "o"), "alpha", "s", AttributeProto.FLOAT)], [], [value("o")])), ["s"])
    clipped = function("Clipped", "c a low high", "b", either(single("Clip", "a low high")))
    for condition in (True, False):
        flag = {"c": np.array(condition)}
        case(f"function_branch_{condition}", own("Chosen", "c x", s=0.2), flag | {"x": x}, functions=[chosen])
        case(f"function_branch_of_absent_input_{condition}", own("Clipped", "c x - h"), flag | {"x": x, "h": np.array(0.5, np.float32)}, functions=[clipped])
    called = body([own("Square", "a", "o")], [], [value("o")])
    case("function_called_in_a_branch", [node("Relu", "x", "a"), branches("c", "y", called, single("Identity", "a"))], {"x": x, "c": np.array(True)},
         functions=[square])


def bodies():
    x, w = reals(3, 4), {"w": reals(4)}
    steps = [value("i", INT64, []), value("ci", BOOL, [])]
    goes_on = node("Identity", "ci", "co")
    loop = lambda count, condition, states, outputs, made: helper.make_node("Loop", [count, condition] + states.split(), outputs.split(), body=made)
    for c in (True, False):
        flag = {"x": x, "c": np.array(c)}
        case(f"branch_outer_{c}", [node("Relu", "x", "r"), branches("c", "y", single("Add", "r x"), single("Mul", "r w"))], flag, w)
        case(f"branch_shapes_{c}", branches("c", "y", single("Transpose", "x", perm=[1, 0]), single("Identity", "x")), flag)
        case(f"branch_ranks_{c}", branches("c", "y", single("ReduceSum", "x", keepdims=0), single("Identity", "x")), flag)
        case(f"branch_constants_{c}", [branches("c", "k", body([], [], [value("o", FLOAT, [4])], {"o": reals(4)}),
                                                body([node("Constant", "", "o", value_float=2.0)], [], [value("o")])), node("Mul", "x k")], flag)
        for d in (True, False):
            inner = lambda name: branches("d", name, body([node("Add", "x a", "p")], [], [value("p")]), body([node("Mul", "r a", "p")], [], [value("p")]))
            case(f"branch_in_branch_{c}_{d}", [node("Relu", "x", "r"), branches(
                "c", "y", body([node("Abs", "r", "a"), inner("o")], [], [value("o")]), body([node("Exp", "r", "a"), inner("o")], [], [value("o")]))],
                flag | {"d": np.array(d)})
    for n in (0, 1, 5):
        trips = {"n": np.array(n, np.int64), "x": x}
        ends = [value("co", BOOL, []), value("so")]
        case(f"loop_{n}_outer", [node("Relu", "x", "r"), loop("n", "", "x", "y", body([node("Add", "s r", "so"), goes_on], steps + [value("s")], ends))], trips)
        case(f"loop_{n}_grows", loop("n", "", "x", "y", body([node("Concat", "s a", "so", axis=0), goes_on], steps + [value("s")], ends, {"a": reals(1, 4)})), trips)
        case(f"loop_{n}_index", loop("n", "", "x", "y z", body(
            [node("Cast", "i", "f", to=FLOAT), node("Add", "s f", "so"), node("ReduceMax", "so", "sc", keepdims=0), goes_on], steps + [value("s")],
            ends + [value("sc")])), trips, outputs=("y", "z"))
        deeper = loop("i", "", "s", "si", body([node("Mul", "q w", "qo"), node("Identity", "ck", "cl")], [value("k", INT64, []), value("ck", BOOL, []), value("q")],
                                               [value("cl", BOOL, []), value("qo")]))
        case(f"loop_{n}_in_loop", loop("n", "", "x", "y", body([deeper, node("Add", "si x", "so"), goes_on], steps + [value("s")], ends)), trips, w)
    for limit in (-5.0, 3.0, 50.0):
        case(f"while_below_{int(limit)}".replace("-", "m"), loop("m", "c", "s0", "y z", body(
            [node("Add", "s w", "so"), node("ReduceSum", "so", "sc", keepdims=0), node("Less", "sc l", "co")], steps + [value("s")],
            [value("co", BOOL, []), value("so"), value("sc")], {"l": np.array(limit, np.float32)})),
            {"s0": np.zeros((2, 2), np.float32), "c": np.array(True), "m": np.array(4, np.int64)}, {"w": np.ones((2, 2), np.float32)}, ("y", "z"))
    for direction in (0, 1):
        for axis in (0, 1, -1):
            case(f"scan_{direction}_axis{axis}".replace("-", "m"), [node("Relu", "x", "r"), helper.make_node(
                "Scan", ["a", "x"], ["y", "u"], num_scan_inputs=1, scan_input_directions=[direction], scan_input_axes=[axis], scan_output_axes=[axis],
                scan_output_directions=[1 - direction], body=body(
                    [node("ReduceMax", "r", "most", keepdims=0), node("Add", "s e", "t"), node("Add", "t most", "so"), node("Mul", "e so", "o")],
                    [value("s"), value("e")], [value("so"), value("o")]))], {"a": reals(4 if axis == 0 else 3), "x": x}, outputs=("y", "u"))
    # Operation set 8: a batch, each item of which has a length.
    for label, lengths, directions in (("whole", None, [0, 0]), ("backwards", None, [1, 0]), ("lengths", [2, 4, 1], [0, 0]), ("lengths_backwards", [2, 4, 1], [0, 1])):
        item = helper.make_graph([node("Add", "s a", "t"), node("Mul", "t b", "u"), node("Add", "u o", "v")], "body",
                                 [value("s", shape=[2]), value("a", shape=[2]), value("b", shape=[2])], [value("t", shape=[2]), value("v", shape=[2])])
        case(f"scan_of_set_8_{label}", node("Scan", "n x y z" if lengths else "- x y z", "last all", num_scan_inputs=2, directions=directions, body=item),
             ({"n": ints(*lengths)} if lengths else {}) | {"x": reals(3, 2), "y": reals(3, 4, 2), "z": reals(3, 4, 2), "o": reals(2)}, outputs=("last", "all"), opset=8)


def patterns():
    x = reals(2, 3, 4)
    case("view_of_computed_shape", [node("Shape", "x", "b", start=0, end=1), node("Concat", "b m", "s", axis=0), node("Reshape", "x s", allowzero=1)], {"x": x},
         {"m": ints(-1)}, opset=18)
    case("slice_to_the_end", node("Slice", "x s e a t"), {"x": x}, {"s": ints(1), "e": ints(LAST), "a": ints(2), "t": ints(2)}, opset=18)
    case("slice_backwards", node("Slice", "x s e a t"), {"x": x}, {"s": ints(-1), "e": ints(-LAST - 1), "a": ints(1), "t": ints(-1)}, opset=18)
    case("index_put", node("ScatterND", "x i u", reduction="add"), {"x": x, "i": np.array([[0], [0]], np.int64), "u": reals(2, 3, 4)}, opset=18)
    case("causal_mask", [node("Transpose", "x", "xt", perm=[0, 2, 1]), node("MatMul", "x xt", "s"), node("Shape", "x", "n", start=1, end=2),
                         node("Concat", "n n", "nn", axis=0), node("ConstantOfShape", "nn", "m", value=numpy_helper.from_array(np.float32([-3.4028235e38]))),
                         node("Trilu", "m k", "t", upper=1), node("Add", "s t", "sm"), node("Softmax", "sm", axis=-1)], {"x": x}, {"k": np.array(1, np.int64)}, opset=18)
    case("mask_of_nothing", [node("Transpose", "x", "xt", perm=[0, 2, 1]), node("MatMul", "x xt", "s"), node("Where", "m s f", "sm"), node("Softmax", "sm", "p"),
                             node("IsNaN", "p", "none"), node("Where", "none z p")],
         {"x": x, "m": np.array([[True, False, False], [False, False, False], [True, True, True]])},
         {"f": np.array(-np.inf, np.float32), "z": np.array(0, np.float32)}, opset=18)
    case("positions", [node("Shape", "x", "n", start=1, end=2), node("Squeeze", "n", "ns"), node("Range", "z ns o", "r"), node("Unsqueeze", "r a", "ru"),
                       node("Gather", "e ru", "p"), node("Add", "x p")], {"x": x},
         {"z": np.array(0, np.int64), "o": np.array(1, np.int64), "a": ints(0), "e": reals(9, 4)}, opset=18)
    case("masked_places", [node("NonZero", "m", "nz"), node("Transpose", "nz", "t", perm=[1, 0]), node("GatherND", "x t")], {"x": x, "m": np.array(x > 0)}, opset=18)
    case("group_norm", [node("Shape", "x", "sh"), node("Reshape", "x r", "t"), node("InstanceNormalization", "t s z", "u"), node("Reshape", "u sh", "v"),
                        node("Mul", "v w", "q"), node("Add", "q b")], {"x": reals(2, 6, 3, 3)},
         {"r": ints(0, 2, -1), "s": np.ones(2, np.float32), "z": np.zeros(2, np.float32), "w": reals(6, 1, 1), "b": reals(6, 1, 1)}, opset=18)
    case("resize_like", [node("Shape", "z", "t", start=2, end=4), node("Shape", "x", "b", start=0, end=2), node("Concat", "b t", "s", axis=0), node(
        "Resize", "x - - s", mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")], {"x": reals(1, 2, 4, 5), "z": reals(1, 1, 8, 10)}, opset=18)
    # torch.gather takes indices of a part of the data.
    for axis, shape in ((0, (5, 2, 3)), (1, (1, 4, 4)), (2, (2, 1, 7))):
        indices = RANDOM.integers(-2, 2, shape)
        case(f"gather_of_a_part_axis{axis}", node("GatherElements", "x i", axis=axis), {"x": x, "i": indices}, opset=18)
    heads = {"q": reals(2, 4, 3, 8), "k": reals(2, 2, 5, 8), "v": reals(2, 2, 5, 6)}
    case("attention_groups", node("Attention", "q k v m", scale=0.3), heads | {"m": np.array(RANDOM.random((2, 1, 3, 5)) > 0.2)}, opset=23)
    case("attention_groups_capped", node("Attention", "q k v", softcap=2.0), heads, opset=23)


def forms():
    x = reals(2, 3, 5, 6)
    lengths = ints(1, 2, 3)
    for opset in (13, 18, 21):
        case(f"split_of_computed_lengths_of_set_{opset}", node("Split", "x s", "a b c", axis=-1), {"x": x, "s": lengths}, outputs=("a", "b", "c"), opset=opset)
    for opset in (10, 11, 19, 22):
        for counts in (0, 1):
            for pad in ({"auto_pad": "VALID"}, {"pads": [0, 0, 0, 0]}, {"pads": [1, 0, 1, 1]}):
                case(f"average_of_set_{opset}_counts{counts}_{''.join(map(str, list(pad.values())[0]))}", node(
                    "AveragePool", "x", kernel_shape=[2, 3], strides=[2, 2], ceil_mode=1, count_include_pad=counts, **pad), {"x": x}, opset=opset)
    for kind in (np.int8, np.int32, np.int64, np.uint8):
        given = (np.abs(x) if np.dtype(kind).kind == "u" else x) * 4
        for limit, bias in ((0.6, 0.2), (1.0, 2.0), (1.5, -0.7)):
            if np.dtype(kind).kind == "u" and bias > 1:
                continue  # Below 0, the runtime's conversion to unsigned numbers is C's.
            case(f"shrink_{np.dtype(kind).name}_{limit}_{bias}", node("Shrink", "x", lambd=limit, bias=bias), {"x": given.astype(kind)}, opset=9)
    # Per column, as onnxruntime.quantization writes it.
    for kind in (np.int8, np.uint8):
        for transposed in (0, 1):
            for columns in (1, 5):
                # With AVX2 alone ONNX Runtime adds pairs of products in 16 bits, which saturate for larger weights.
                weights = RANDOM.integers(0, 65, (4, 5)).astype(kind)
                own_scale = np.abs(reals(columns)) + np.float32(0.01)
                constants = {"as": np.float32(0.03), "az": np.uint8(120), "b": weights.T.copy() if transposed else weights, "bs": own_scale if columns > 1 else own_scale[0],
                             "bz": RANDOM.integers(0, 9, columns).astype(kind) if columns > 1 else kind(3), "c": RANDOM.integers(-90, 90, 5).astype(np.int32),
                             "ys": np.float32(0.2), "yz": np.uint8(100)}
                constants = {n: np.asarray(a) for n, a in constants.items()}
                for label, rest, alpha in (("real", "", 1.0), ("quantised", " ys yz", 1.0), ("half", "", 0.5)):
                    case(f"gemm_{np.dtype(kind).name}_transposed{transposed}_columns{columns}_{label}", node(
                        "QGemm", f"x as az b bs bz c{rest}", transB=transposed, alpha=alpha, domain="com.microsoft"), {"x": RANDOM.integers(0, 255, (3, 4)).astype(np.uint8)}, constants)
    # Masks of the least number of f32, whose limits as quantised are infinite.
    mask = np.where(RANDOM.random((3, 4)) < 0.3, np.float32(-3.4028235e38), np.float32(0))
    for kind in (np.uint8, np.uint16):
        scale = np.nextafter(np.float32(3.4028235e38) / np.iinfo(kind).max, np.float32(np.inf), dtype=np.float32)
        case(f"quantised_mask_{np.dtype(kind).name}", [node("QuantizeLinear", "m s z", "q"), node("DequantizeLinear", "q s z", "d"), node("Add", "x d", "t"), node("Softmax", "t")],
             {"x": reals(3, 4), "m": mask}, {"s": scale, "z": np.array(np.iinfo(kind).max, kind)})
    # Lengths, or ends and starts, of sequences; where no key counts, all do.
    for label, mask in (("lengths", [4, 2]), ("ends_starts", [4, 3, 2, 1])):
        for causal in (0, 1):
            for filter_value in (-10000.0, -7.0):
                case(f"attention_{label}_causal{causal}_{int(-filter_value)}", node("Attention", "x w b m", num_heads=2, unidirectional=causal, mask_filter_value=filter_value,
                     domain="com.microsoft"), {"x": reals(2, 4, 6), "m": np.array(mask, np.int32)}, {"w": reals(6, 24), "b": reals(24)}, opset=17)
    case("heads_of_lengths", node("MultiHeadAttention", "q k v - m", num_heads=2, domain="com.microsoft"),
         {"q": reals(2, 3, 8), "k": reals(2, 5, 8), "v": reals(2, 5, 8), "m": np.array([5, 2], np.int32)}, opset=17)


def ranks():
    """torch.squeeze of one axis is an If that keeps it where its extent is not 1; then the number of axes is known only when the model runs."""
    squeezed = [node("Shape", "x", "s"), node("Gather", "s one", "n", axis=0), node("Equal", "n one", "c"),
                branches("c", "q", single("Squeeze", "x a"), single("Identity", "x"))]
    constants = {"one": np.array(1, np.int64), "a": ints(1), "g": reals(4), "w": reals(4, 5), "last": ints(-1), "p": ints(2, 1), "k": ints(2),
                 "m": np.array([True, False, True]), "u": np.array(0.05, np.float32), "d": np.array(4, np.int64), "v": reals(2), "l": np.array(-1, np.int64)}
    microsoft = dict(domain="com.microsoft")
    tails = {"gather": [node("ArgMax", "q", "i", axis=-1), node("GatherElements", "q i", axis=-1)],
             "scatter": [node("Shape", "q", "z"), node("ConstantOfShape", "z", "i", value=numpy_helper.from_array(ints(0))),
                         node("ScatterElements", "q i q", axis=-1, reduction="add")],
             "softmax": node("Softmax", "q", axis=-1), "log_softmax": node("LogSoftmax", "q", axis=0), "hardmax": node("Hardmax", "q", axis=-1),
             "flatten": node("Flatten", "q", axis=1), "norm": node("LayerNormalization", "q g", axis=-1), "lp": node("LpNormalization", "q", axis=-1),
             "split": node("Split", "q", "y t", axis=-1, num_outputs=2), "einsum": node("Einsum", "q w", equation="...i,ij->...j"),
             "compress": node("Compress", "q m", axis=-1), "wrapped": node("Pad", "q p - last", mode="wrap"), "largest": node("TopK", "q k", "y t", axis=-1),
             "one_hot": [node("ArgMax", "q", "i", axis=-1, keepdims=0), node("OneHot", "i d v", axis=-1)], "sums": node("CumSum", "q l"),
             "quantised": [node("QuantizeLinear", "q u", "t"), node("DequantizeLinear", "t u")], "skip": node("SkipLayerNormalization", "q q g", **microsoft),
             "places": [node("NonZero", "q", "t"), node("Transpose", "t", "i", perm=[1, 0]), node("GatherND", "q i")],
             "several": [node("Softmax", "q", "t", axis=-1), node("MatMul", "t w", "i"), node("Relu", "i", "j"), node("Where", "c i j", "h"),
                         node("Flatten", "h", axis=-1)]}
    for label, nodes in tails.items():
        nodes = nodes if isinstance(nodes, list) else [nodes]
        for extent in (1, 3):
            read = {"a"}.union(*(each.input for each in squeezed + nodes))
            case(f"squeezed_{label}_{extent}", squeezed + nodes, {"x": reals(2, extent, 4)}, {n: a for n, a in constants.items() if n in read}, opset=18,
                 forms=("open",))
    # Inputs of which a file says nothing but the type.
    for label, nodes in (("softmax", node("Softmax", "x", axis=1)), ("two", node("BatchNormalization", "x g b m v")), ("pool", node("MaxPool", "x", kernel_shape=[2, 2]))):
        case(f"rankless_{label}", nodes, {"x": reals(2, 3, 4, 5)}, {n: np.abs(reals(3)) for n in "gbmv"} if label == "two" else None, opset=17, forms=("rankless",))
    case("rankless_both", node("GatherElements", "x i", axis=-2), {"x": reals(2, 3, 4), "i": RANDOM.integers(-3, 3, (2, 3, 4))}, forms=("rankless",))


GROUPS = (functions, bodies, patterns, forms, ranks)


def write(folder, nodes, inputs, constants, outputs, own_functions, opset, form):
    def model(form):
        shape = {"known": lambda n, a: a.shape, "open": lambda n, a: [f"{n}{i}" for i in range(a.ndim)], "rankless": lambda n, a: None}[form]
        values = [value(n, helper.np_dtype_to_tensor_dtype(a.dtype), shape(n, a)) for n, a in inputs.items()]
        graph = helper.make_graph(nodes, "case", values, [onnx.ValueInfoProto(name=n) for n in outputs],
                                  [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()])
        sets = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=sets, functions=list(own_functions), ir_version=10)

    made = by_runtime(model(form), inputs, outputs)
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model(form), folder / "model.onnx")
    for prefix, arrays in (("input", inputs.values()), ("output", made)):
        for k, array in enumerate(arrays):
            (data / f"{prefix}_{k}.pb").write_bytes(numpy_helper.from_array(np.asarray(array)).SerializeToString())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
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
