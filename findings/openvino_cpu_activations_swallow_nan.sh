#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenVINO 2026.4.1, CPU device: Relu, Clamp and HSigmoid turn NaN into their lower bound, Sigmoid and Elu hand it on. HSigmoid never
# reaches 0.5 or 1 exactly.
# Guess before the run: each of them hands NaN on, as ONNX Runtime does; HSigmoid(0) is 0.5 and HSigmoid of infinity 1.
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


nan = np.array([np.nan], np.float32)
expect("Relu(NaN)", run(ops.relu, nan), [0])
expect("Clamp(NaN, -1, 1)", run(lambda x: ops.clamp(x, -1, 1), nan), [-1])
expect("HSigmoid(NaN)", run(ops.hsigmoid, nan), [0])
expect("Sigmoid(NaN)", run(ops.sigmoid, nan), [np.nan])
expect("Elu(NaN)", run(lambda x: ops.elu(x, 1.0), nan), [np.nan])
expect("HSigmoid of 0 and infinity", run(ops.hsigmoid, np.array([0, np.inf], np.float32)), [0.49999997, 0.99999994])
PYTHON
