#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ONNX Runtime 1.32.0, CPU: the largest element of a row with a NaN is the NaN for TopK, and the largest number for ArgMax.
# Guess before the run: the two agree; numpy.argmax gives the NaN.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper


def run(node, inputs, outputs, **values):
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs],
                              [helper.make_tensor_value_info(n, t, s) for n, t, s in outputs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, values)


x = np.array([1, np.nan, 3, 2], np.float32)
index, = run(helper.make_node("ArgMax", ["x"], ["y"], keepdims=0), [("x", TensorProto.FLOAT, [4])], [("y", TensorProto.INT64, [])], x=x)
values, indices = run(helper.make_node("TopK", ["x", "k"], ["v", "i"]), [("x", TensorProto.FLOAT, [4]), ("k", TensorProto.INT64, [1])],
                      [("v", TensorProto.FLOAT, [1]), ("i", TensorProto.INT64, [1])], x=x, k=np.array([1]))
print("ArgMax:", index, "TopK:", values, indices, "numpy.argmax:", np.argmax(x))
assert index == 2 and indices.tolist() == [1] and np.isnan(values[0]) and np.argmax(x) == 1
PYTHON
