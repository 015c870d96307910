#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ONNX Runtime 1.32.0, CPU: MaxPool of a picture of f32 that is -infinity everywhere gives -infinity in the columns whose windows lie within the
# picture, and -3.4028235e+38, the lowest finite number, in the first and last columns, whose windows reach into the padding; rows make no
# difference. One and three axes give -3.4028235e+38 everywhere. f16 and f64 give -infinity everywhere, as the operation's definition does.
# Guess before the run: one answer for all columns.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper


def pooled(dtype, *extents):
    axes = len(extents)
    x = np.full((1, 1, *extents), -np.inf, dtype)
    element = {np.float16: TensorProto.FLOAT16, np.float32: TensorProto.FLOAT, np.float64: TensorProto.DOUBLE}[dtype]
    node = helper.make_node("MaxPool", ["x"], ["y"], kernel_shape=[3] * axes, strides=[1] * axes, pads=[1] * 2 * axes)
    ends = [helper.make_tensor_value_info("x", element, x.shape), helper.make_tensor_value_info("y", element, None)]
    model = helper.make_model(helper.make_graph([node], "g", ends[:1], ends[1:]), opset_imports=[helper.make_opsetid("", 12)], ir_version=8)
    return ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0][0, 0]


lowest = np.finfo(np.float32).min
picture = pooled(np.float32, 4, 5)
print(picture)
assert (picture[:, 1:-1] == -np.inf).all() and (picture[:, [0, -1]] == lowest).all()
assert (pooled(np.float32, 8) == lowest).all() and (pooled(np.float32, 4, 4, 4) == lowest).all()
for dtype in (np.float16, np.float64):
    for extents in ((8,), (4, 5), (4, 4, 4)):
        assert (pooled(dtype, *extents) == -np.inf).all(), (dtype, extents)
PYTHON
