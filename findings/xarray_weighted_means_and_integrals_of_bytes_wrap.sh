#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# xarray 2026.9.0: weighted(w).mean of bytes with weights of bytes multiplies and adds up in 8 bits: 200, 100 and 50 by 2, 1 and 1 have the mean
# 9.5, below all of them, not 137.5. integrate has 97 for the area of 225 under the same three, and cumulative_integrate 0, 22, 97, as neighbours
# are added in 8 bits; dot wraps, too. mean, rolling, coarsen, interp and differentiate of the same array are right. mean of float16, which passes
# over NaN by default, is infinite as soon as the sum is above 65504, as of 70000 threes; with skipna=False, and in NumPy 2.4.6, it is 3.
# Guess before the run: a mean lies between the least and the greatest number, as mean() without weights does.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check xarray==2026.9.0 scipy==1.16.3 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import numpy as np
import xarray

warnings.simplefilter("ignore")
numbers = xarray.DataArray(np.array([200, 100, 50], np.uint8), dims="x", coords={"x": [0, 1, 2]})
weights = xarray.DataArray(np.array([2, 1, 1], np.uint8), dims="x")
found = {
    "weighted mean": float(numbers.weighted(weights).mean()), "with weights of floats": float(numbers.weighted(weights.astype(float)).mean()),
    "integral": float(numbers.integrate("x")), "integral of floats": float(numbers.astype(float).integrate("x")),
    "cumulative integral": numbers.cumulative_integrate("x").values.tolist(), "dot": int(xarray.dot(numbers, numbers)),
    "mean": round(float(numbers.mean()), 3), "rolling sum": float(numbers.rolling(x=2).sum()[1]), "between": numbers.interp(x=[0.5]).values.tolist(),
}
for name, value in found.items():
    print(f"{name} of 200, 100, 50: {value}")
assert found["weighted mean"] == 9.5 and found["with weights of floats"] == 137.5
assert found["integral"] == 97 and found["integral of floats"] == 225 and found["cumulative integral"] == [0, 22, 97]
assert found["dot"] == (200**2 + 100**2 + 50**2) % 256 and found["mean"] == 116.667
assert found["rolling sum"] == 300 and found["between"] == [150]
halves = xarray.DataArray(np.full(70000, 3, np.float16))
print("70000 threes of float16: mean", float(halves.mean()), "without skipna", float(halves.mean(skipna=False)), "NumPy", float(halves.values.mean()))
assert np.isinf(halves.mean()) and np.isinf(halves.std()) and halves.values.mean() == 3
PYTHON
