#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenVINO 2026.4.1, CPU device: int64 tensors are computed in 32 bits, silently. Two equal numbers above 2^31 compare as different,
# and a Reshape gives back other numbers than it got.
# Guess before the run: int64 inputs and outputs keep their values, at least where no arithmetic is done.
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


large = np.array([2**40 + 1, 7], np.int64)
expect("Reshape of 2^40 + 1 and 7", run(lambda x: ops.reshape(x, [2, 1], False), large).ravel(), [1, 7])
expect("2^31 + 1", run(lambda x: ops.add(x, ops.constant(np.int64(1))), np.array([2**31], np.int64)), [-(2**31) + 1])
expect("2^40 + 1 == the constant 2^40 + 1", run(lambda x: ops.equal(x, ops.constant(np.int64(2**40 + 1))), large), [False, False])
PYTHON
