#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tract 0.23.9 and OpenCV 5.0.0 (opencv-python-headless 5.0.0.93) compute ONNX's Swish, x * sigmoid(alpha * x), with alpha 1 whatever the
# attribute says; so alpha 1.702, the approximation of GELU, is SiLU. tract's Celu divides by alpha where x is negative: alpha * (exp(x /
# alpha) - 1) comes out as exp(x / alpha) - 1. No warning.
# Guess before the run: an attribute of an operator that they support is heeded.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
  tract==0.23.9 opencv-python-headless==5.0.0.93 onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import pathlib
import tempfile

import cv2
import numpy as np
import onnxruntime as ort
import tract
from onnx import TensorProto, helper, numpy_helper


def build(node, inputs, constants=(), shapes=None, opset=21):
    """The bytes of a model of one node, whose inputs are f32."""
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes[i] if shapes else None) for i, name in enumerate(node.output)],
        [numpy_helper.from_array(value, name) for name, value in dict(constants).items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10).SerializeToString()


def by_onnxruntime(model, inputs):
    return ort.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, inputs)


def by_tract(model, inputs):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model.onnx")
        path.write_bytes(model)
        runnable = tract.onnx().load(path).into_model().into_runnable()
    return [output.to_numpy() for output in runnable.run(list(inputs.values()))]


def by_opencv(model, inputs):
    net = cv2.dnn.readNetFromONNX(np.frombuffer(model, np.uint8))
    for name, value in inputs.items():
        net.setInput(value, name)
    return list(net.forward(net.getUnconnectedOutLayersNames()))


x = np.array([[-3, -1, -0.5, 2]], np.float32)
for alpha in (1.0, 1.702, 0.5):
    node = helper.make_node("Swish", ["x"], ["y"], alpha=alpha)
    model = build(node, {"x": x}, shapes=[x.shape], opset=24)
    right, = by_onnxruntime(model, {"x": x})
    found = {"tract": by_tract(model, {"x": x})[0], "OpenCV": by_opencv(model, {"x": x})[0]}
    print(f"Swish of alpha {alpha}: ONNX Runtime {right}, tract {found['tract']}, OpenCV {found['OpenCV']}")
    assert np.allclose(right, x / (1 + np.exp(-alpha * x)), atol=1e-6)
    assert all(np.allclose(y, x / (1 + np.exp(-x)), atol=1e-5) for y in found.values())
for alpha in (1.0, 2.0, 0.5):
    model = build(helper.make_node("Celu", ["x"], ["y"], alpha=alpha), {"x": x}, shapes=[x.shape])
    right, found, other = by_onnxruntime(model, {"x": x})[0], by_tract(model, {"x": x})[0], by_opencv(model, {"x": x})[0]
    print(f"Celu of alpha {alpha}: ONNX Runtime {right}, tract {found}, OpenCV {other}")
    assert np.allclose(right, np.where(x < 0, alpha * np.expm1(x / alpha), x), atol=1e-6) and np.allclose(other, right, atol=1e-5)
    assert np.allclose(found, np.where(x < 0, np.expm1(x / alpha), x), atol=1e-6)
PYTHON
