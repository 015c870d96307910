#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tensorstore 0.1.86: downsample by mean sums float32 one after the other in float32, so that the mean of 2 ** 25 ones, a block of 512 x 256 x
# 256, is a half; NumPy sums in pairs and gives 1. float16 and bfloat16 are summed in float32. By median, a NaN is taken for equal to each
# number: of 1 and NaN the median is 1, and of NaN and 1 NaN; by min and max of the same two it is 1 in both orders.
# Guess before the run: the mean of ones is 1, and the order of two numbers does not change their median.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check tensorstore==0.1.86 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import tensorstore


def downsampled(numbers, method):
    """A block as one number."""
    return tensorstore.downsample(tensorstore.array(numbers), [numbers.size], method).read().result().tolist()


for exponent, seen in ((24, 1), (25, 0.5), (26, 0.25)):
    ones = np.ones(2**exponent, np.float32)
    found = downsampled(ones, "mean")
    print(f"mean of 2 ** {exponent} ones of float32: {found}, NumPy {ones.mean()}")
    assert found == [seen] and ones.mean() == 1
assert downsampled(np.ones(8192, np.float16), "mean") == [1]
first, second = np.array([1, np.nan], np.float32), np.array([np.nan, 1], np.float32)
for method, same in (("median", False), ("mode", False), ("min", True), ("max", True)):
    found = downsampled(first, method), downsampled(second, method)
    print(f"{method} of 1 and NaN: {found[0]}, of NaN and 1: {found[1]}")
    assert found[0] == [1] and (found[1] == [1]) == same
PYTHON
