#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tritonclient 2.69.0 (KServe's binary protocol) makes BF16 inputs of float32 arrays by dropping the low 16 bits: half of all numbers become
# the bf16 below the nearest, and inputs are 0.28 % too small on average. 0.999 becomes 0.996 and a mask of 0.99999 never 1. An array of
# ml_dtypes.bfloat16, which needs no rounding, is refused.
# Guess before the run: rounded to nearest, ties to even, as ml_dtypes and onnx do.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check tritonclient[http]==2.69.0 ml_dtypes==0.6.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import ml_dtypes
import numpy as np
import tritonclient.http as http
from tritonclient.utils import InferenceServerException, deserialize_bf16_tensor, serialize_bf16_tensor


def sent(array):
    """The numbers that a server reads of an array sent as BF16."""
    return deserialize_bf16_tensor(serialize_bf16_tensor(array).item()).reshape(array.shape)


numbers = np.random.default_rng(0).standard_normal(10000).astype(np.float32)
nearest, found = numbers.astype(ml_dtypes.bfloat16).astype(np.float32), sent(numbers)
ratio = {name: float(np.mean(values.astype(np.float64) / numbers)) - 1 for name, values in (("sent", found), ("nearest", nearest))}
print(f"other than the nearest: {np.mean(found != nearest):.1%}, mean of result / number - 1: {ratio}")
assert np.array_equal(found, (numbers.view(np.uint32) & 0xFFFF0000).view(np.float32))
assert 0.45 < np.mean(found != nearest) < 0.55 and ratio["sent"] < -0.002 < -0.0002 < ratio["nearest"]
few = np.float32([0.999, 0.99999, 255.9])
print(few, "are sent as", sent(few), "where the nearest are", few.astype(ml_dtypes.bfloat16))
assert sent(few).tolist() == [0.99609375, 0.99609375, 255] and few.astype(ml_dtypes.bfloat16).tolist() == [1, 1, 256]
value = http.InferInput("x", [3], "BF16")
try:
    value.set_data_from_numpy(few.astype(ml_dtypes.bfloat16))
    raise AssertionError("an array of bfloat16 was refused")
except InferenceServerException as error:
    print("an array of bfloat16 is refused:", error)
PYTHON
