#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# FFmpeg 8 (PyAV 18.1.0) decodes a TIFF that is stored in tiles, as scanners of slides, satellites and tifffile's tile= write them, as a black picture
# of the right size and format, without an error: grey and colour, 8 and 16 bits, without compression and with LZW or Deflate, one tile or
# many. With Zstandard it is refused. Pillow 13.0.0 and tifffile 2026.3.3 read the same files right, and FFmpeg does if they are in strips.
# Guess before the run: tiles are read, or refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check av==18.1.0 tifffile==2026.3.3 imagecodecs==2026.3.6 pillow==13.0.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import io

import av
import numpy as np
import tifffile
from PIL import Image

random = np.random.default_rng(0)
print("PyAV", av.__version__, "libavcodec", av.library_versions["libavcodec"])


def decoded(data):
    with av.open(io.BytesIO(data), format="tiff_pipe") as source:
        return next(source.decode(video=0)).to_ndarray()


for kind, shape, meaning in ((np.uint8, (128, 96), "minisblack"), (np.uint16, (128, 96), "minisblack"), (np.uint8, (128, 96, 3), "rgb")):
    picture = random.integers(1, np.iinfo(kind).max, shape, dtype=kind)
    for compression in (None, "lzw", "zlib"):
        for tile in (None, (16, 16), (64, 64), (128, 96)):
            file = io.BytesIO()
            tifffile.imwrite(file, picture, photometric=meaning, compression=compression, tile=tile)
            data = file.getvalue()
            assert np.array_equal(tifffile.imread(io.BytesIO(data)), picture)
            assert np.array_equal(np.asarray(Image.open(io.BytesIO(data))), picture)
            found = decoded(data)
            assert found.shape == picture.shape and found.dtype == picture.dtype
            print(f"{np.dtype(kind)} {shape}, {compression or 'no compression'}, {f'tiles of {tile}' if tile else 'strips'}:",
                  "black" if not found.any() else "right" if np.array_equal(found, picture) else "wrong")
            assert not found.any() if tile else np.array_equal(found, picture)
PYTHON
