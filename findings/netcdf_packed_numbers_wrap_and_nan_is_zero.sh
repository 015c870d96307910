#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# netCDF4 1.7.5.1 and xarray 2026.9.0: floats packed into integers (scale_factor), the usual form of climate data, are not checked. At a scale of
# 0.01 in int16, 400 becomes -255.36 and -400 255.36; NaN without a _FillValue, and infinity, become 0, in int32 -21474836.48. By netCDF4 NaN is 0
# even where a _FillValue is set; by xarray it is the fill value then. NumPy's warning of an invalid cast is all that comes, for NaN and infinity,
# and none at all for 400. The reader sees numbers like any others.
# Guess before the run: what the integers cannot hold is clipped or refused, and NaN is the fill value.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check netcdf4==1.7.5.1.post1 xarray==2026.9.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import os
import tempfile
import warnings

import netCDF4
import numpy as np
import xarray

numbers = np.array([1.5, 400.0, -400.0, np.inf, np.nan])
folder = tempfile.mkdtemp()
count = iter(range(100))

def by_netcdf4(dtype, fill, numbers):
    path = os.path.join(folder, f"{next(count)}.nc")
    with netCDF4.Dataset(path, "w") as data:
        data.createDimension("x", len(numbers))
        variable = data.createVariable("v", dtype, ("x",), fill_value=fill)
        variable.scale_factor = 0.01
        variable[:] = numbers
    return path

def by_xarray(dtype, fill, numbers):
    path = os.path.join(folder, f"{next(count)}.nc")
    encoding = {"dtype": dtype, "scale_factor": 0.01, "_FillValue": fill}
    xarray.Dataset({"v": ("x", numbers)}).to_netcdf(path, encoding={"v": encoding})
    return path

def read(path):
    with netCDF4.Dataset(path) as data:
        return np.ma.filled(data["v"][:].astype(float), np.nan).round(2).tolist()

for name, write in (("netCDF4", by_netcdf4), ("xarray", by_xarray)):
    for dtype, wrapped, lost in (("i2", [-255.36, 255.36], 0.0), ("i4", [400.0, -400.0], -21474836.48)):
        for fill in (None, -9):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = read(write(dtype, fill, numbers))
            print(f"{name}, {dtype}, _FillValue {fill}: {numbers.tolist()} -> {found}")
            assert found[:4] == [1.5, *wrapped, lost]
            assert np.isnan(found[4]) if name == "xarray" and fill else found[4] == lost
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(write("i2", -9, numbers[:3])) == [1.5, -255.36, 255.36]
PYTHON
