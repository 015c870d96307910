#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnxscript 0.7.2: optimizer.optimize and rewriter.rewrite merge two Clip nodes in a row into one with the greater least and the lesser most.
# If the ranges do not meet, the second one decides in the standard, and the first in the merged node: Clip to 0..1, then to 2..3 is 2 for
# each number, and becomes 1. The other order is right, and so are ranges that overlap.
# Guess before the run: an optimizer leaves the results as they are, or leaves such nodes alone.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnxscript==0.7.2 onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto, helper, numpy_helper, shape_inference
from onnxscript import optimizer, rewriter

x = np.array([-1, 0.5, 2.5, 9], np.float32)


def run(model):
    """The nodes of a model and its output."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return [node.op_type for node in model.graph.node], session.run(None, {"x": x})[0].tolist()


for first, second, equal in (((0, 1), (2, 3), False), ((2, 3), (0, 1), True), ((0, 2), (1, 3), True)):
    bounds = dict(zip(("low1", "high1", "low2", "high2"), first + second))
    nodes = [helper.make_node("Clip", ["x", "low1", "high1"], ["a"]), helper.make_node("Clip", ["a", "low2", "high2"], ["y"])]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in "xy"]
    constants = [numpy_helper.from_array(np.array(bound, np.float32), name) for name, bound in bounds.items()]
    graph = helper.make_graph(nodes, "graph", values[:1], values[1:], constants)
    model = shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10))
    right = np.clip(np.clip(x, *first), *second).tolist()
    assert run(model)[1] == right
    for tool in (optimizer.optimize, rewriter.rewrite):
        nodes, found = run(tool(ModelProto.FromString(model.SerializeToString())))
        print(f"{tool.__name__}, {first} then {second}: {right} became {found} by {nodes}")
        assert nodes == ["Clip"] and (found == right) == equal and (equal or found == [1, 1, 1, 1])
PYTHON
