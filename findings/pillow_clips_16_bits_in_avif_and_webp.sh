#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Pillow 13.0.0: a picture of 16 bits (mode I;16, of depth or thermal cameras and PNG files) is saved as AVIF or WebP by clipping each number
# to 255, without an error: nearly all of it becomes white. JPEG and BMP refuse the same picture, and PNG, TIFF and JPEG 2000 keep it. A
# picture of floats from 0 to 1 becomes black so. AVIF has 10 and 12 bits of its own.
# Guess before the run: 16 bits are scaled to what the format holds, or refused as for JPEG.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pillow==13.0.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import io

import numpy as np
from PIL import Image

ramp = np.linspace(0, 65535, 64 * 64).astype(np.uint16).reshape(64, 64)
floats = (ramp / 65535).astype(np.float32)


def saved(picture, kind, **options):
    """What a picture is after it was written and read, or None if it is refused."""
    file = io.BytesIO()
    try:
        Image.fromarray(picture).save(file, kind, **options)
    except OSError as error:
        print(f"{kind}: {error}")
        return None
    return np.asarray(Image.open(io.BytesIO(file.getvalue())))


for kind, options in (("AVIF", {"quality": 100}), ("WEBP", {"lossless": True})):
    found, black = saved(ramp, kind, **options), saved(floats, kind, **options)
    found = found if found.ndim == 2 else found[..., 0]
    print(f"{kind}: {found.dtype}, {(found == 255).mean():.1%} of the 16-bit ramp is 255; the ramp of floats is at most {black.max()}")
    assert np.array_equal(found, np.minimum(ramp, 255)) and black.max() <= 1
for kind in ("PNG", "TIFF", "JPEG2000"):
    assert np.array_equal(saved(ramp, kind), ramp)
for kind in ("JPEG", "BMP"):
    assert saved(ramp, kind) is None
PYTHON
