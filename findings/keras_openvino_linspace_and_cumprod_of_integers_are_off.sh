#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Keras 3.15.1 with its OpenVINO backend (2026.4.1): linspace of an integer type cuts the step, not the numbers, so that 0 to 255 in five ends at
# 252 and 0 to 10 in four at 9, though the end belongs to it. cumprod of int32 goes by logarithms of float32: a million, as the product of six
# tens, is 1000001, and a vector with a negative number is -2147483648 from there on; as a row of a matrix the same numbers are
# right. Floats and positive numbers of few digits are right in both. NumPy is right for each.
# Guess before the run: the numbers of NumPy, as integers leave nothing to round.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check keras==3.15.1 openvino==2026.4.1 scipy==1.17.1 numpy==2.4.6
KERAS_HOME="$folder" KERAS_BACKEND=openvino "$folder/venv/bin/python" -W ignore - <<'PYTHON'
import keras
import numpy as np
from keras import ops


def check(name, tensor, right, seen):
    """Prints and compares Keras's numbers with NumPy's and with those seen."""
    found = ops.convert_to_numpy(tensor).tolist()
    print(f"{name}: {found}; NumPy {right.tolist()}")
    assert found == seen


print("Keras", keras.__version__, "with", keras.config.backend())
for end, count, seen in ((255, 5, [0, 63, 126, 189, 252]), (10, 4, [0, 3, 6, 9]), (100, 11, list(range(0, 101, 10)))):
    check(f"linspace of 0 to {end}", ops.linspace(0, end, count, dtype="int32"), np.linspace(0, end, count, dtype="int32"), seen)
tens, signs = np.full(7, 10, np.int32), np.array([7, -7, 100], np.int32)
check("cumprod of tens", ops.cumprod(tens), np.cumprod(tens), [10, 100, 1000, 10000, 100000, 1000001, 10000017])
check("cumprod of a vector with a sign", ops.cumprod(signs), np.cumprod(signs), [7, -(2**31), -(2**31)])
check("the same as a row", ops.cumprod(signs[None], axis=1), np.cumprod(signs[None], axis=1), [[7, -49, -4900]])
assert np.allclose(ops.convert_to_numpy(ops.cumprod(np.float32([7, -7, 100]))), [7, -49, -4900])
PYTHON
