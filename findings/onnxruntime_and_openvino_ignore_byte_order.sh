#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ONNX Runtime 1.32.0 and OpenVINO 2026.4.1 take NumPy arrays of the other byte order (">f4", as readers of FITS and NetCDF give) and
# read their bytes as if they were in the machine's order, without a word: 1 becomes 4.6e-41, and int32 1 is 16777216. So do run, io_binding
# and OrtValue of one, Tensor and constant of the other. OpenVINO's inference given the plain array converts it, so that the same array is
# right there and wrong by way of a Tensor. onnx 1.23.2 refuses it.
# Guess before the run: the numbers are swapped, or the array is refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2 openvino==2026.4.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime as ort
import openvino as ov
import openvino.opset13 as ops
from onnx import TensorProto, helper, numpy_helper

other = np.array([1, 2], np.dtype(np.float32).newbyteorder())
bits = other.view(np.float32).tolist()  # what the bytes are in the machine's order
assert other.tolist() == [1, 2] and bits != [1, 2]

graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2])])
session = ort.InferenceSession(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11).SerializeToString(),
                               providers=["CPUExecutionProvider"])
binding = session.io_binding()
binding.bind_cpu_input("x", other)
binding.bind_output("y")
session.run_with_iobinding(binding)
parameter = ops.parameter([2], np.float32)
model = ov.Core().compile_model(ov.Model([ops.multiply(parameter, ops.constant(np.float32(1)))], [parameter]), "CPU")
found = {"onnxruntime run": session.run(None, {"x": other})[0], "onnxruntime io_binding": binding.copy_outputs_to_cpu()[0],
         "onnxruntime OrtValue": ort.OrtValue.ortvalue_from_numpy(other).numpy(), "openvino Tensor": ov.Tensor(other).data,
         "openvino Tensor, shared": ov.Tensor(other, shared_memory=True).data, "openvino constant": ops.constant(other).data}
for name, numbers in found.items():
    print(f"{name}: {other} read as {numbers}")
    assert numbers.tolist() == bits
assert ov.Tensor(np.array([1], np.dtype(np.int32).newbyteorder())).data.tolist() == [2**24]
assert model([other], share_inputs=True)[0].tolist() == model([other], share_inputs=False)[0].tolist() == [1, 2]
try:
    numpy_helper.from_array(other)
    raise AssertionError("onnx refused it")
except ValueError as error:
    print("onnx refuses it:", error)
PYTHON
