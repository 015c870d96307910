#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bottleneck 1.6.1, made as a faster NumPy: nansum and ss of an int32 array add up in 32 bits, so that two times 2**31 - 1 have the sum -2, and the
# sum of a second of 32-bit sound wraps many times. nanmean of the same array is right, and so is NumPy's nansum, which adds up in 64 bits.
# In float32 the mean is wrong, too: ones beyond 16777216 are lost, so that the mean of 2**25 of them is a half. NumPy's is 1.
# Guess before the run: the same numbers as NumPy's functions of the same names, as its documentation compares them, but for the last digits.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check bottleneck==1.6.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import bottleneck
import numpy as np

top = 2 ** 31 - 1
for array in (np.int32([top, top]), np.int32([[top, top], [top, 5]]), np.full(16000, 2 ** 30, np.int32)):
    for axis in (None, array.ndim - 1):
        found, right = bottleneck.nansum(array, axis), np.nansum(array, axis)
        wrapped = np.sum(array, axis, dtype=np.int32)
        mean = bottleneck.nanmean(array, axis)
        print(f"sum of {array.shape} int32, axis {axis}: {found.tolist() if axis == 1 else found}, NumPy {right}, mean {mean}")
        assert np.array_equal(found, wrapped) and not np.array_equal(found, right)
        assert np.allclose(mean, np.nanmean(array, axis))
assert bottleneck.nansum(np.int64([top, top])) == 2 * top
print("sum of squares of 2**20:", bottleneck.ss(np.int32([2 ** 20])), "in int64:", bottleneck.ss(np.int64([2 ** 20])))
assert bottleneck.ss(np.int32([2 ** 20])) == 0 and bottleneck.ss(np.int64([2 ** 20])) == 2 ** 40
ones = np.ones(2 ** 25, np.float32)
print("float32 ones: sum", bottleneck.nansum(ones), "mean", bottleneck.nanmean(ones), "NumPy", np.nansum(ones), np.nanmean(ones))
assert bottleneck.nansum(ones) == 2 ** 24 and bottleneck.nanmean(ones) == 0.5
assert np.nansum(ones) == 2 ** 25 and np.nanmean(ones) == 1
PYTHON
