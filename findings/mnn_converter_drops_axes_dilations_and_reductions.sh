#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# MNN 3.6.1's converter reads these ONNX models without a warning, and drops what they ask for: axes given as an input (opset 18) of
# ReduceL1, ReduceL2, ReduceSumSquare, ReduceLogSum and ReduceLogSumExp, which reduce everything; keepdims of the same in opset 13;
# dilations of MaxPool and AveragePool; reduction of ScatterND; and negative indices of GatherElements and GatherND give zeros. ReduceSum,
# ReduceMean, ReduceMax, ReduceProd and Gather are right.
# Guess before the run: what the converter does not know it refuses, as it does with other operators.
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


x = np.abs(np.random.default_rng(1).standard_normal((2, 3, 4)).astype(np.float32))
for operation in ("ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"):
    right, found = run([helper.make_node(operation, ["x", "axes"], ["y"])], {"x": x}, {"axes": np.array([2])})
    old_right, old = run([helper.make_node(operation, ["x"], ["y"], axes=[2])], {"x": x}, opset=13)
    print(f"{operation} over the last axis: {found.shape} in opset 18, {old.shape} in opset 13, and not {right.shape}")
    assert right.shape == old_right.shape == (2, 3, 1) and found.shape == () and old.shape == (2, 3)
    assert np.allclose(old, old_right[..., 0], rtol=1e-4)
for operation in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceProd"):
    right, found = run([helper.make_node(operation, ["x", "axes"], ["y"])], {"x": x}, {"axes": np.array([2])})
    assert np.allclose(right, found, rtol=1e-4)

picture = {"x": np.random.default_rng(1).standard_normal((1, 1, 6, 6)).astype(np.float32)}
for operation in ("MaxPool", "AveragePool"):
    shape = {"kernel_shape": [2, 2], "strides": [1, 1]}
    right, found = run([helper.make_node(operation, ["x"], ["y"], dilations=[2, 2], **shape)], picture, opset=19)
    plain, _ = run([helper.make_node(operation, ["x"], ["y"], **shape)], picture, opset=19)
    print(f"{operation} of dilations 2: {found.shape[2:]}, not {right.shape[2:]}")
    assert right.shape == (1, 1, 4, 4) and np.allclose(found, plain, atol=1e-6)

inputs = {"x": np.array([1, 2, 3, 4], np.float32), "updates": np.array([10, 20], np.float32)}
for reduction, reduced in (("add", [1, 12, 23, 4]), ("mul", [1, 20, 60, 4]), ("min", [1, 2, 3, 4]), ("max", [1, 10, 20, 4])):
    node = helper.make_node("ScatterND", ["x", "indices", "updates"], ["y"], reduction=reduction)
    right, found = run([node], inputs, {"indices": np.array([[1], [2]])})
    print(f"ScatterND of reduction {reduction}: {found}, and it should be {right}")
    assert right.tolist() == reduced and found.tolist() == [1, 10, 20, 4]

for operation, indices, seen in (("Gather", [-1, 0], [4, 1]), ("GatherElements", [-1, 0], [0, 1]), ("GatherND", [[-1], [0]], [0, 1])):
    right, found = run([helper.make_node(operation, ["x", "indices"], ["y"])], {"x": inputs["x"]}, {"indices": np.array(indices)})
    print(f"{operation} of the indices -1 and 0 of {inputs['x']}: {found}, not {right}")
    assert right.tolist() == [4, 1] and found.tolist() == seen
PYTHON
