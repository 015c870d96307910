#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tinygrad 0.14.0 (CPU device by clang): ONNX's QuantizeLinear rounds halves by the type of the result. To int8 it rounds them to the even number,
# as ONNX demands; to uint8 it adds 0.4999999 and the zero point and cuts, so that with a zero point of 128 the numbers 0.5, 2.5 and 4.5 become
# 129, 131 and 133 instead of 128, 130 and 132, and -1.5 becomes 127 instead of 126.
# Guess before the run: one rule of rounding for both types.
set -euo pipefail
command -v clang >/dev/null || { echo "needs clang, with which tinygrad compiles"; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check tinygrad==0.14.0 onnx==1.23.2 numpy==2.4.6
CACHELEVEL=0 DEV=CPU "$folder/venv/bin/python" - "$folder/model.onnx" <<'PYTHON'
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from tinygrad.nn.onnx import OnnxRunner

halves = np.array([0.5, 1.5, 2.5, 3.5, 4.5, -0.5, -1.5, -2.5], np.float32)


def quantized(zero_point, data_type):
    graph = helper.make_graph([helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["y"])], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, halves.shape)],
                              [helper.make_tensor_value_info("y", data_type, halves.shape)],
                              [helper.make_tensor("scale", TensorProto.FLOAT, [], [1]), helper.make_tensor("zero", data_type, [], [zero_point])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, sys.argv[1])
    return (OnnxRunner(sys.argv[1])({"x": halves})["y"].numpy().astype(int) - zero_point,
            ReferenceEvaluator(model).run(None, {"x": halves})[0].astype(int) - zero_point)


for name, zero_point, data_type in (("int8", 0, TensorProto.INT8), ("uint8", 128, TensorProto.UINT8)):
    found, reference = quantized(zero_point, data_type)
    print(name, "tinygrad", found.tolist(), "ONNX's reference", reference.tolist())
    assert reference.tolist() == [0, 2, 2, 4, 4, 0, -2, -2]
    assert found.tolist() == (reference.tolist() if name == "int8" else [1, 2, 3, 4, 5, 0, -1, -2])
PYTHON
