#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# numba 0.68.1: in a compiled function np.fmod of signed integers is wrong as soon as one of both is negative: -7 and 3 give 0, not -1, -8 and 5
# give 3, not -3, and where the divisor is negative the number comes back as it is, 100 and -7 as 100, not 2. The numbers are taken for unsigned
# ones of 64 bits. It is so for int8, int16, int32 and int64, arrays and single numbers. Positive and unsigned numbers, floats, np.remainder and %
# are right.
# Guess before the run: the numbers of NumPy, with the sign of the dividend, as C's % and NumPy's fmod have it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check numba==0.68.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numba
import numpy as np

fmod, remainder = numba.njit(lambda a, b: np.fmod(a, b)), numba.njit(lambda a, b: np.remainder(a, b))
a, b = [-7, 7, -8, 100, -5, 7], [3, -3, 5, -7, -3, 3]
for dtype in ("int8", "int16", "int32", "int64", "float32", "float64"):
    first, second = np.array(a, dtype), np.array(b, dtype)
    found = fmod(first, second).tolist()
    print(f"fmod of {dtype}: {found}, NumPy {np.fmod(first, second).tolist()}")
    assert np.fmod(first, second).tolist() == [-1, 1, -3, 2, -2, 1]
    assert found == ([-1, 1, -3, 2, -2, 1] if dtype.startswith("float") else [0, 7, 3, 100, -5, 1])
    assert np.array_equal(remainder(first, second), np.remainder(first, second))
for dtype in ("uint8", "uint16", "uint32", "uint64"):
    assert fmod(np.array([7, 8, 100], dtype), np.array([3, 5, 7], dtype)).tolist() == [1, 3, 2]
print("single numbers:", fmod(-7, 3), fmod(7, -3), fmod(7, 3))
assert (fmod(-7, 3), fmod(7, -3), fmod(7, 3)) == (0, 7, 1)
print("2 ** 64 - 7 modulo 3:", (2**64 - 7) % 3)
PYTHON
