#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnxoptimizer 0.4.2 (its pass eliminate_consecutive_idempotent_ops, one of the default ones) and OpenCV 5.0.0 (opencv-python-headless
# 5.0.0.93) take the first of two Reshape nodes away though the second has zeros in its shape, which stand for extents of its own input. So
# [3, 4, 2, 2] to [3, 2, 2, 2, 2] to [0, 0, -1], a group normalisation of two groups, runs with four groups of one channel: other numbers,
# no warning. ONNX's own expansion of GroupNormalization holds this pattern, too.
# Guess before the run: the same numbers, for the pass may only drop a Reshape whose shape does not matter.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
  onnxoptimizer==0.4.2 opencv-python-headless==5.0.0.93 \
  onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import cv2
import numpy as np
import onnxoptimizer
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

x = np.random.default_rng(1).standard_normal((3, 4, 2, 2)).astype(np.float32)
nodes = [helper.make_node("Reshape", ["x", "groups"], ["grouped"]), helper.make_node("Reshape", ["grouped", "rows"], ["flat"]),
         helper.make_node("ReduceMean", ["flat", "axes"], ["mean"]), helper.make_node("Sub", ["flat", "mean"], ["centred"]),
         helper.make_node("Reshape", ["centred", "whole"], ["y"])]
constants = {"groups": [3, 2, 2, 2, 2], "rows": [0, 0, -1], "axes": [2], "whole": [3, 4, 2, 2]}
graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, x.shape)],
                          [numpy_helper.from_array(np.array(value), name) for name, value in constants.items()])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def by_onnxruntime(model):
    return ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]


groups = x.reshape(3, 2, 8)
right = (groups - groups.mean(2, keepdims=True)).reshape(x.shape)
channels = x - x.mean((2, 3), keepdims=True)
assert np.allclose(by_onnxruntime(model), right, atol=1e-6)
merged = onnxoptimizer.optimize(model)
net = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
net.setInput(x, "x")
alone = onnxoptimizer.optimize(model, ["eliminate_consecutive_idempotent_ops"])
for name, found in (("onnxoptimizer", by_onnxruntime(merged)), ("the pass alone", by_onnxruntime(alone)), ("OpenCV", net.forward())):
    off, same = np.abs(found - right).max(), np.abs(found - channels).max()
    print(f"{name}: off by up to {off:.3f}, and from the same with a mean for each channel by {same:.1e}")
    assert off > 0.1 and same < 1e-5
print("Reshape nodes before:", sum(node.op_type == "Reshape" for node in model.graph.node),
      "and after:", sum(node.op_type == "Reshape" for node in merged.graph.node))
PYTHON
