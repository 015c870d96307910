#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ONNX Runtime 1.32.0, CPU: Cast from f32 to INT4 rounds halves away from zero, Cast to INT8 cuts the fraction off. Beyond the range both
# keep the low bits. onnx.reference cuts the fraction off for both.
# Guess before the run: a cast of 2.7 to an integer is 2, whatever the integer's width.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
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


from onnx.reference import ReferenceEvaluator

x = np.array([0.75, 2.5, 3.5, -0.5, -1.75, 6.9], np.float32)
four, eight = cast_and_back(x, TensorProto.INT4), cast_and_back(x, TensorProto.INT8)
node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.INT4)
graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                          [helper.make_tensor_value_info("y", TensorProto.INT4, x.shape)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)])
reference = ReferenceEvaluator(model).run(None, {"x": x})[0].astype(np.float32)
print("numbers:       ", x.tolist())
print("INT4:          ", four.tolist())
print("INT8:          ", eight.tolist())
print("onnx.reference:", reference.tolist())
assert four.tolist() == [1, 3, 4, -1, -2, 7]
assert eight.tolist() == [0, 2, 3, 0, -1, 6]
assert reference.tolist() == eight.tolist()
PYTHON
