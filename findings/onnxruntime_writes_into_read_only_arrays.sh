#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ONNX Runtime 1.32.0, Python: an OrtValue over a read-only NumPy array is writable. Bound as an output, a run writes its results into the
# array; update_inplace does, too, and the view that numpy() gives has the flag WRITEABLE. Only its DLPack export comes out read-only, as
# NumPy takes any old capsule. OpenVINO 2026.4.1 refuses to share a read-only array.
# Guess before the run: a read-only array is refused as an output, or copied.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2 openvino==2026.4.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime as ort
import openvino as ov
from onnx import TensorProto, helper

graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [3])],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])])
session = ort.InferenceSession(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11).SerializeToString(),
                               providers=["CPUExecutionProvider"])
frozen = np.zeros(3, np.float32)
frozen.flags.writeable = False
value = ort.OrtValue.ortvalue_from_numpy(frozen)

binding = session.io_binding()
binding.bind_cpu_input("x", np.float32([1, 2, 3]))
binding.bind_ortvalue_output("y", value)
session.run_with_iobinding(binding)
print("the read-only array after a run:", frozen)
assert frozen.tolist() == [-1, -2, -3]
value.update_inplace(np.float32([7, 8, 9]))
print("after update_inplace:", frozen)
assert frozen.tolist() == [7, 8, 9]
view = value.numpy()
view[0] = 5
print("after a write by numpy():", frozen, " writable by DLPack:", np.from_dlpack(value).flags.writeable)
assert frozen.tolist() == [5, 8, 9] and not np.from_dlpack(value).flags.writeable
try:
    ov.Tensor(frozen, shared_memory=True).data
    raise AssertionError("OpenVINO refused it")
except ValueError as error:
    print("OpenVINO refuses it:", error)
PYTHON
