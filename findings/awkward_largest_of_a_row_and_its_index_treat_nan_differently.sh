#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# awkward 2.14.0: ak.max along rows passes over NaN, though ak.nanmax exists for that, and ak.max of the whole array is NaN, as NumPy's. ak.argmax is
# another matter: where a row begins with NaN it is 0, the index of NaN, whatever follows, and elsewhere NaN is passed over. So of [NaN, 2, 1] the
# largest is 2 and its index 0; of [1, 2, NaN] they are 2 and 1. ak.min and ak.argmin do the same. A row of NaN alone has the largest -infinity,
# and the smallest infinity. ak.sort puts NaN first, NumPy last; so the last of a sorted row is a number, and NumPy's is not.
# Guess before the run: NumPy's answers along rows, as everywhere else in awkward, where both are defined: NaN wins, and its index with it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check awkward==2.14.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import awkward as ak
import numpy as np

nan, inf = np.nan, np.inf
cases = (([nan, 2, 1], 2, 0, 1, 0), ([1, 2, nan], 2, 1, 1, 0), ([2, nan, 1], 2, 0, 1, 2), ([nan], -inf, 0, inf, 0))
for row, *expected in cases:
    array = ak.Array([row])
    found = [function(array, axis=1)[0].item() for function in (ak.max, ak.argmax, ak.min, ak.argmin)]
    by_numpy = [function([row], axis=1)[0].item() for function in (np.max, np.argmax, np.min, np.argmin)]
    print(row, "largest, its index, smallest, its index:", found, "NumPy:", by_numpy)
    assert found == expected
    assert np.isnan(by_numpy[0]) and np.isnan(by_numpy[2]) and by_numpy[1] == by_numpy[3] == row.index(nan)
whole = ak.Array([row for row, *_ in cases])
print("largest of all:", ak.max(whole), "by rows:", ak.max(whole, axis=1).tolist(), "nanmax by rows:", ak.nanmax(whole, axis=1).tolist())
assert np.isnan(ak.max(whole)) and ak.nanmax(whole, axis=1).tolist() == [2, 2, 2, None]
ordered = ak.sort(ak.Array([[3, nan, 1]]), axis=1)[0].tolist()
print("sorted:", ordered, "NumPy:", np.sort([3, nan, 1]).tolist())
assert np.isnan(ordered[0]) and ordered[1:] == [1, 3] and np.isnan(np.sort([3, nan, 1])[2])
PYTHON
