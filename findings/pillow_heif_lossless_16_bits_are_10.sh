#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pillow-heif 1.8.1 with Pillow 13.0.0: a 16-bit picture that is saved as HEIF without loss (quality=-1, which is lossless for 8 bits) is cut to its
# upper 10 bits, grey and colour, without a word: white, 65535, comes back as 65472, and 64 levels become one. The option SAVE_HDR_TO_12_BIT cuts to
# 12 bits in place of 10, and white is 65520. Pictures of mode I, whole numbers of 32 bits, are clipped to 65535 first; mode F is refused. PNG
# keeps 16 bits.
# Guess before the run: lossless keeps what it takes, and a format of at most 12 bits refuses 16, or white stays white at least.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pillow-heif==1.8.1 pillow==13.0.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import io

import numpy as np
import pillow_heif
from PIL import Image

pillow_heif.register_heif_opener()


def back(picture, form, **settings):
    """The numbers of a picture of Pillow after a file of some format."""
    file = io.BytesIO()
    picture.save(file, form, **settings)
    return np.array(Image.open(io.BytesIO(file.getvalue())))


lossless = {"quality": -1, "chroma": "444", "matrix_coefficients": 0}
random = np.random.default_rng(0)
grey = random.integers(0, 65536, (32, 48)).astype(np.uint16)
grey[0] = 65535
colour = random.integers(0, 256, (32, 48, 3)).astype(np.uint8)
assert np.array_equal(back(Image.fromarray(colour), "HEIF", **lossless), colour)
assert np.array_equal(back(Image.fromarray(colour[..., 0]), "HEIF", **lossless), colour[..., 0])
assert np.array_equal(back(Image.fromarray(grey), "PNG"), grey)
for twelve in (False, True):
    pillow_heif.options.SAVE_HDR_TO_12_BIT = twelve
    bits = 12 if twelve else 10
    step = 2 ** (16 - bits)
    found = back(Image.fromarray(grey), "HEIF", **lossless)
    print(f"16-bit grey at {bits} bits: white {found[0, 0]}, largest error {int(np.abs(found.astype(int) - grey).max())} of {found.dtype}")
    assert found.dtype == np.uint16 and np.array_equal(found, grey // step * step) and found[0, 0] == 65536 - step
    wide = np.tile(np.uint16([65535, 40000, 33]), (32, 48, 1))
    file = io.BytesIO()
    pillow_heif.from_bytes(mode="RGB;16", size=(48, 32), data=wide.tobytes()).save(file, **lossless)
    found = np.asarray(pillow_heif.open_heif(file, convert_hdr_to_8bit=False))[0, 0]
    print(f"    colour {wide[0, 0].tolist()}: {found.tolist()}")
    assert np.array_equal(found, wide[0, 0] // step * step)
pillow_heif.options.SAVE_HDR_TO_12_BIT = False
whole = back(Image.fromarray(np.full((32, 48), 217000, np.int32)), "HEIF", **lossless)
print("217000 of mode I:", np.unique(whole).tolist())
assert np.unique(whole).tolist() == [65472]
try:
    back(Image.fromarray(np.full((32, 48), 0.5, np.float32)), "HEIF")
    raise SystemExit("mode F is not refused")
except KeyError:
    pass
PYTHON
