#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# awkward 2.14.0: ak.sum along rows adds float32 up one after the other in float32, so that a row of 33 million ones has the sum 16777216, and as many
# numbers of 0.1 have 2.1 millions, not 3.36. ak.mean of the same rows is right, 1 and 0.1, as it adds up in float64: sum, count and mean of one row
# contradict each other. ak.sum of the whole array is right, too, since NumPy makes it, which adds up in pairs.
# Guess before the run: the sum of rows is made as that of the whole is, or else in float64 as the mean is.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check awkward==2.14.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import awkward as ak
import numpy as np

count = 2 ** 25
for number, expected in ((np.float32(1), 2 ** 24), (np.float32(0.1), 2 ** 21)):
    flat = np.full(count, number, np.float32)
    rows = ak.unflatten(ak.Array(flat), [count - 1000, 1000])
    sums, means, counts = (function(rows, axis=1).tolist() for function in (ak.sum, ak.mean, ak.count))
    whole, by_numpy = float(ak.sum(rows)), float(np.sum(flat[:count - 1000]))
    print(f"{number}: sums {sums}, means {means}, counts {counts}; of all {whole}; NumPy's sum of the first row {by_numpy}")
    assert counts == [count - 1000, 1000] and sums[0] == expected and np.isclose(sums[1], 1000 * number, rtol=1e-4)
    assert np.allclose(means, number, rtol=1e-6) and np.isclose(whole, count * float(number), rtol=1e-5)
    assert np.isclose(by_numpy, means[0] * counts[0], rtol=1e-5)
PYTHON
