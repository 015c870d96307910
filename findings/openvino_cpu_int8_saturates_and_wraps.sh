#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenVINO 2026.4.1, CPU device: Add, Subtract and Multiply of 8-bit integers saturate, CumSum of the same type wraps around.
# Guess before the run: all of them wrap, as numpy and ONNX Runtime do.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check openvino==2026.4.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import openvino as ov
import openvino.opset13 as ops


def run(make, *inputs):
    """One node on the CPU device, in f32."""
    parameters = [ops.parameter(list(x.shape), x.dtype.type) for x in inputs]
    model = ov.Model([make(*parameters)], parameters)
    return ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(list(inputs))[0]


def expect(what, found, seen):
    print(f"{what}: {found.tolist()}")
    assert np.array_equal(found, np.array(seen, found.dtype), equal_nan=found.dtype.kind == "f"), f"{what} was {seen}"


expect("u8 250 + 10", run(lambda x: ops.add(x, ops.constant(np.uint8(10))), np.array([250], np.uint8)), [255])
expect("u8 5 - 10", run(lambda x: ops.subtract(x, ops.constant(np.uint8(10))), np.array([5], np.uint8)), [0])
expect("i8 100 * 100", run(lambda x: ops.multiply(x, x), np.array([100], np.int8)), [127])
expect("i8 CumSum of 100, 100, 100", run(lambda x: ops.cum_sum(x, ops.constant(np.int64(0))), np.full(3, 100, np.int8)), [100, -56, 44])
PYTHON
