#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# dask 2026.8.0, dask.array: mean of float16 adds up, and counts, in float16. The mean of 70000 ones by columns is 0, since the count becomes
# infinity; that of 30000 threes is infinity, since the sum does; that of 90000 threes is NaN. NumPy 2.4.6 adds the same arrays up in float32, and has
# 1 and 3. It does not depend on the chunks: one chunk is wrong, too. So the mean of a picture of 300 x 300 in half floats is lost.
# Guess before the run: the mean of chunks is that of NumPy, but for the last digits.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check dask[array]==2026.8.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import dask.array
import numpy as np

for number, shape, expected in ((1, (70000, 2), 0), (3, (30000,), np.inf), (3, (90000,), np.nan), (3, (300, 300), np.nan), (60, (2000,), np.inf),
                                (3, (1000,), 3)):
    whole = np.full(shape, number, np.float16)
    axis = 0 if shape == (70000, 2) else None
    for rows in (shape[0] // 10, shape[0]):
        found = dask.array.mean(dask.array.from_array(whole, chunks=(rows,) + shape[1:]), axis=axis).compute()
        print(f"mean of {shape} of {number}, chunks of {rows} rows: dask {np.asarray(found).tolist()}, NumPy {np.mean(whole, axis=axis).tolist()}")
        assert np.array_equal(np.unique(found), [expected], equal_nan=True) and np.asarray(found).dtype == np.float16
        assert np.all(np.mean(whole, axis=axis) == number)
        wide = dask.array.mean(dask.array.from_array(whole, chunks=(rows,) + shape[1:]), axis=axis, dtype=np.float32).compute()
        assert np.all(wide == number)
PYTHON
