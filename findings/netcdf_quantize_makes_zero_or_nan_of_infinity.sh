#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# netCDF4 1.7.5.1 (netCDF-C 4.10.1): floats rounded before they are compressed (significant_digits) lose infinity without an error. By "BitGroom",
# the default of quantize_mode, infinity stays at even places and is NaN at odd ones, as the mode sets bits and clears them in turn. By
# "GranularBitRound" it is zero with the other sign, at each place. "BitRound" keeps it. NaN and zero stay in all three, in float32 and float64,
# and finite numbers are as close as asked. So a saturated value becomes a missing one, or the middle of the range.
# Guess before the run: what has no digits to round stays as it is, whatever the mode and the place.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check netcdf4==1.7.5.1.post1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import os
import tempfile

import netCDF4
import numpy as np

print("netCDF-C", netCDF4.__netcdf4libversion__)
numbers = np.array([np.inf, np.inf, -np.inf, -np.inf, np.nan, np.nan, 0.0, 0.0, 1.2345678, -1234567.8, 1e30, 1e30])
want = {
    "BitGroom": [np.inf, np.nan, -np.inf, np.nan], "GranularBitRound": [-0.0, -0.0, 0.0, 0.0], "BitRound": [np.inf, np.inf, -np.inf, -np.inf],
}
path = os.path.join(tempfile.mkdtemp(), "data.nc")
with netCDF4.Dataset(path, "w") as data:
    data.createDimension("x", len(numbers))
    for mode in want:
        for digits in (3, 6):
            for dtype in ("f4", "f8"):
                settings = {"significant_digits": digits if mode != "BitRound" else 3 * digits + 2, "quantize_mode": mode, "zlib": True}
                data.createVariable(f"{mode} {digits} {dtype}", dtype, ("x",), **settings)[:] = numbers
with netCDF4.Dataset(path) as data:
    for name in data.variables:
        found = np.ma.getdata(data[name][:])
        print(f"{name}: {found.tolist()}")
        mode, digits, _ = name.split()
        assert np.isnan(found[4:6]).all() and np.allclose(found[6:], numbers[6:], rtol=10.0 ** (1 - int(digits)), atol=0)
        assert np.array_equal(found[:4], want[mode], equal_nan=True)
        assert mode != "GranularBitRound" or np.array_equal(np.signbit(found[:4]), [True, True, False, False])
PYTHON
