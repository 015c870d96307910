#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pypylon 26.9 (Basler), PylonImage: an RGB picture that Save wrote as PNG is Loaded as BGR, so that GetArray gives it with red and blue exchanged, while
# from TIFF it is RGB as before; PNG and TIFF themselves are right. A Mono12 picture comes back as Mono16, 16 times as bright: its white,
# 4095, is 65520. The converter's Mono16 of the same picture is 4095, so the library has two 16-bit forms of one picture.
# Guess before the run: what is saved without loss is loaded as it was, or as the converter has it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pypylon==26.9 pillow==13.0.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - "$folder" <<'PYTHON'
import pathlib
import sys

import numpy as np
from PIL import Image
from pypylon import pylon


def attached(picture, kind):
    """An image over an array."""
    image = pylon.PylonImage()
    image.AttachArray(picture, kind)
    return image


formats = {"png": pylon.ImageFileFormat_Png, "tiff": pylon.ImageFileFormat_Tiff}
colour, grey = np.tile(np.uint8([255, 0, 9]), (4, 4, 1)), np.tile(np.uint16([0, 1000, 2048, 4095]), (4, 1))
for name, kind, picture in (("RGB", pylon.PixelType_RGB8packed, colour), ("Mono12", pylon.PixelType_Mono12, grey)):
    for ending, form in formats.items():
        path = pathlib.Path(sys.argv[1]) / f"picture.{ending}"
        attached(picture, kind).Save(form, str(path))
        loaded = pylon.PylonImage()
        loaded.Load(str(path))
        by_pylon, by_pillow = loaded.GetArray()[0], np.array(Image.open(path))[0]
        print(f"{name} by way of {ending}: {picture[0].tolist()} is {by_pylon.tolist()} to pylon, {by_pillow.tolist()} to Pillow")
        if name == "RGB":
            swapped = ending == "png"
            assert loaded.GetPixelType() == (pylon.PixelType_BGR8packed if swapped else kind)
            assert np.array_equal(by_pylon, picture[0][:, ::-1] if swapped else picture[0]) and np.array_equal(by_pillow, picture[0])
        else:
            assert loaded.GetPixelType() == pylon.PixelType_Mono16
            assert np.array_equal(by_pylon, picture[0] * 16) and np.array_equal(by_pillow, picture[0] * 16)
converter = pylon.ImageFormatConverter()
converter.OutputPixelFormat = pylon.PixelType_Mono16
found = converter.Convert(attached(grey, pylon.PixelType_Mono12)).GetArray()[0]
print("Mono12 converted to Mono16:", found.tolist())
assert np.array_equal(found, grey[0])
PYTHON
