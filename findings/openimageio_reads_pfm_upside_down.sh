#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenImageIO 3.2.2: PFM, the plain format of float pictures and of disparities of stereo, is read upside down, by ImageInput and ImageBuf: the
# format begins with the bottom row, and OpenImageIO takes that for the top one. Its own files do not come back as they were, though it writes
# them rightly: OpenCV 5.0.0 and Pillow 13.0.0 read them, and each other's, as they should be. A float picture written as PPM, PGM or PNM becomes
# PFM, and is turned, too. With the hint pnm:pfmflip=1, which the documentation has as the default, they come back right; nothing given is as 0.
# Guess before the run: what a library writes it reads back, and the four readers and writers agree on the first row.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check openimageio==3.2.2.0 opencv-python-headless==5.0.0.93 pillow==13.0.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import os
import tempfile

import cv2
import numpy as np
import OpenImageIO as oiio
from PIL import Image

folder = tempfile.mkdtemp()
path = os.path.join(folder, "picture.pfm")
picture = np.arange(12, dtype=np.float32).reshape(4, 3)

def write(path):
    output = oiio.ImageOutput.create(path)
    assert output.open(path, oiio.ImageSpec(3, 4, 1, "float")) and output.write_image(picture[..., None])
    output.close()

def read(path):
    return oiio.ImageInput.open(path).read_image("float").reshape(4, 3)

def read_with(flip):
    hints = oiio.ImageSpec()
    hints.attribute("pnm:pfmflip", flip)
    return oiio.ImageInput.open(path, hints).read_image("float").reshape(4, 3)

readers = {
    "ImageInput": read, "ImageBuf": lambda path: oiio.ImageBuf(path).get_pixels().reshape(4, 3),
    "OpenCV": lambda path: cv2.imread(path, cv2.IMREAD_UNCHANGED), "Pillow": lambda path: np.asarray(Image.open(path)),
}
writers = {
    "OpenImageIO": write, "OpenCV": lambda path: cv2.imwrite(path, picture), "Pillow": lambda path: Image.fromarray(picture).save(path),
}
for writer, store in writers.items():
    store(path)
    assert np.array_equal(np.frombuffer(open(path, "rb").read()[-48:], "<f4").reshape(4, 3), picture[::-1])
    for reader, load in readers.items():
        found = load(path)
        turned = np.array_equal(found, picture[::-1])
        print(f"written by {writer}, read by {reader}: {'upside down' if turned else 'as it was'}")
        assert turned == reader.startswith("Image") and (turned or np.array_equal(found, picture))
    assert np.array_equal(read_with(1), picture) and np.array_equal(read_with(0), picture[::-1])
for suffix in ("ppm", "pgm", "pnm"):
    other = os.path.join(folder, "picture." + suffix)
    write(other)
    assert np.array_equal(read(other), picture[::-1])
PYTHON
