#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenVINO 2026.4.1, Python: after an inference with share_inputs=True, or set_input_tensor of a Tensor over a NumPy array, the next plain
# infer of the same request writes its inputs into that earlier array. share_inputs=False, the default of infer, is documented as a safe
# copy to existing tensors: the existing one is the caller's array. AsyncInferQueue does the same, in whichever request is free. A call of
# the compiled model, which has share_inputs=True by default, does not.
# Guess before the run: a plain infer leaves arrays of earlier calls alone.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check openvino==2026.4.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import openvino as ov
import openvino.opset13 as ops

given = ops.parameter([2], np.float32)
model = ov.Core().compile_model(ov.Model([ops.multiply(given, ops.constant(np.float32(2)))], [given]), "CPU")
sevens = np.full(2, 7, np.float32)


def by_infer(mine):
    request = model.create_infer_request()
    request.infer([mine], share_inputs=True)
    request.infer([sevens])


def by_tensor(mine):
    request = model.create_infer_request()
    request.set_input_tensor(ov.Tensor(mine, shared_memory=True))
    request.infer([sevens])


def by_queue(mine):
    queue = ov.AsyncInferQueue(model, 1)
    queue.start_async([mine], share_inputs=True)
    queue.wait_all()
    queue.start_async([sevens])
    queue.wait_all()


def by_call(mine):
    model([mine], share_inputs=True)
    model([sevens])


for way, seen in ((by_infer, [7, 7]), (by_tensor, [7, 7]), (by_queue, [7, 7]), (by_call, [1, 1])):
    mine = np.ones(2, np.float32)
    way(mine)
    print(f"{way.__name__}: the array of ones is now {mine}")
    assert mine.tolist() == seen
PYTHON
