#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fitsio 1.4.2 (CFITSIO): an image of float32 or float64 with infinities is written with NaN in their places, without a word: astropy 7.1.0 finds NaN
# in the file, too. A table of the same numbers keeps them, and so does fitsio's reader with images that astropy wrote. So a saturated pixel or a
# depth of infinity becomes a missing one. With compress="GZIP", a codec without loss, noise of one unit is off by up to 0.16, as floats are cut
# to steps first; qlevel=0 keeps them, but for the infinities. RICE refuses qlevel=0.
# Guess before the run: FITS holds IEEE floats, all of them, and an image is written as it is, as in a table.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check fitsio==1.4.2 astropy==7.1.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - "$folder" <<'PYTHON'
import pathlib
import sys

import fitsio
import numpy as np
from astropy.io import fits

path = str(pathlib.Path(sys.argv[1], "numbers.fits"))
for dtype in (np.float32, np.float64):
    numbers = np.array([np.nan, np.inf, -np.inf, 1.5, -0.0], dtype)
    lost = np.array([np.nan, np.nan, np.nan, 1.5, -0.0], dtype)
    fitsio.write(path, numbers, clobber=True)
    found, by_astropy = fitsio.read(path), fits.getdata(path)
    print(f"{np.dtype(dtype)} {numbers.tolist()} as an image: fitsio {found.tolist()}, astropy {by_astropy.tolist()}")
    assert np.array_equal(found, lost, equal_nan=True) and np.array_equal(by_astropy, lost, equal_nan=True)
    table = np.zeros(5, [("x", dtype)])
    table["x"] = numbers
    fitsio.write(path, table, clobber=True)
    print("    as a table:", fitsio.read(path)["x"].tolist())
    assert np.array_equal(fitsio.read(path)["x"], numbers, equal_nan=True)
    fits.writeto(path, numbers, overwrite=True)
    print("    written by astropy:", fitsio.read(path).tolist())
    assert np.array_equal(fitsio.read(path), numbers, equal_nan=True)
noise = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
errors = {}
for settings in ({}, {"compress": "GZIP"}, {"compress": "GZIP", "qlevel": 0}):
    fitsio.write(path, noise, clobber=True, **settings)
    errors[str(settings)] = float(np.abs(fitsio.read(path) - noise).max())
print("largest errors of noise of one unit:", errors)
assert list(errors.values())[::2] == [0, 0] and 0.1 < errors[str({"compress": "GZIP"})] < 0.25
try:
    fitsio.write(path, noise, clobber=True, compress="RICE", qlevel=0)
    raise SystemExit("RICE takes floats without steps now")
except OSError:
    pass
PYTHON
