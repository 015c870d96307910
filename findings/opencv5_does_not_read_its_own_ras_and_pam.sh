#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenCV 5.0.0 (opencv-python-headless 5.0.0.93) misreads what it writes in two formats without compression. A grey Sun raster is black, read
# unchanged or as grey, and right only as colour; one of four channels loses its first, so that blue, green, red is green, red, alpha. Pillow
# 13.0.0 reads both files right. PAM of four channels or of 16 bits is written, and then not read at all: imdecode gives None.
# Guess before the run: what a library writes it reads back, in formats as plain as these.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check opencv-python-headless==5.0.0.93 pillow==13.0.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import io

import cv2
import numpy as np
from PIL import Image

cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
for level in (1, 77, 255):
    written, data = cv2.imencode(".ras", np.full((16, 16), level, np.uint8))
    found = {name: np.unique(cv2.imdecode(data, mode)).tolist() for name, mode in
             (("unchanged", cv2.IMREAD_UNCHANGED), ("grey", cv2.IMREAD_GRAYSCALE), ("colour", cv2.IMREAD_COLOR))}
    by_pillow = np.unique(np.array(Image.open(io.BytesIO(data.tobytes())))).tolist()
    print(f"grey {level} by way of RAS: {found}, to Pillow {by_pillow}")
    assert written and found == {"unchanged": [0], "grey": [0], "colour": [level]} and by_pillow == [level]
written, data = cv2.imencode(".ras", np.tile(np.uint8([10, 20, 30, 255]), (16, 16, 1)))
found, by_pillow = cv2.imdecode(data, cv2.IMREAD_UNCHANGED)[8, 8].tolist(), np.array(Image.open(io.BytesIO(data.tobytes())))[8, 8].tolist()
print(f"blue 10, green 20, red 30, alpha 255 by way of RAS: {found}, to Pillow {by_pillow} of RGB")
assert written and found == [20, 30, 255] and by_pillow == [30, 20, 10]
for dtype in (np.uint8, np.uint16):
    for channels in (1, 3, 4):
        picture = np.random.default_rng(0).integers(0, np.iinfo(dtype).max, (4, 6, channels)).astype(dtype)
        written, data = cv2.imencode(".pam", picture)
        found = cv2.imdecode(data, cv2.IMREAD_UNCHANGED)
        print(f"PAM of {np.dtype(dtype)}, {channels} channels: written {written}, read {found is not None}")
        assert written and (found is None) == (dtype == np.uint16 or channels == 4)
        assert found is None or np.array_equal(found.reshape(picture.shape), picture)
PYTHON
