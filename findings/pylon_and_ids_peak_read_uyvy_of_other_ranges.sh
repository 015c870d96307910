#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pypylon 26.9 (Basler) and ids_peak_ipl 1.18.0 (IDS), the libraries of two makers of cameras, on the same bytes of UYVY 4:2:2, a format that both
# take for one of the GenICam names: pylon's RGB of the luma 16, 128 and 235 is just that, IDS's is 0, 130 and 255, of limited range. Yet
# to grey, IDS hands the luma on as it is, so that its RGB and its grey of one picture differ. Red as grey is 76 by IDS and 63 by pylon,
# which weighs by 1/4, 5/8 and 1/8.
# Guess before the run: both take the same range, and grey is the same as the grey RGB.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pypylon==26.9 ids_peak_ipl==1.18.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import numpy as np
from ids_peak_ipl import ids_peak_ipl as ids
from pypylon import pylon


def by_pylon(picture, source, target):
    """A picture in another pixel format by Basler's converter."""
    converter, image = pylon.ImageFormatConverter(), pylon.PylonImage()
    image.AttachArray(picture, getattr(pylon, f"PixelType_{source}"))
    converter.OutputPixelFormat = getattr(pylon, f"PixelType_{target}")
    return converter.Convert(image).GetArray()[1, 1].tolist()


def by_ids(picture, source, target):
    """A picture in another pixel format by IDS's converter."""
    memory = bytearray(picture.tobytes())
    height, width = picture.shape[:2]
    image = ids.Image.CreateFromSizeAndPythonBuffer(getattr(ids, f"PixelFormatName_{source}"), memory, width, height)
    found = image.ConvertTo(getattr(ids, f"PixelFormatName_{target}")).get_numpy_1D()
    channels = len(found) // (width * height)
    found = np.array(found).reshape(height, width, channels)[1, 1].tolist()
    return found if channels > 1 else found[0]


for luma, limited in ((16, 0), (128, 130), (235, 255), (255, 255)):
    picture = np.tile(np.uint8([128, luma]), (4, 16, 1))
    found = {"pylon RGB": by_pylon(picture, "YUV422packed", "RGB8packed"), "pylon grey": by_pylon(picture, "YUV422packed", "Mono8"),
             "IDS RGB": by_ids(picture, "YUV422_8_UYVY", "RGB8"), "IDS grey": by_ids(picture, "YUV422_8_UYVY", "Mono8")}
    print(f"UYVY of luma {luma}: {found}")
    assert found == {"pylon RGB": [luma] * 3, "pylon grey": luma, "IDS RGB": [limited] * 3, "IDS grey": luma}
for name, colour, one, other in (("red", (255, 0, 0), 63, 76), ("green", (0, 255, 0), 159, 149), ("blue", (0, 0, 255), 31, 28)):
    picture = np.tile(np.uint8(colour), (4, 16, 1))
    found = by_pylon(picture, "RGB8packed", "Mono8"), by_ids(picture, "RGB8", "Mono8")
    print(f"{name} as grey: {found[0]} by pylon, {found[1]} by IDS")
    assert abs(found[0] - one) <= 1 and abs(found[1] - other) <= 1
PYTHON
