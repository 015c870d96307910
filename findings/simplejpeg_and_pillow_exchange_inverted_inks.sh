#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# simplejpeg 1.9.0 (libjpeg-turbo) and Pillow 13.0.0: a CMYK JPEG that one writes is the inverse to the other: the inks 10, 20, 30, 40 are 245, 235,
# 225, 215, in both directions, though each gets its own files back. Both write Adobe's marker: Pillow stores inks inverted, as Adobe's
# programs do, and simplejpeg stores and returns the samples as they are.
# Guess before the run: the marker settles the meaning, so that both read the same inks.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check simplejpeg==1.9.0 pillow==13.0.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import io

import numpy as np
import simplejpeg
from PIL import Image

inks = np.tile(np.uint8([10, 20, 30, 40]), (16, 16, 1))


def by_pillow(picture):
    file = io.BytesIO()
    Image.frombytes("CMYK", (16, 16), picture.tobytes()).save(file, "JPEG", quality=100)
    return file.getvalue()


writers = {"simplejpeg": lambda picture: simplejpeg.encode_jpeg(picture, colorspace="CMYK", quality=100), "Pillow": by_pillow}
readers = {"simplejpeg": lambda data: simplejpeg.decode_jpeg(data, "CMYK"), "Pillow": lambda data: np.array(Image.open(io.BytesIO(data)))}
for writer, write in writers.items():
    data = write(inks)
    marker = data[data.index(b"Adobe") - 4 :][:16].hex()
    for reader, read in readers.items():
        found = read(data)[8, 8]
        print(f"{inks[0, 0].tolist()} written by {writer} (marker {marker}) is {found.tolist()} to {reader}")
        assert np.abs(found.astype(int) - (inks[0, 0] if reader == writer else 255 - inks[0, 0])).max() <= 2
PYTHON
