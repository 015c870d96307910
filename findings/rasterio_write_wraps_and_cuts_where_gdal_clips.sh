#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# rasterio 1.4.4 (GDAL 3.10.3): write of floats, or of wider integers, to a raster of a smaller type wraps and cuts without an error or a warning
# of its own: to uint8, 300 is 44, -5 is 251 and 1.7 is 1; to int16, 40000 is -25536 and NaN 0. GDAL, to which the file is handed, clips and
# rounds: its reproject of the same numbers to the same types has 255, 0 and 2. So a reflectance above 1 becomes a dark pixel, a nodata of -9999
# in a file of bytes is 241, and the result depends on which of the two calls made the file.
# Guess before the run: a write is GDAL's: clipped and rounded, or refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check rasterio==1.4.4 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import numpy as np
import rasterio
from rasterio.enums import Resampling
from rasterio.transform import from_origin
from rasterio.warp import reproject

warnings.simplefilter("ignore")
grid = {"src_transform": from_origin(0, 1, 1, 1), "dst_transform": from_origin(0, 1, 1, 1), "src_crs": "EPSG:32633", "dst_crs": "EPSG:32633"}
for dtype, numbers, want in (
    ("uint8", [1.7, 300.0, -5.0, -9999.0], [1, 44, 251, 241]), ("int16", [1.7, 40000.0, -40000.0, np.nan], [1, -25536, 25536, 0]),
    ("int16", [1, 70000, -70000, 2**40], [1, 4464, -4464, 0]),
):
    picture = np.array([numbers])
    with rasterio.io.MemoryFile() as memory:
        with memory.open(driver="GTiff", width=4, height=1, count=1, dtype=dtype) as data:
            data.write(picture, 1)
        with memory.open() as data:
            found = data.read(1)[0].tolist()
    warped = np.zeros((1, 4), dtype)
    reproject(picture, warped, resampling=Resampling.nearest, **grid)
    limits = np.iinfo(dtype)
    print(f"{numbers} as {dtype}: written {found}, by reproject {warped[0].tolist()}")
    assert found == want
    whole = np.isfinite(picture[0])
    assert np.array_equal(warped[0][whole], np.clip(np.round(picture[0][whole]), limits.min, limits.max))
PYTHON
