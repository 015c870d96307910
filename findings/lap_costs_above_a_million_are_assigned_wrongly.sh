#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lap 0.5.13 (the assignment of many trackers): lapjv takes a million for infinity. As soon as costs are above it, it answers with a pairing that
# is not the cheapest, without a word: for [[5 8 4] [6 7 4] [8 4 4]] millions it finds 14 millions, SciPy 13. For random costs up to 1e7 nearly
# half of the answers are wrong, up to three times as dear; for ten points and ten others anywhere in a picture of 3840 x 2160, with squared
# distances in pixels, a half. extend_cost=True is the same. lapmod refuses such costs, and up to a million all are right.
# Guess before the run: the scale of the costs does not change the pairing, as floats hold them all.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check lap==0.5.13 scipy==1.17.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import lap
import numpy as np
from scipy.optimize import linear_sum_assignment

def dearer(costs, **settings):
    rows, columns = linear_sum_assignment(costs)
    found = lap.lapjv(costs, **settings)[1]
    paid = sum(costs[row, column] for row, column in enumerate(found) if column >= 0)
    return paid / costs[rows, columns].sum() if (found >= 0).sum() == len(rows) else np.inf

small = np.array([[5.0, 8, 4], [6, 7, 4], [8, 4, 4]])
print("3 x 3:", lap.lapjv(small)[0], "and in millions", lap.lapjv(small * 1e6)[0] / 1e6, "as", lap.lapjv(small * 1e6)[1].tolist())
assert lap.lapjv(small)[0] == 13 and lap.lapjv(small * 1e6)[0] == 14e6 and linear_sum_assignment(small * 1e6)[1].tolist() == [0, 2, 1]
try:
    lap.lapmod(3, (small * 1e6).ravel(), np.arange(0, 10, 3, dtype=np.int32), np.tile(np.arange(3, dtype=np.int32), 3))
    raise SystemExit("lapmod takes costs above a million")
except ValueError as error:
    print("lapmod:", error)
rng = np.random.default_rng(0)
for scale in (1.0, 1e5, 1e6, 2e6, 1e7, 1e9):
    square = [dearer(rng.random((6, 6)) * scale) for _ in range(200)]
    wide = [dearer(rng.random((4, 7)) * scale, extend_cost=True) for _ in range(200)]
    wrong = [sum(ratio > 1 + 1e-9 for ratio in ratios) for ratios in (square, wide)]
    print(f"costs up to {scale:.0e}: {wrong[0]} of 200 wrong, the worst {max(square):.2f} times as dear; 4 x 7 {wrong[1]}")
    assert wrong == [0, 0] if scale <= 1e6 else min(wrong) > 0
    assert scale < 1e7 or min(wrong) > 50
places = [(rng.random((10, 2)) * [3840, 2160], rng.random((10, 2)) * [3840, 2160]) for _ in range(200)]
squared = sum(dearer(((a[:, None] - b[None]) ** 2).sum(-1)) > 1 + 1e-9 for a, b in places)
plain = sum(dearer(np.sqrt(((a[:, None] - b[None]) ** 2).sum(-1))) > 1 + 1e-9 for a, b in places)
print(f"4K pictures: {squared} of 200 wrong with squared distances, {plain} with distances")
assert squared > 60 and plain == 0
PYTHON
