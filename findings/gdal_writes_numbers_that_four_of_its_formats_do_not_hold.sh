#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# GDAL 3.10.3 (rasterio 1.4.4): four drivers take a type, write the file, and hand out other numbers from it, without an error or a warning. PCIDSK of
# float64, int32 or uint32 becomes uint8, modulo 256: 300 is 44 and -2.5 is 254, while float32, uint16 and int16 are right. HF2, for heights,
# makes 1.2e-38 of each number below 0, in float32 and in int16, so that the sea's floor is at its surface. ENVI makes uint8 of int8, so that -1
# is 255. FIT of uint16 has the first band right and in the others the bytes of two bands mixed: twos are 513. GTiff keeps all of these.
# Guess before the run: a driver that takes a type holds it, or refuses it; where one clips, it gives a warning, as the driver of JPEG does.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check rasterio==1.4.4 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import logging
import pathlib
import tempfile
import warnings

import numpy as np
import rasterio

warnings.simplefilter("ignore", rasterio.errors.NotGeoreferencedWarning)
said = []
handler = logging.Handler()
handler.emit = lambda record: said.append(record.getMessage())
logging.getLogger("rasterio").addHandler(handler)


def back(driver, array):
    """Bands, rows and columns as they come back from a file of a driver."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "picture.bin")
        bands, height, width = array.shape
        with rasterio.open(path, "w", driver=driver, width=width, height=height, count=bands, dtype=array.dtype) as file:
            file.write(array)
        with rasterio.open(path) as file:
            return file.read()


print("GDAL", rasterio.__gdal_version__)
numbers = np.tile([0, 1, 300, -2.5, 1e6, 254.5, 2, 3], (1, 8, 1))
for driver, dtype, expected in (
        ("PCIDSK", np.float64, [0, 1, 44, 254, 64, 254, 2, 3]), ("PCIDSK", np.int32, [0, 1, 44, 254, 64, 254, 2, 3]),
        ("PCIDSK", np.uint32, [0, 1, 44, 254, 64, 254, 2, 3]), ("PCIDSK", np.float32, None), ("PCIDSK", np.int16, None),
        ("HF2", np.float32, [0, 1, 300, 0, 1e6, 254.5, 2, 3]), ("HF2", np.int16, [0, 1, 300, 0, 16960, 254, 2, 3]),
        ("ENVI", np.int8, [0, 1, 44, 254, 64, 254, 2, 3]), ("ENVI", np.int16, None)):
    given = numbers.astype(np.int64).astype(dtype) if np.issubdtype(dtype, np.integer) else numbers.astype(dtype)
    found = back(driver, given)
    print(f"{driver} {given[0, 0].tolist()} of {given.dtype}: {found[0, 0].tolist()} of {found.dtype}")
    assert np.array_equal(back("GTiff", given), given)
    if expected is None:
        assert found.dtype == dtype and np.array_equal(found, given)
    else:
        assert np.allclose(found[0, 0], expected, atol=20 if driver == "HF2" else 0) and (found >= 0).all()
    if driver == "HF2":
        assert 0 < found[0, 0, 3] < 2e-38
    elif expected is not None:
        assert found.dtype == np.uint8
small = back("HF2", np.float32([[[0.5, 1, 2, 3, -1, -100, 4, 5]] * 8]))[0, 0]
print("HF2 of small heights:", small.tolist())
assert np.allclose(small, [0.5, 1, 2, 3, 0, 0, 4, 5], atol=0.01)
bands = np.stack([np.full((4, 6), level, np.uint16) for level in (1, 2, 3)])
found = back("FIT", bands)
print("FIT, bands of 1, 2 and 3:", [np.unique(band).tolist() for band in found], found.dtype)
assert np.unique(found[0]).tolist() == [1] and np.unique(found[1]).tolist() == [513] and np.unique(found[2]).tolist() == [768]
assert np.array_equal(back("FIT", bands.astype(np.uint8)), bands) and np.array_equal(back("GTiff", bands), bands)
print("said by GDAL:", said)
assert not said
PYTHON
