#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# numba 0.68.1: np.histogram(a, bins) in a compiled function counts nothing if all numbers are equal: of a picture of one brightness, bytes or
# floats, each bin is 0, and no error is raised. NumPy 2.4.6 puts a half around the value on both sides, and has all of them in the middle bin.
# With the range given all are counted. float32 is binned in float32: of the tenths 0 to 1 with range 0 to 1 one bin has two and its neighbour
# none, where NumPy has one in each.
# Guess before the run: the bins of NumPy, and in each case as many counts as numbers within the range.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check numba==0.68.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numba
import numpy as np

free = numba.njit(lambda a: np.histogram(a, 10)[0])
ranged = numba.njit(lambda a: np.histogram(a, 10, (0.0, 10.0))[0])
unit = numba.njit(lambda a: np.histogram(a, 10, (0.0, 1.0))[0])
for name, numbers in {
    "black bytes": np.zeros(64, np.uint8), "grey bytes": np.full(64, 7, np.uint8), "grey floats": np.full(64, 0.5, np.float32),
    "one number": np.array([3.0]), "two numbers": np.array([3.0, 4.0]), "int64": np.full(5, 9),
}.items():
    found, numpy = free(numbers), np.histogram(numbers, 10)[0]
    print(f"{name}: {int(found.sum())} of {len(numbers)} counted, NumPy {int(numpy.sum())}, with the range given {int(ranged(numbers).sum())}")
    assert found.sum() == (2 if name == "two numbers" else 0)
    assert numpy.sum() == len(numbers) == ranged(numbers).sum()
tenths = (np.arange(11) / 10).astype(np.float32)
print("tenths of float32:", unit(tenths).tolist(), "NumPy", np.histogram(tenths, 10, (0, 1))[0].tolist())
assert unit(tenths).tolist() == [1, 1, 1, 1, 1, 1, 2, 0, 2, 1]
assert np.histogram(tenths, 10, (0, 1))[0].tolist() == [1, 1, 1, 1, 1, 1, 1, 1, 1, 2]
PYTHON
