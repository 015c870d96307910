#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenVINO 2026.4.1, CPU device: a NaN in TopK makes it leave out a larger number for a smaller one.
# Guess before the run: NaN comes first or last, and the numbers are the largest ones.
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


values = np.array([1, np.nan, 3, 2, np.nan], np.float32)
# 1 is there and 2 is not.
expect("the three largest of 1, NaN, 3, 2, NaN", run(lambda x: ops.topk(x, 3, 0, "max", "value").output(0), values), [1, np.nan, 3])
PYTHON
