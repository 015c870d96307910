#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnx 1.23.2: the reference evaluator, which defines what operators mean, reads the pads of MaxPool as begin and end of each axis in turn;
# the standard has all begins, then all ends. So a column added at the left becomes a row below, and the output has another shape than
# onnx.shape_inference says, unless strides hide it. AveragePool of a dilated kernel with auto_pad VALID gives the size of the bare kernel,
# filled up with zeros, and LpPool scales the last window of ceil_mode up as if it were whole. ONNX Runtime is right in all three.
# Guess before the run: the reference follows its own standard, and ONNX Runtime agrees.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime
from onnx import TensorProto, helper, shape_inference
from onnx.reference import ReferenceEvaluator


def run(operator, x, **attributes):
    """The inferred shape, and the outputs of the reference and of ONNX Runtime."""
    node = helper.make_node(operator, ["x"], ["y"], **attributes)
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in (("x", x.shape), ("y", None))]
    graph = helper.make_graph([node], "graph", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    inferred = shape_inference.infer_shapes(model, strict_mode=True).graph.output[0].type.tensor_type.shape.dim
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found, right = ReferenceEvaluator(model).run(None, {"x": x})[0], session.run(None, {"x": x})[0]
    print(f"{operator} {attributes}: inferred {[dim.dim_value for dim in inferred]}, reference {found.shape} {found.ravel().tolist()},",
          f"ONNX Runtime {right.shape} {right.ravel().tolist()}")
    assert list(right.shape) == [dim.dim_value for dim in inferred]
    return found, right


x = np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3)
found, right = run("MaxPool", x, kernel_shape=[2, 2], pads=[0, 1, 0, 0])
assert right.tolist() == [[[[3, 4, 5]]]] and found.tolist() == [[[[4, 5], [4, 5]]]]
found, right = run("MaxPool", x, kernel_shape=[2, 2], pads=[0, 1, 0, 1])
assert right.shape == (1, 1, 1, 4) and found.shape == (1, 1, 2, 3)
found, right = run("MaxPool", x, kernel_shape=[2, 2], pads=[1, 1, 1, 1])
assert np.array_equal(found, right)
line = np.arange(1, 7, dtype=np.float32).reshape(1, 1, 6)
found, right = run("AveragePool", line, kernel_shape=[3], dilations=[2], auto_pad="VALID")
assert right.ravel().tolist() == [3, 4] and found.ravel().tolist() == [3, 4, 0, 0]
found, right = run("LpPool", np.ones((1, 1, 6), np.float32), kernel_shape=[3], strides=[2], ceil_mode=1, p=1)
assert right.ravel().tolist() == [3, 3, 2] and found.ravel().tolist() == [3, 3, 3]
PYTHON
