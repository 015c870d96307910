#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# kornia_rs 0.2.0: ycbcr_from_rgb, documented as RGB to YCbCr, gives Y, Cr, Cb, the order that OpenCV calls YCrCb, for uint8 and float32. So
# pure red has 255 in its second channel, Cb, and 85 in the third. rgb_from_ycbcr takes the same order, so YCbCr pictures of JPEG come out
# with red and blue exchanged.
# Guess before the run: the channels are Y, Cb and Cr, as the name and the documentation say.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check kornia_rs==0.2.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
from kornia_rs import imgproc

print("documentation:", imgproc.ycbcr_from_rgb.__doc__)
red = np.zeros((2, 2, 3), np.uint8)
red[..., 0] = 255
ycbcr = np.array([76, 85, 255], np.uint8)  # JPEG's Y, Cb and Cr of red
found, floats = imgproc.ycbcr_from_rgb(red)[0, 0], imgproc.ycbcr_from_rgb(red.astype(np.float32) / 255)[0, 0]
back = imgproc.rgb_from_ycbcr(np.tile(ycbcr, (2, 2, 1)))[0, 0]
print("red as YCbCr:", found, "and as float32:", floats, "where JPEG has", ycbcr)
print("JPEG's YCbCr of red back to RGB:", back)
assert "YCbCr" in imgproc.ycbcr_from_rgb.__doc__
assert np.abs(found.astype(int) - ycbcr[[0, 2, 1]]).max() <= 1
assert np.allclose(floats, ycbcr[[0, 2, 1]] / 255, atol=0.005)
assert back[2] > 200 > 60 > back[0]
PYTHON
