#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Pillow 13.0.0: rotate and transform with BILINEAR or BICUBIC take a 16-bit grey picture (I;16, as depth maps and thermal pictures are) for
# one of 8 bits: they blend neighbouring bytes in place of pixels. A picture of 40000 all over is 64 after a turn by 10 degrees, and one of
# 256 is 0; no result is above 255. NEAREST, turns by 90 degrees and resize are right, and so are pictures made "I" or "F" first. Blurs and
# other filters refuse such pictures.
# Guess before the run: an even picture stays even whatever the filter, or the mode is refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pillow==13.0.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
from PIL import Image, ImageFilter

filters = Image.Resampling
for level in (200, 256, 1000, 40000, 65535):
    picture = Image.fromarray(np.full((9, 9), level, np.uint16))
    assert picture.mode == "I;16"
    centre = {
        "turned, NEAREST": picture.rotate(10, filters.NEAREST), "turned, BILINEAR": picture.rotate(10, filters.BILINEAR),
        "turned, BICUBIC": picture.rotate(10, filters.BICUBIC), "by 90 degrees": picture.rotate(90, filters.BILINEAR),
        "moved by half a pixel": picture.transform((9, 9), Image.Transform.AFFINE, (1, 0, 0.5, 0, 1, 0.5), filters.BILINEAR),
        "resized": picture.resize((5, 5), filters.BILINEAR).resize((9, 9), filters.BICUBIC),
        "as I": picture.convert("I").rotate(10, filters.BILINEAR), "as F": picture.convert("F").rotate(10, filters.BILINEAR),
    }
    found = {name: int(np.array(each)[4, 4]) for name, each in centre.items()}
    print(f"{level}: {found}")
    assert all(found[name] == level for name in ("turned, NEAREST", "by 90 degrees", "resized", "as I", "as F"))
    assert found["turned, BILINEAR"] == found["turned, BICUBIC"] == level % 256
    assert found["moved by half a pixel"] == (level % 256 + level // 256) // 2 % 256
try:
    picture.filter(ImageFilter.GaussianBlur(1))
    raise SystemExit("GaussianBlur was refused")
except ValueError as refused:
    print("GaussianBlur:", refused)
PYTHON
