#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A NaN cast to float4 E2M1, which has no NaN: ml_dtypes 0.6.0 and onnx.reference 1.23.2 give -0, OpenVINO 2026.4.1 on its CPU device
# gives 6, the largest value. So a broken activation is silent in both, and looks like nothing in one and like saturation in the other.
# Guess before the run: 6 in each, as the documentation of ONNX says.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnx==1.23.2 openvino==2026.4.1 ml_dtypes==0.6.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import ml_dtypes
import numpy as np
import openvino as ov
import openvino.opset13 as ops


def openvino_convert(x, to):
    """x converted to a type and back to f32 on OpenVINO's CPU device."""
    p = ops.parameter(list(x.shape), np.float32)
    model = ov.Model([ops.convert(ops.convert(p, to), "f32")], [p])
    return ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([x])[0]


from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

x = np.array([np.nan, np.inf, 7.5], np.float32)
node = helper.make_node("Cast", ["x"], ["y"], to=TensorProto.FLOAT4E2M1)
graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT4E2M1, x.shape)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)])
reference = ReferenceEvaluator(model).run(None, {"x": x})[0].astype(np.float32)
numpy_type = x.astype(ml_dtypes.float4_e2m1fn).astype(np.float32)
openvino = openvino_convert(x, "f4e2m1")
print("onnx.reference:", reference.tolist(), "ml_dtypes:", numpy_type.tolist(), "OpenVINO:", openvino.tolist())
assert reference.tolist() == numpy_type.tolist() == [0, 6, 6] and np.signbit(reference[0]) and np.signbit(numpy_type[0])
assert openvino.tolist() == [6, 6, 6]
PYTHON
