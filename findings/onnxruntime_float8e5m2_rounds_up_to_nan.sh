#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ONNX Runtime 1.32.0, CPU: Cast to FLOAT8E5M2 without saturation gives NaN for numbers from 61440 (half way from the largest finite value,
# 57344, to 65536) to below 65536. From 65536 on it gives infinity. ml_dtypes 0.6.0 gives infinity for all of them.
# Guess before the run: what rounds beyond the largest finite value is infinity, since the type has one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6 ml_dtypes==0.6.0
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


x = np.array([57344, 61439, 61440, 65000, 65535, 65536, 1e6], np.float32)
theirs = cast_and_back(x, TensorProto.FLOAT8E5M2, saturate=0)
import ml_dtypes
other = x.astype(ml_dtypes.float8_e5m2).astype(np.float32)
print("numbers:     ", x.tolist())
print("ONNX Runtime:", theirs.tolist())
print("ml_dtypes:   ", other.tolist())
assert np.array_equal(theirs, np.float32([57344, 57344, np.nan, np.nan, np.nan, np.inf, np.inf]), equal_nan=True)
assert np.array_equal(other, np.float32([57344, 57344, np.inf, np.inf, np.inf, np.inf, np.inf]))
PYTHON
