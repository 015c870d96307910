#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenCV 5.0.0 (opencv-python-headless 5.0.0.93): imencode to Radiance HDR makes bytes of a float64 picture, so that radiances of 0 to 0.5 are stored
# as 0 and 89.74 as 0.35, without an error; float16 is scaled so, too. float32 is stored as it is. uint8 is scaled to 0 to 1, but
# uint16 to 0 to 256. PFM stores the numbers themselves of all five types.
# Guess before the run: a format of floats stores float64 as it stores float32, up to rounding.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check opencv-python-headless==5.0.0.93 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import cv2
import numpy as np


def stored(number, dtype, ending):
    """A number of an even picture as it comes back from a file in memory."""
    written, data = cv2.imencode(ending, np.full((8, 8, 3), number, dtype))
    assert written
    return float(cv2.imdecode(data, cv2.IMREAD_UNCHANGED)[4, 4, 1])


cv2.utils.logging.setLogLevel(cv2.utils.logging.LOG_LEVEL_SILENT)
seen = {(np.float32, 0.5): 0.5, (np.float64, 0.5): 0, (np.float64, 0.25): 0, (np.float32, 89.75): 89.5, (np.float64, 89.75): 90 / 256,
        (np.float16, 89.75): 90 / 256, (np.uint8, 255): 1, (np.uint16, 65535): 256}
for (dtype, number), expected in seen.items():
    hdr, pfm = stored(number, dtype, ".hdr"), stored(number, dtype, ".pfm")
    print(f"{number} of {np.dtype(dtype)}: HDR {hdr}, PFM {pfm}")
    assert abs(hdr - expected) <= 0.01 * expected and pfm == number
PYTHON
