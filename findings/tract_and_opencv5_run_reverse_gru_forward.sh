#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tract 0.23.9 and OpenCV 5.0.0 (opencv-python-headless 5.0.0.93) run ONNX's GRU of direction "reverse" forward. tract does so with LSTM and
# RNN too; OpenCV runs LSTM in reverse, but hands out the states after the first step in place of those after the last one. Neither warns.
# "bidirectional" is right in both.
# Guess before the run: direction, one of few attributes of these operators, is heeded or refused.
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


random = np.random.default_rng(1)
inputs = {"x": random.standard_normal((6, 1, 3)).astype(np.float32)}
seen = {("GRU", "tract"): "forward", ("LSTM", "tract"): "forward", ("RNN", "tract"): "forward",
        ("GRU", "OpenCV"): "forward", ("LSTM", "OpenCV"): "reverse"}
for operation, gates in (("GRU", 3), ("LSTM", 4), ("RNN", 1)):
    right, model = {}, {}
    for direction in ("forward", "reverse", "bidirectional"):
        count = 2 if direction == "bidirectional" else 1
        constants = {"w": (count, 4 * gates, 3), "r": (count, 4 * gates, 4), "b": (count, 8 * gates)}
        constants = {name: np.random.default_rng(7).standard_normal(shape).astype(np.float32) for name, shape in constants.items()}
        node = helper.make_node(operation, ["x", "w", "r", "b"], ["y", "h"], direction=direction, hidden_size=4)
        right[direction] = by_onnxruntime(build(node, inputs, constants), inputs)
        model[direction] = build(node, inputs, constants, [value.shape for value in right[direction]])
    for name, run in (("tract", by_tract), ("OpenCV", by_opencv)):
        if (operation, name) not in seen:
            continue  # OpenCV has no RNN.
        found = {direction: run(each, inputs) for direction, each in model.items()}
        for direction in ("forward", "bidirectional"):
            assert all(np.allclose(a, b, atol=1e-5) for a, b in zip(found[direction], right[direction]))
        ran = [direction for direction in ("forward", "reverse") if np.allclose(found["reverse"][0], right[direction][0], atol=1e-5)]
        states = np.abs(found["reverse"][1] - right["reverse"][1]).max()
        print(f"{operation} of direction reverse by {name}: its outputs are those of {ran}, its last states are off by {states:.3f}")
        assert ran == [seen[operation, name]] and states > 0.05
        if ran == ["reverse"]:
            assert np.allclose(found["reverse"][1], right["reverse"][0][-1], atol=1e-5)
PYTHON
