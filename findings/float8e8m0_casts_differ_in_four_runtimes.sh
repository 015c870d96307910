#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Casts of f32 to float8 E8M0 (the scale of microscaling formats: powers of two alone) in ONNX Runtime 1.32.0, onnx.reference 1.23.2,
# ml_dtypes 0.6.0 and OpenVINO 2026.4.1, each with its defaults: no two agree. ONNX rounds up by default; the other two take the nearest
# power, but OpenVINO rounds 0.75 down where ml_dtypes rounds it up. Infinity and zero are NaN, the largest or the least scale.
# Guess before the run: ONNX Runtime and onnx.reference agree, and the others differ in rounding only.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2 openvino==2026.4.1 ml_dtypes==0.6.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper


def cast_and_back(x, to, **attributes):
    """x cast to a type by ONNX Runtime, and cast back to f32."""
    nodes = [helper.make_node("Cast", ["x"], ["small"], to=to, **attributes),
             helper.make_node("Cast", ["small"], ["y"], to=TensorProto.FLOAT)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, x.shape)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)], ir_version=11)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


import ml_dtypes
import openvino as ov
import openvino.opset13 as ops


def openvino_convert(x, to):
    """x converted to a type and back to f32 on OpenVINO's CPU device."""
    p = ops.parameter(list(x.shape), np.float32)
    model = ov.Model([ops.convert(ops.convert(p, to), "f32")], [p])
    return ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([x])[0]


from onnx.reference import ReferenceEvaluator


def reference(x):
    nodes = [helper.make_node("Cast", ["x"], ["small"], to=TensorProto.FLOAT8E8M0),
             helper.make_node("Cast", ["small"], ["y"], to=TensorProto.FLOAT)]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, x.shape)])
    return ReferenceEvaluator(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)])).run(None, {"x": x})[0]


x = np.array([5.0, 0.75, 1.25, np.inf, 0.0], np.float32)
least, largest, nan = 2.0**-127, 2.0**127, np.nan
answers = {"ONNX Runtime": cast_and_back(x, TensorProto.FLOAT8E8M0), "onnx.reference": reference(x),
           "ml_dtypes": x.astype(ml_dtypes.float8_e8m0fnu).astype(np.float32), "OpenVINO": openvino_convert(x, "f8e8m0")}
seen = {"ONNX Runtime": [8, 1, 2, largest, least], "onnx.reference": [8, 1, 2, nan, least],
        "ml_dtypes": [4, 1, 1, nan, nan], "OpenVINO": [4, 0.5, 1, largest, least]}
print(f"{'numbers':15} {x.tolist()}")
for name, found in answers.items():
    print(f"{name:15} {found.tolist()}")
    assert np.array_equal(found, np.float32(seen[name]), equal_nan=True), f"{name} gave {seen[name]}"
PYTHON
