#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnx 1.23.2: three operators of the reference evaluator are wrong by numbers that models meet. LogSoftmax takes the logarithm of a softmax
# that has become 0, so that a logit 104 or more below the greatest gives -infinity, not -104. LpNormalization with p of 1 divides by the sum
# of the numbers with their signs: 3 and -1 become 1.5 and -0.5, and 1 and -1 both 0. QuantizeLinear of infinity is the least
# number of its type, and of 3e9, too. ONNX Runtime is right in each.
# Guess before the run: the reference subtracts the greatest logit in logarithms, takes magnitudes, and saturates.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import numpy as np
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator


def run(operator, values, kind=TensorProto.FLOAT, **attributes):
    """The outputs of the reference and of ONNX Runtime."""
    inputs = {f"x{index}": np.array(value) for index, value in enumerate(values)}
    node = helper.make_node(operator, list(inputs), ["y"], **attributes)
    infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for name, x in inputs.items()]
    graph = helper.make_graph([node], "graph", infos, [helper.make_tensor_value_info("y", kind, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found, right = ReferenceEvaluator(model).run(None, inputs)[0], session.run(None, inputs)[0]
    print(f"{operator} of {inputs['x0'].tolist()}: reference {found.tolist()}, ONNX Runtime {right.tolist()}")
    return found.ravel().tolist(), right.ravel().tolist()


found, right = run("LogSoftmax", [np.array([[0, 80, 184, 1000]], np.float32)])
assert right == [-1000, -920, -816, 0] and found == [-np.inf, -np.inf, -np.inf, 0]
found, right = run("LogSoftmax", [np.array([[0, 80]], np.float32)])
assert np.allclose(found, right)
found, right = run("LpNormalization", [np.array([[3, -1]], np.float32)], p=1)
assert right == [0.75, -0.25] and found == [1.5, -0.5]
found, right = run("LpNormalization", [np.array([[1, -1]], np.float32)], p=1)
assert right == [0.5, -0.5] and found == [0, 0]
found, right = run("LpNormalization", [np.array([[3, -4]], np.float32)], p=2)
assert np.allclose(found, right)
for dtype, kind in ((np.uint8, TensorProto.UINT8), (np.int8, TensorProto.INT8), (np.int16, TensorProto.INT16)):
    numbers = np.array([1e9, 3e9, np.inf, -np.inf], np.float32)
    found, right = run("QuantizeLinear", [numbers, np.float32(1), dtype(0)], kind)
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    assert found == [most, least, least, least] and right[0] == most
PYTHON
