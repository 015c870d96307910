#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A grey TIFF in which 0 is white (WhiteIsZero, as of scanned films and radiographs): OpenCV 5.0.0, Pillow 13.0.0 and OpenImageIO 3.2.2 turn the
# numbers over if there are 8 bits, so that white comes out as 255, but hand them on as they are if there are 16, so that white comes out as 0,
# black to each caller. FFmpeg 8 (PyAV 18.1.0) turns both over. tifffile 2026.3.3, which wrote the files, turns
# neither and names the meaning.
# Guess before the run: a library treats both in one way, and the four agree on what is white.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check av==18.1.0 tifffile==2026.3.3 pillow==13.0.0 opencv-python-headless==5.0.0.93 \
  openimageio==3.2.2.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - "$folder/picture.tif" <<'PYTHON'
import sys

import av
import cv2
import numpy as np
import OpenImageIO
import tifffile
from PIL import Image

path = sys.argv[1]


def by_ffmpeg():
    with av.open(path, format="tiff_pipe") as source:
        return next(source.decode(video=0)).to_ndarray()


def by_openimageio():
    source = OpenImageIO.ImageInput.open(path)
    numbers = source.read_image(source.spec().format)[..., 0]
    source.close()
    return numbers


readers = {"OpenCV": lambda: cv2.imread(path, cv2.IMREAD_UNCHANGED), "Pillow": lambda: np.asarray(Image.open(path)),
           "OpenImageIO": by_openimageio, "FFmpeg": by_ffmpeg}
for kind in (np.uint8, np.uint16):
    top = np.iinfo(kind).max
    picture = np.zeros((16, 32), kind)
    picture[0, :4] = [0, 1, top // 3, top]
    for meaning in ("minisblack", "miniswhite"):
        tifffile.imwrite(path, picture, photometric=meaning)
        assert np.array_equal(tifffile.imread(path), picture)
        for name, read in readers.items():
            found = read()
            print(f"{np.dtype(kind)}, {meaning}, {name}: {picture[0, :4].tolist()} are {found[0, :4].tolist()}")
            turned = meaning == "miniswhite" and (kind == np.uint8 or name == "FFmpeg")
            assert found.dtype == kind and np.array_equal(found, top - picture if turned else picture)
PYTHON
