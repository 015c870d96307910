#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ONNX Runtime 1.32.0: quantize_static() of a ModelProto in memory moves its weights of 1,024 bytes and more to a temporary file, which is gone when
# the call returns: the caller's model has no bytes in them any more, and names a file that is not there. ONNX Runtime refuses it, onnx saves it
# without a word. The quantised model is right. quantize_dynamic() and quant_pre_process() leave the model as it was, and so does quantize_static()
# where all weights are smaller or the model is given as a path.
# Guess before the run: all three leave their input as it was.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6 sympy==1.14.0
"$folder/venv/bin/python" - "$folder" <<'PYTHON'
import logging
import os
import sys

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper, save
from onnxruntime.quantization import CalibrationDataReader, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

logging.disable(logging.WARNING)
ort.set_default_logger_severity(4)


class Rows(CalibrationDataReader):
    def __init__(self, width):
        self.left = [{"x": np.random.default_rng(i).normal(size=(4, width)).astype(np.float32)} for i in range(8)]

    def get_next(self):
        return self.left.pop() if self.left else None


def model(width):
    weights = numpy_helper.from_array(np.random.default_rng(0).normal(size=(width, width)).astype(np.float32), "weights")
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, width]) for name in "xy"]
    node = helper.make_node("MatMul", ["x", "weights"], ["y"])
    return helper.make_model(helper.make_graph([node], "g", ends[:1], ends[1:], [weights]), opset_imports=[helper.make_opsetid("", 19)], ir_version=9)


output = os.path.join(sys.argv[1], "out.onnx")
for width, name, call in (
    (16, "quantize_static", lambda made: quantize_static(made, output, Rows(16))),
    (15, "quantize_static", lambda made: quantize_static(made, output, Rows(15))),
    (16, "quantize_dynamic", lambda made: quantize_dynamic(made, output)),
    (16, "quant_pre_process", lambda made: quant_pre_process(made, output)),
):
    made = model(width)
    before = made.SerializeToString()
    call(made)
    weights = made.graph.initializer[0]
    print(f"{name}, {width * width * 4} bytes: {len(weights.raw_data)} left, {[each.key for each in weights.external_data]}")
    ort.InferenceSession(output)
    if name != "quantize_static" or width == 15:
        assert made.SerializeToString() == before
        continue
    assert len(weights.raw_data) == 0 and weights.data_location == TensorProto.EXTERNAL
    save(made, os.path.join(sys.argv[1], "saved.onnx"))
    try:
        ort.InferenceSession(os.path.join(sys.argv[1], "saved.onnx"))
    except Exception as error:
        print("   ", str(error).split(" : ")[-1][:80])
    else:
        raise AssertionError("a model without weights is refused")
path = os.path.join(sys.argv[1], "whole.onnx")
save(model(16), path)
quantize_static(path, output, Rows(16))
ort.InferenceSession(path)
PYTHON
