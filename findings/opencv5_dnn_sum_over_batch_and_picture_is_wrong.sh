#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenCV 5.0.0 (opencv-python-headless 5.0.0.93): ONNX's ReduceSum, ReduceMean, ReduceMax and ReduceL2 of a tensor of four axes over three
# of them, axis 0 among them, as (0, 2, 3) for the statistics of each channel, are silently wrong once axis 0 has three or more elements: of
# three pictures the second is counted twice and the third not at all. Over one or two axes, over (1, 2, 3) and over all four they are
# right.
# Guess before the run: sums over any axes are those of ONNX Runtime and numpy up to rounding.
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


x = np.arange(24, dtype=np.float32).reshape(3, 2, 2, 2)
theirs, found = run("ReduceSum", {"x": x}, {"axes": np.array([0, 2, 3])}, opset=18)
print("sums of each channel of 3 pictures: ONNX Runtime", theirs[0].ravel(), "OpenCV", found[0].ravel())
assert theirs[0].ravel().tolist() == x.sum((0, 2, 3)).tolist() == [114, 162]
assert found[0].ravel().tolist() == (x[0] + 2 * x[1]).sum((1, 2)).tolist() == [82, 130]

x = np.sort(np.random.default_rng(1).standard_normal(360).astype(np.float32)).reshape(4, 3, 5, 6)
for operation in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceL2"):
    wrong = []
    for axes in ([0], [1], [0, 1], [0, 2], [0, 3], [1, 3], [2, 3], [1, 2, 3], [0, 1, 2, 3], [0, 1, 2], [0, 1, 3], [0, 2, 3]):
        theirs, found = run(operation, {"x": x}, {"axes": np.array(axes)}, opset=18)
        if not np.allclose(theirs[0], found[0], atol=1e-4):
            wrong.append(axes)
    print(operation, "is wrong over the axes", wrong)
    assert wrong == [[0, 1, 2], [0, 1, 3], [0, 2, 3]]
for pictures in range(1, 5):
    theirs, found = run("ReduceSum", {"x": x[:pictures]}, {"axes": np.array([0, 2, 3])}, opset=18)
    assert np.allclose(theirs[0], found[0], atol=1e-4) == (pictures < 3)
PYTHON
