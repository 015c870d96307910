#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnxslim 0.1.98: a Conv whose output is multiplied by a vector is fused as if the vector had one factor for each channel. By the standard's
# broadcasting a vector of shape (3) has one for each column of the picture, and the model gives other numbers as soon as the output has as
# many columns as channels. A factor of shape (3, 1, 1) is fused and right; a sum with such a vector is left alone and right.
# Guess before the run: only a factor of shape (channels, 1, 1) is fused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnxslim==0.1.98 onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime
import onnxslim
from onnx import ModelProto, TensorProto, helper, numpy_helper

x = np.arange(50, dtype=np.float32).reshape(1, 2, 5, 5)


def run(model):
    """The nodes of a model and its output."""
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return [node.op_type for node in model.graph.node], session.run(None, {"x": x})[0]


for operator, shape, equal in (("Mul", (3,), False), ("Mul", (3, 1, 1), True), ("Add", (3,), True)):
    constants = {"w": np.ones((3, 2, 3, 3), np.float32) / 18, "c": np.array([1, 10, 100], np.float32).reshape(shape)}
    nodes = [helper.make_node("Conv", ["x", "w"], ["a"]), helper.make_node(operator, ["a", "c"], ["y"])]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, extents) for name, extents in (("x", x.shape), ("y", (1, 3, 3, 3)))]
    graph = helper.make_graph(nodes, "graph", values[:1], values[1:], [numpy_helper.from_array(x, name) for name, x in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    before, right = run(model)
    after, found = run(onnxslim.slim(ModelProto.FromString(model.SerializeToString())))
    print(f"{operator} by {shape}: {before} became {after}, a row of channel 0 {right[0, 0, 0].round(2)} became {found[0, 0, 0].round(2)}")
    assert np.allclose(found, right, rtol=1e-4) == equal
    if not equal:
        assert np.allclose(found, right / constants["c"] * constants["c"].reshape(3, 1, 1), rtol=1e-4)
PYTHON
