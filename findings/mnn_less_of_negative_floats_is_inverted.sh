#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# MNN 3.6.1, CPU on x86-64: ONNX's Less of two negative f32 numbers is the wrong way round, -3 < -1 is false and -1 < -3 true, as if their
# bits were compared as int32. With one or both of them positive it is right, so are LessOrEqual and Greater. A constant on one side changes
# nothing.
# Guess before the run: Less is right, or off for NaN at most.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check mnn==3.6.1 onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import pathlib
import tempfile

import _tools
import MNN
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper


def run(nodes, inputs, constants=(), opset=18, boolean=False):
    """The output y of a model of f32 on ONNX Runtime, and on MNN once its converter has read the model."""
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.BOOL if boolean else TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in dict(constants).items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9).SerializeToString()
    right = ort.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
    with tempfile.TemporaryDirectory() as folder:
        onnx, mnn = pathlib.Path(folder, "model.onnx"), pathlib.Path(folder, "model.mnn")
        onnx.write_bytes(model)
        _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", str(onnx), "--MNNModel", str(mnn), "--bizCode", "x"])
        net = MNN.nn.load_module_from_file(str(mnn), list(inputs), ["y"])
        variables = []
        for value in inputs.values():
            variables.append(MNN.expr.placeholder(list(value.shape), MNN.expr.NCHW, MNN.expr.float))
            variables[-1].write(value)
        found = net.forward(variables)
        found = found[0] if isinstance(found, (list, tuple)) else found
        if found.data_format == MNN.expr.NC4HW4:
            found = MNN.expr.convert(found, MNN.expr.NCHW)
        return right, np.array(found.read()).reshape(found.shape)


a, b = np.array([-3, -1, -2.5, 2, 3, -1, 1], np.float32), np.array([-1, -3, -2, 3, 2, 1, -1], np.float32)
right, found = run([helper.make_node("Less", ["a", "b"], ["y"])], {"a": a, "b": b}, boolean=True)
print(a, "<", b, "by ONNX Runtime:", right.astype(int), "by MNN:", found)
assert right.tolist() == (a < b).tolist() == [True, False, True, True, False, True, False]
assert found.tolist() == (a.view(np.int32) < b.view(np.int32)).tolist() == [0, 1, 0, 1, 0, 1, 0]
assert run([helper.make_node("Less", ["a", "b"], ["y"])], {"a": a}, {"b": b}, boolean=True)[1].tolist() == found.tolist()

smaller = [helper.make_node("Less", ["a", "b"], ["less"]), helper.make_node("Where", ["less", "a", "b"], ["y"])]
right, found = run(smaller, {"a": a, "b": b})
print("the smaller of each, by Less and Where:", right, "by MNN:", found)
assert right.tolist() == np.minimum(a, b).tolist() and found[:3].tolist() == np.maximum(a, b)[:3].tolist()

for operation in ("Greater", "LessOrEqual", "GreaterOrEqual"):
    right, found = run([helper.make_node(operation, ["a", "b"], ["y"])], {"a": a, "b": b}, boolean=True)
    assert right.tolist() == found.tolist()
right, found = run([helper.make_node("Less", ["a", "b"], ["y"])], {"a": a}, {"b": np.array(-2, np.float32)}, boolean=True)
print(a, "< -2 by ONNX Runtime:", right.astype(int), "by MNN:", found)
assert right[:3].tolist() == [True, False, True] and found[:3].tolist() == [0, 1, 0]
PYTHON
