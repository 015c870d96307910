#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenVINO 2026.4.1, CPU device: ReduceMax over an axis of extent 0 is the smallest finite f32, and ReduceMean over it 0.
# Guess before the run: minus infinity and NaN, as numpy and ONNX say.
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


nothing = np.zeros((0, 2), np.float32)
expect("ReduceMax", run(lambda x: ops.reduce_max(x, [0]), nothing), [np.finfo(np.float32).min] * 2)
expect("ReduceMean", run(lambda x: ops.reduce_mean(x, [0]), nothing), [0, 0])
PYTHON
