#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# GDAL 3.10.3 (rasterio 1.4.4): reproject by the nearest neighbour, which only copies, takes int64 and uint64 through float64: numbers of cells
# such as 0x085283473fffffff (H3) come back as a neighbour's, and 2 ** 64 - 1 as 0, 2 ** 63 - 1 as -2 ** 63, without an error. A read of the same
# file at another size, by the nearest neighbour, too, is exact. fillnodata takes int32 through float32, and not in the gaps alone: 16777217 is
# 16777216 in each pixel of the result, the valid ones among them. rasterize burns 2 ** 53 + 1 as 2 ** 53.
# Guess before the run: what copies a number leaves it as it is, and a filler changes gaps alone.
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
from rasterio.features import rasterize
from rasterio.fill import fillnodata
from rasterio.transform import from_origin
from rasterio.warp import reproject

warnings.simplefilter("ignore")
print("GDAL", rasterio.__gdal_version__)
grid = {"src_transform": from_origin(0, 4, 1, 1), "dst_transform": from_origin(0, 4, 1, 1), "src_crs": "EPSG:32633", "dst_crs": "EPSG:32633"}
for dtype, number, want in (
    ("int32", 2**31 - 1, 2**31 - 1), ("uint32", 2**32 - 1, 2**32 - 1), ("int64", 2**53, 2**53), ("int64", 2**53 + 1, 2**53),
    ("int64", 0x085283473FFFFFFF, 0x0852834740000000), ("int64", 2**63 - 1, -(2**63)), ("uint64", 2**64 - 1, 0),
):
    picture = np.full((4, 4), number, dtype)
    warped = np.zeros_like(picture)
    reproject(picture, warped, resampling=Resampling.nearest, **grid)
    with rasterio.io.MemoryFile() as memory:
        with memory.open(driver="GTiff", width=4, height=4, count=1, dtype=dtype) as data:
            data.write(picture, 1)
        with memory.open() as data:
            halved = data.read(1, out_shape=(2, 2), resampling=Resampling.nearest)
    print(f"{dtype}, {number}: reproject {warped[1, 1]}, read at half size {halved[0, 0]}")
    assert (warped == want).all() and (halved == number).all()
valid = np.ones((3, 3), np.uint8)
valid[1, 1] = 0
filled = fillnodata(np.full((3, 3), 2**24 + 1, np.int32), mask=valid)
print("fillnodata of 16777217 around a gap:", filled.tolist())
assert (filled == 2**24).all()
square = {"type": "Polygon", "coordinates": [[(0, 0), (4, 0), (4, 4), (0, 4), (0, 0)]]}
burnt = rasterize([(square, 2**53 + 1)], out_shape=(4, 4), transform=from_origin(0, 4, 1, 1), dtype="int64")
print("rasterize of 2 ** 53 + 1:", burnt[0, 0])
assert (burnt == 2**53).all()
PYTHON
