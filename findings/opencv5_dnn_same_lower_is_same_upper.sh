#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenCV 5.0.0 (opencv-python-headless 5.0.0.93): ONNX's auto_pad SAME_LOWER of MaxPool, AveragePool and Conv is computed as SAME_UPPER:
# where the padding is odd, its extra row and column go to the end, not to the beginning, so that each feature moves by one pixel. No
# warning.
# Guess before the run: SAME_LOWER pads at the beginning, as ONNX says and ONNX Runtime does, or is refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
  opencv-python-headless==5.0.0.93 onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import cv2
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper


def run(operation, inputs, constants=(), opset=21, outputs=("y",), names=None, **attributes):
    """One ONNX node on ONNX Runtime and on OpenCV: the outputs of both."""
    def model(shapes):
        graph = helper.make_graph(
            [helper.make_node(operation, names or [*inputs, *dict(constants)], list(outputs), **attributes)], "g",
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in inputs.items()],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in zip(outputs, shapes)],
            [numpy_helper.from_array(value, name) for name, value in dict(constants).items()])
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10).SerializeToString()

    right = ort.InferenceSession(model([None] * len(outputs)), providers=["CPUExecutionProvider"]).run(None, inputs)
    net = cv2.dnn.readNetFromONNX(np.frombuffer(model([value.shape for value in right]), np.uint8))
    for name, value in inputs.items():
        net.setInput(value, name)
    return right, list(net.forward(list(outputs)))


random = np.random.default_rng(1)
x = {"x": random.standard_normal((1, 1, 6, 6)).astype(np.float32)}
weights = {"w": random.standard_normal((1, 1, 2, 2)).astype(np.float32)}
for operation, constants, attributes in (("MaxPool", {}, {"kernel_shape": [2, 2]}), ("AveragePool", {}, {"kernel_shape": [2, 2]}),
                                         ("Conv", weights, {})):
    lower, lower_found = run(operation, x, constants, auto_pad="SAME_LOWER", **attributes)
    upper, upper_found = run(operation, x, constants, auto_pad="SAME_UPPER", **attributes)
    off, same = np.abs(lower[0] - lower_found[0]).max(), np.abs(lower_found[0] - upper[0]).max()
    print(f"{operation}: SAME_LOWER is off by up to {off:.3f}, and from the right answer to SAME_UPPER by {same:.1e}")
    assert off > 0.5 and same < 1e-5 and np.abs(upper_found[0] - upper[0]).max() < 1e-5
PYTHON
