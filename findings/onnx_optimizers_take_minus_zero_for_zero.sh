#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnxslim 0.1.98, onnxsim 0.8.1 and onnx-ir 1.1.0 (CommonSubexpressionEliminationPass) compare the attributes of nodes as numbers, for which
# 0.0 equals -0.0, and make one node of two Constants that differ in that sign alone: x / 0.0 and x / -0.0 are both infinity afterwards.
# onnxscript 0.7.2 keeps these constants, and merges LeakyRelu nodes with alpha of 0.0 and -0.0, as the others do.
# Guess before the run: only nodes that are equal bit by bit become one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnxslim==0.1.98 onnxsim==0.8.1 onnx-ir==1.1.0 onnxscript==0.7.2 onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnx_ir
import onnxruntime
import onnxsim
import onnxslim
from onnx import ModelProto, TensorProto, helper, shape_inference
from onnx_ir.passes.common import CommonSubexpressionEliminationPass
from onnxscript import optimizer


def merge(model):
    """The model after the pass of onnx-ir alone."""
    graph = onnx_ir.from_proto(model)
    CommonSubexpressionEliminationPass()(graph)
    return onnx_ir.to_proto(graph)


tools = {"onnxslim": onnxslim.slim, "onnxsim": lambda model: onnxsim.simplify(model)[0], "onnx-ir": merge, "onnxscript": optimizer.optimize}
constants = [helper.make_node("Constant", [], ["a"], value_float=0.0), helper.make_node("Constant", [], ["b"], value_float=-0.0),
             helper.make_node("Div", ["x", "a"], ["p"]), helper.make_node("Div", ["x", "b"], ["q"])]
slopes = [helper.make_node("LeakyRelu", ["x"], ["p"], alpha=0.0), helper.make_node("LeakyRelu", ["x"], ["q"], alpha=-0.0)]
cases = {"x / 0.0 and x / -0.0": (constants, 1, [np.inf, -np.inf], {"onnxslim", "onnxsim", "onnx-ir"}),
         "LeakyRelu of 0.0 and -0.0": (slopes, -1, [-0.0, 0.0], set(tools))}
for name, (nodes, number, right, wrong) in cases.items():
    values = [helper.make_tensor_value_info(value, TensorProto.FLOAT, [extent]) for value, extent in (("x", 1), ("y", 2))]
    graph = helper.make_graph(nodes + [helper.make_node("Concat", ["p", "q"], ["y"], axis=0)], "graph", values[:1], values[1:])
    model = shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10))
    for tool, simplify in {"none": lambda model: model, **tools}.items():
        changed = simplify(ModelProto.FromString(model.SerializeToString()))
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(changed.SerializeToString(), options, providers=["CPUExecutionProvider"])
        found = session.run(None, {"x": np.array([number], np.float32)})[0].tolist()
        print(f"{name} by {tool}: {found}")
        assert [str(each) for each in found] == [str(each) for each in ([right[0]] * 2 if tool in wrong else right)]
PYTHON
