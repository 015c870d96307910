#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Keras 3.15.1 with its NumPy backend: an int64 array of NumPy becomes an int32 tensor, and 2 ** 40 becomes 0, without a word: in
# convert_to_tensor, add and mean, so that the mean of two times 2 ** 40 is 0. sum of the same array is right, since it does not convert, and so is
# convert_to_tensor where the dtype is given. Time stamps in microseconds, sizes of files and hashes are such numbers.
# Guess before the run: a NumPy array keeps its type and numbers where NumPy computes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check keras==3.15.1 jax==0.10.2 scipy==1.17.1 numpy==2.4.6
KERAS_HOME="$folder" KERAS_BACKEND=numpy "$folder/venv/bin/python" -W ignore - <<'PYTHON'
import keras
import numpy as np
from keras import ops

numbers = np.array([2**40, 2**40], np.int64)
cases = {
    "convert_to_tensor": (lambda: ops.convert_to_tensor(numbers), "int32", [0, 0]),
    "convert_to_tensor of dtype int64": (lambda: ops.convert_to_tensor(numbers, dtype="int64"), "int64", [2**40, 2**40]),
    "add": (lambda: ops.add(numbers, numbers), "int32", [0, 0]),
    "mean": (lambda: ops.mean(numbers), "float32", 0),
    "sum": (lambda: ops.sum(numbers), "int64", 2**41),
}
print("Keras", keras.__version__, "with", keras.config.backend())
for name, (make, kind, seen) in cases.items():
    found = np.asarray(ops.convert_to_numpy(make()))
    print(f"{name} of {numbers.tolist()}: {found.tolist()} in {found.dtype}")
    assert found.dtype == kind and found.tolist() == seen
PYTHON
