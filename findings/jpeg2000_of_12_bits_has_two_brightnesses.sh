#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One lossless JPEG 2000 of 12 bits, as of cameras and scanners, written by imagecodecs 2026.3.6: FFmpeg 8 (PyAV 18.1.0) and Pillow 13.0.0 multiply its
# numbers by 16, so that white is 65520, neither 4095 nor 65535; OpenCV 5.0.0 and imagecodecs, both by OpenJPEG, hand on the numbers
# themselves. PyAV and Pillow do not say that there are 12 bits. At 16 bits all four agree.
# Guess before the run: 16-bit arrays of one lossless file hold the same numbers in all four.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
  imagecodecs==2026.3.6 av==18.1.0 pillow==13.0.0 opencv-python-headless==5.0.0.93 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import io

import av
import cv2
import imagecodecs
import numpy as np
from PIL import Image


def by_ffmpeg(data):
    with av.open(io.BytesIO(data)) as source:
        frame = next(source.decode(video=0))
        print("  FFmpeg's format:", frame.format.name)
        return frame.to_ndarray()


readers = {"imagecodecs": imagecodecs.jpeg2k_decode, "FFmpeg": by_ffmpeg, "Pillow": lambda data: np.array(Image.open(io.BytesIO(data))),
           "OpenCV": lambda data: cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)}
for bits in (10, 12, 16):
    picture = np.random.default_rng(0).integers(0, 2**bits, (16, 24)).astype(np.uint16)
    picture[0, 0] = 2**bits - 1
    data = imagecodecs.jpeg2k_encode(picture, bitspersample=bits, reversible=True, level=0)
    for name, read in readers.items():
        found = read(data)
        factor = 2 ** (16 - bits) if name in ("FFmpeg", "Pillow") else 1
        print(f"{bits} bits by {name}: {found.dtype}, white is {found[0, 0]}")
        assert found.dtype == np.uint16 and np.array_equal(found, picture * factor)
PYTHON
