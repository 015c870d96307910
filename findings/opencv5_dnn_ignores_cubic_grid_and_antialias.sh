#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenCV 5.0.0 (opencv-python-headless 5.0.0.93): ONNX's GridSample of mode "cubic" is computed with mode "linear", and Resize with
# antialias=1 as if it were 0. No warning. "bicubic", as opset 16 spells the same mode, is right.
# Guess before the run: either is computed as ONNX says, or the model is refused.
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
x = random.standard_normal((1, 2, 7, 7)).astype(np.float32)
grid = {"x": x, "grid": random.uniform(-0.8, 0.8, (1, 5, 5, 2)).astype(np.float32)}
right, found = run("GridSample", grid, opset=21, mode="cubic")
plain, _ = run("GridSample", grid, opset=21, mode="linear")
_, old = run("GridSample", grid, opset=16, mode="bicubic")
off, same, old_off = (np.abs(a[0] - b[0]).max() for a, b in ((right, found), (found, plain), (right, old)))
print(f"GridSample cubic: off by up to {off:.3f}, and from linear by {same:.1e}; bicubic of opset 16 is off by {old_off:.1e}")
assert off > 0.1 and same < 1e-5 and old_off < 1e-5

sizes = {"sizes": np.array([1, 1, 5, 5])}
x = {"x": random.standard_normal((1, 1, 12, 12)).astype(np.float32)}
names = ["x", "", "", "sizes"]
right, found = run("Resize", x, sizes, names=names, mode="linear", antialias=1)
plain, _ = run("Resize", x, sizes, names=names, mode="linear", antialias=0)
off, same = np.abs(right[0] - found[0]).max(), np.abs(found[0] - plain[0]).max()
print(f"Resize with antialias: off by up to {off:.3f}, and from Resize without it by {same:.1e}")
assert off > 0.1 and same < 1e-5
PYTHON
