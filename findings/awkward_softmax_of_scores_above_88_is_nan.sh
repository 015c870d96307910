#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# awkward 2.14.0 (NumPy for ragged rows): ak.softmax divides the exponentials by their sum without taking the largest score off
# first. So [88, 89] of float32 and [709, 710] of float64 become [0, NaN], [-800, -801] is [NaN, NaN], and a row with one score above 88 is lost
# whole; the same differences near 0 are right. SciPy's softmax of the same rows is right. ak.linear_fit has the like: a line through x of 1e8,
# 1e8 + 1 and 1e8 + 2, such as sample numbers, has the slope infinity, where x of 1e6 gives 2, the true one.
# Guess before the run: a library's softmax is the stable one, for which the difference of scores alone counts.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check awkward==2.14.0 scipy==1.17.1 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import awkward as ak
import numpy as np
from scipy.special import softmax

for dtype, rows in ((np.float32, [[0, 1], [87, 88], [88, 89], [-105, -106]]), (np.float64, [[0, 1], [708, 709], [709, 710], [-800, -801]])):
    found = ak.softmax(ak.values_astype(ak.Array(rows), dtype), axis=1).tolist()
    for number, (row, answer) in enumerate(zip(rows, found)):
        right = softmax(dtype(row))
        print(np.dtype(dtype), row, "awkward:", answer, "SciPy:", right.tolist())
        assert np.isfinite(right).all() and np.isclose(right.sum(), 1)
        if number == 0:
            assert np.allclose(answer, right, rtol=1e-6)
        elif number == 2:
            assert answer[0] == 0 and np.isnan(answer[1])
        elif number == 3:
            assert np.isnan(answer).all()
ragged = ak.softmax(ak.values_astype(ak.Array([[1, 2, 3], [1, 95]]), np.float32), axis=1).tolist()
print("rows with and without one score of 95:", ragged)
assert np.allclose(ragged[0], softmax([1, 2, 3]), rtol=1e-6) and ragged[1][0] == 0 and np.isnan(ragged[1][1])
for start, slope in ((0, 2), (1e6, 2), (1e8, np.inf)):
    found = ak.linear_fit(ak.Array([start, start + 1, start + 2]), ak.Array([1.0, 3.0, 5.0]))["slope"]
    print(f"slope of y = 1, 3, 5 over x from {start:g}: awkward {found}, NumPy {np.polyfit([start, start + 1, start + 2], [1, 3, 5], 1)[0]}")
    assert found == slope
PYTHON
