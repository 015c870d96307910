#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# numexpr 2.14.2 with NumPy 2.4.6: max and min of int32, and of the smaller integers, which become int32, are a SystemError, as their starting
# number is that of int64; int64 and floats work. sum of int32 adds up in int32, so that three times 2**31 - 1 have the sum 2147483645, not
# 6442450941. max and min pass over NaN, where NumPy's are NaN, and sum hands it on. sum of float32 stops at 16777216. abs of a complex
# 3e200 + 4e200j is infinity.
# Guess before the run: the reductions of an evaluator of NumPy expressions are those of NumPy, and none of them is an error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check numexpr==2.14.2 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import numexpr
import numpy as np


def evaluate(text, array):
    """The value of an expression of x, or None where it is a SystemError."""
    try:
        return numexpr.evaluate(text, {"x": array})
    except SystemError:
        return None


for dtype in (np.int8, np.uint8, np.int16, np.int32, np.int64, np.float32, np.float64):
    found = [evaluate(name + "(x)", np.array([5, 7, 3], dtype)) for name in ("max", "min", "sum")]
    print(np.dtype(dtype), "max, min and sum of 5, 7, 3:", [value if value is None else value.item() for value in found])
    assert found[2] == 15
    assert (found[:2] == [None, None]) if np.dtype(dtype).kind in "iu" and np.dtype(dtype).itemsize <= 4 else (found[:2] == [7, 3])
full = np.full(3, 2 ** 31 - 1, np.int32)
print("sum of three times 2**31 - 1:", evaluate("sum(x)", full), "NumPy:", full.sum())
assert evaluate("sum(x)", full) == 2147483645 and full.sum() == 6442450941
holed = np.array([np.nan, 1, 3])
print("of NaN, 1, 3:", [float(evaluate(name + "(x)", holed)) for name in ("max", "min", "sum")], "NumPy:", holed.max())
assert evaluate("max(x)", holed) == 3 and evaluate("min(x)", holed) == 1 and np.isnan(evaluate("sum(x)", holed)) and np.isnan(holed.max())
ones = np.ones(2 ** 25, np.float32)
print("sum of 2**25 ones of float32:", evaluate("sum(x)", ones), "NumPy:", ones.sum())
assert evaluate("sum(x)", ones) == 2 ** 24 and ones.sum() == 2 ** 25
wave = np.array([3e200 + 4e200j])
print("abs of 3e200 + 4e200j:", evaluate("abs(x)", wave), "NumPy:", np.abs(wave))
assert evaluate("abs(x)", wave)[0].real == np.inf and np.isclose(np.abs(wave)[0], 5e200)
PYTHON
