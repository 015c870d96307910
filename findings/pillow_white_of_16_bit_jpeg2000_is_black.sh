#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Pillow 13.0.0: a JPEG 2000 of more than 8 bits per channel is opened as 8-bit RGB or RGBA, and white becomes black: 65535 is 0, as is each level from
# 65408 on, since it is rounded up to 256 and cut to a byte. 65407 is 255. An opaque alpha of 65535 becomes 0, fully transparent. 12 bits are the
# same. Grey pictures keep 16 bits and are right, and so is PNG of the same picture. (Files written by imagecodecs 2026.3.6.)
# Guess before the run: white is 255, or the mode keeps 16 bits.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pillow==13.0.0 imagecodecs==2026.3.6 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import io

import imagecodecs
import numpy as np
from PIL import Image


def opened(data):
    """The mode of a picture and the value of its middle, by Pillow."""
    picture = Image.open(io.BytesIO(data))
    return picture.mode, np.array(picture)[8, 8].tolist()


def jpeg2000(*levels, bits=16):
    """A lossless JPEG 2000 of one colour."""
    picture = np.tile(np.uint16(levels), (16, 16, 1))
    data = imagecodecs.jpeg2k_encode(picture.squeeze(), bitspersample=bits, reversible=True, level=0)
    assert np.array_equal(imagecodecs.jpeg2k_decode(data), picture.squeeze())
    return data


for level, seen in ((0, 0), (40000, 156), (65407, 255), (65408, 0), (65535, 0)):
    found, png = opened(jpeg2000(level, level, level)), opened(imagecodecs.png_encode(np.full((16, 16, 3), level, np.uint16)))
    print(f"{level} of 16 bits: {found} from JPEG 2000, {png} from PNG")
    assert found == ("RGB", [seen] * 3) and png == ("RGB", [level >> 8] * 3)
found = opened(jpeg2000(40000, 20000, 10000, 65535))
print("an opaque colour of 16 bits:", found)
assert found == ("RGBA", [156, 78, 39, 0])
found = opened(jpeg2000(4095, 4095, 4095, bits=12))
print("white of 12 bits:", found)
assert found == ("RGB", [0, 0, 0])
found = opened(jpeg2000(65535))
print("grey white of 16 bits:", found)
assert found == ("I;16", 65535)
PYTHON
