#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# dask 2026.8.0, dask.array: average of bytes with weights of bytes multiplies them as bytes, and divides what has wrapped: 200 and 100 with the
# weights 2 and 1 have the average 81.33, below both, where NumPy 2.4.6 has 166.67; a picture of 200 all over, weighted by a mask of 255, averages
# 0.22. So it is with int16: 30000 and 20000 by 2 and 1 average 4821. Without weights, and with weights of floats, the average is right.
# Guess before the run: average is NumPy's, which turns both into floats before it multiplies.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check dask[array]==2026.8.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import dask.array
import numpy as np

for numbers, weights, wrong in ((np.uint8([200, 100]), np.uint8([2, 1]), 244 / 3), (np.uint8([255, 255]), np.uint8([2, 1]), 509 / 3),
                                (np.full((8, 8), 200, np.uint8), np.full((8, 8), 255, np.uint8), 56 / 255),
                                (np.int16([30000, 20000]), np.int16([2, 1]), (30000 * 2 - 2 ** 16 + 20000) / 3)):
    right = np.average(numbers, weights=weights)
    for chunk in (1, 2, 8):
        chunked = dask.array.from_array(numbers, chunks=chunk)
        for given in (weights, dask.array.from_array(weights, chunks=chunk)):
            found = float(dask.array.average(chunked, weights=given).compute())
            assert np.isclose(found, wrong) and not np.isclose(found, right)
        assert np.isclose(float(dask.array.average(chunked, weights=weights.astype(np.float64)).compute()), right)
        assert np.isclose(float(dask.array.average(chunked).compute()), numbers.mean())
    print(f"{np.unique(numbers).tolist()} of {numbers.dtype} by {np.unique(weights).tolist()}: dask {found}, NumPy {right}")
PYTHON
