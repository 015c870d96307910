#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# FFmpeg 8 (PyAV 18.1.0) stretches each grey FITS picture from its own darkest number to its own brightest one: a spot of 120 on a ground of 100 and
# one of 240 on the same ground both become 65535 on 0, so that the frames of a sequence have no common scale, and a picture of one number is
# black, whatever the number. 8, 16 and 32 bits and floats are the same. FITS with the optional keywords DATAMIN and DATAMAX, as FFmpeg
# itself writes them, keep their numbers, which hides it. astropy 7.1.0, which wrote the files, reads the numbers.
# Guess before the run: 8 and 16 bits keep their numbers, as with PNG and TIFF.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check av==18.1.0 astropy==7.1.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import io

import av
import numpy as np
from astropy.io import fits


def read(kind, spot, **keywords):
    """What FFmpeg makes of a picture of 100 with one pixel of another number, and the name of its format."""
    picture = np.full((8, 16), 100, kind)
    picture[0, 3] = spot
    unit, file = fits.PrimaryHDU(picture), io.BytesIO()
    unit.header.update(keywords)
    unit.writeto(file)
    assert np.array_equal(fits.getdata(io.BytesIO(file.getvalue())), picture)
    with av.open(io.BytesIO(file.getvalue()), format="fits") as source:
        frame = next(source.decode(video=0))
    found = frame.to_ndarray()
    return int(found[0, 0]), int(found[7, 3]), frame.format.name


print("PyAV", av.__version__, "libavcodec", av.library_versions["libavcodec"])
for kind in ("uint8", "int16", "uint16", "int32", "float32", "float64"):
    white = 255 if kind == "uint8" else 65535
    for spot, seen in ((120, (0, white)), (240, (0, white)), (100, (0, 0))):
        ground, brightest, name = read(kind, spot)
        print(f"{kind}: {spot} on a ground of 100 is {brightest} on {ground} in {name}")
        assert (ground, brightest) == seen
    ground, brightest, name = read(kind, 120, DATAMIN=0, DATAMAX=white)
    print(f"{kind}: with DATAMIN and DATAMAX it is {brightest} on {ground}")
    assert (ground, brightest) == (100, 120)
PYTHON
