#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenVINO 2026.4.1's Python module hands out bf16 outputs as NumPy arrays of float16 that hold the bits of bf16: 1 reads as 1.875 and 100
# as 3.39. Inputs that are bf16 take float16 arrays the same way, so 1 becomes 0.0078, while a float32 array is refused. Tensor.data and
# Constant.data do the same; Constant.get_data converts.
# Guess before the run: bf16 is handed out as float32, or as bytes without a number's type, as it is with float8 (uint8).
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check openvino==2026.4.1 numpy==2.4.6 ml_dtypes==0.6.0
"$folder/venv/bin/python" - <<'PYTHON'
import ml_dtypes
import numpy as np
import openvino as ov
import openvino.opset13 as ops

x = ops.parameter([4], np.float32)
to_bf16 = ov.Core().compile_model(ov.Model([ops.convert(x, "bf16")], [x]), "CPU")
numbers = np.array([1, 2.5, -4, 100], np.float32)
output = to_bf16([numbers])[0]
print("outputs of bf16:", numbers, "read as", output.dtype, output)
assert to_bf16.output(0).get_element_type() == ov.Type.bf16 and output.dtype == np.float16
assert output.tolist() == [1.875, 2.0625, -2.25, 3.390625]
assert np.array_equal(output.view(ml_dtypes.bfloat16).astype(np.float32), numbers)

y = ops.parameter([2], ov.Type.bf16)
from_bf16 = ov.Core().compile_model(ov.Model([ops.convert(y, "f32")], [y]), "CPU")
found = from_bf16([np.array([1, 2.5], np.float16)])[0]
print("inputs of bf16 given as float16 1 and 2.5:", found)
assert found.tolist() == [0.0078125, 8]

constant = ops.constant(np.array([1, 2.5], np.float32), dtype=ov.Type.bf16)
print("a constant's data:", constant.data, "its get_data:", constant.get_data(dtype=np.float32))
assert constant.data.dtype == np.float16 and constant.data.tolist() == [1.875, 2.0625]
assert constant.get_data(dtype=np.float32).tolist() == [1, 2.5]
assert ov.Tensor(ov.Type.bf16, [2]).data.dtype == np.float16 and ov.Tensor(ov.Type.f8e5m2, [2]).data.dtype == np.uint8
PYTHON
