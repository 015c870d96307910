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
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

RANDOM = np.random.default_rng(13)
CASES = {}


def case(name, nodes, inputs, constants=None, opset=21, outputs=("y",), sparse=(), microsoft=False, is_open=False):
    """@param inputs, constants  arrays by name; the model's inputs have their shapes, or with is_open (vectors apart) their ranks only."""
    assert name not in CASES
    CASES[name] = (nodes, inputs, constants or {}, opset, outputs, sparse, microsoft, is_open)


def node(kind, inputs, outputs="y", **attributes):
    split = lambda names: names.split() if isinstance(names, str) else names
    return helper.make_node(kind, [n if n != "-" else "" for n in split(inputs)], split(outputs), **attributes)


def reals(*shape, scale=1.0):
    return (RANDOM.standard_normal(shape) * scale).astype(np.float32)


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


def write(folder, nodes, inputs, constants, opset, outputs, sparse, microsoft, is_open):
    values = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), [None] * a.ndim if is_open and a.ndim > 1 else a.shape)
              for n, a in inputs.items()]
    results = [onnx.ValueInfoProto(name=n) for n in outputs]
    graph = helper.make_graph(nodes, "case", values, results, [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()],
                              sparse_initializer=list(sparse))
    domains = [helper.make_opsetid("", opset)] + ([helper.make_opsetid("com.microsoft", 1)] if microsoft else [])
    model = helper.make_model(graph, opset_imports=domains, ir_version=10)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    made = session.run(list(outputs), inputs)
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
    for group in (resizes, quantisation, recurrences, forms):
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
