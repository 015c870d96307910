#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ONNX Runtime 1.32.0, CPU: LogSoftmax of f64 gives finite, positive "logarithms of probabilities" (45.05 and 46.05) beside a NaN that is
# not first in its line; the NaN itself stays. With the NaN first, in f32, and by Softmax the whole line is NaN.
# Guess before the run: the whole line is NaN in each case.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper


def run(operation, numbers, dtype):
    x = np.array([numbers], dtype)
    element = TensorProto.DOUBLE if dtype is np.float64 else TensorProto.FLOAT
    ends = [helper.make_tensor_value_info(name, element, x.shape) for name in "xy"]
    graph = helper.make_graph([helper.make_node(operation, ["x"], ["y"], axis=1)], "g", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0][0]


nan = np.nan
for numbers in ([1, 2, nan], [1, nan, 2], [nan, 1, 2]):
    print(numbers, "LogSoftmax f64:", run("LogSoftmax", numbers, np.float64), "f32:", run("LogSoftmax", numbers, np.float32))
    assert np.isnan(run("LogSoftmax", numbers, np.float32)).all() and np.isnan(run("Softmax", numbers, np.float64)).all()
assert np.allclose(run("LogSoftmax", [1, 2, nan], np.float64), [45.0517, 46.0517, nan], atol=1e-3, equal_nan=True)
assert np.allclose(run("LogSoftmax", [1, nan, 2], np.float64), [45.0517, nan, 46.0517], atol=1e-3, equal_nan=True)
assert np.isnan(run("LogSoftmax", [nan, 1, 2], np.float64)).all()
PYTHON
