#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# TVM 0.27.0.post1 (apache-tvm), its ONNX reader for Relax: Expand by a shape that is an input takes that shape for the result, though ONNX joins it with the
# tensor's own: 3 x 1 by the shape 1 x 4 becomes 1 x 4, the first row alone, and the other rows are lost. A shape that is a constant is right.
# The output_shape of ConvTranspose is ignored: 7 x 7 in place of 8 x 8. Neither is refused.
# Guess before the run: a constant and an input of one value give one result, that of ONNX Runtime.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check apache-tvm==0.27.0.post1 onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import numpy as np
import onnxruntime as ort
import tvm
from onnx import TensorProto, helper, numpy_helper
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx


def run(operation, inputs, constants, **attributes):
    """One ONNX node of float32 by ONNX Runtime and by TVM."""
    graph = helper.make_graph(
        [helper.make_node(operation, [*inputs, *constants], ["y"], **attributes)], "g",
        [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape) for name, value in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    right = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, inputs)[0]
    module = relax.transform.LegalizeOps()(relax.transform.DecomposeOpsForInference()(from_onnx(model)))
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    return right, machine["main"](*[tvm.runtime.tensor(value) for value in inputs.values()]).numpy()


column = np.float32([[1], [2], [3]])
for shape in ([3, 4], [1, 4], [2, 1, 4]):
    target = {"shape": np.int64(shape)}
    right, fixed = run("Expand", {"x": column}, target)
    _, found = run("Expand", {"x": column, **target}, {})
    print(f"3 x 1 expanded by {shape}: ONNX Runtime {right.shape}, TVM by a constant {fixed.shape}, by an input {found.shape}: {found.ravel().tolist()}")
    assert np.array_equal(fixed, right) and found.shape == tuple(shape)
    assert np.array_equal(found, right) if shape == [3, 4] else np.array_equal(found, np.ones(shape, np.float32))
picture, weights = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3), {"w": np.ones((1, 1, 3, 3), np.float32)}
for attributes, size in (({"output_padding": [1, 1]}, 8), ({"output_shape": [8, 8]}, 7)):
    right, found = run("ConvTranspose", {"x": picture}, weights, strides=[2, 2], **attributes)
    print(f"ConvTranspose with {attributes}: ONNX Runtime {right.shape}, TVM {found.shape}")
    assert right.shape == (1, 1, 8, 8) and found.shape == (1, 1, size, size)
PYTHON
