#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenCV 5.0.0 (opencv-python-headless 5.0.0.93): of a TIFF of 8 bits whose alpha is marked as unassociated, as Pillow 13.0.0 writes it, imdecode
# multiplies the colours by the alpha: 200, 100, 50 at half opacity are read as 100, 50, 25. At 16 bits they are not multiplied, nor if the
# alpha is marked as associated, where that is what they hold already, nor in a PNG of the same picture. So nothing tells the two kinds apart.
# Guess before the run: the colours are those in the file, as with PNG, whatever the bits.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
  opencv-python-headless==5.0.0.93 tifffile==2026.3.3 pillow==13.0.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import io

import cv2
import numpy as np
import tifffile
from PIL import Image

colour = np.uint8([200, 100, 50, 128])


def by_opencv(file):
    """Red, green, blue and alpha of a picture of one colour in a file in memory."""
    return cv2.imdecode(np.frombuffer(file.getvalue(), np.uint8), cv2.IMREAD_UNCHANGED)[8, 8][[2, 1, 0, 3]].tolist()


for form in ("PNG", "TIFF"):
    file = io.BytesIO()
    Image.frombytes("RGBA", (16, 16), np.tile(colour, (16, 16, 1)).tobytes()).save(file, form)
    print(f"{colour.tolist()} written by Pillow as {form}: {by_opencv(file)}")
    assert by_opencv(file) == ([100, 50, 25, 128] if form == "TIFF" else colour.tolist())
for dtype, factor in ((np.uint8, 1), (np.uint16, 257)):
    for kind in ("unassalpha", "assocalpha"):
        file, picture = io.BytesIO(), np.tile(colour.astype(dtype) * dtype(factor), (16, 16, 1))
        tifffile.imwrite(file, picture, photometric="rgb", extrasamples=[kind])
        found, stored = by_opencv(file), tifffile.imread(io.BytesIO(file.getvalue()))
        print(f"{picture[0, 0].tolist()} of {np.dtype(dtype)}, {kind}: {found}")
        assert np.array_equal(stored, picture)
        assert found == ([100, 50, 25, 128] if dtype == np.uint8 and kind == "unassalpha" else picture[0, 0].tolist())
PYTHON
