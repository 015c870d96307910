#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# imagecodecs 2026.3.6, htj2k_encode and htj2k_decode (OpenJPH): an array of 6 x 8 pixels with two channels comes back as 2 x 6 x 8, while three and four
# channels come back where they were. Five or more are moved, too, so a picture and a flow field, or a picture and its depth, have other
# axes after the same call. The codestream is fine: jpeg2k_decode of the same bytes gives 6 x 8 x 2.
# Guess before the run: an array comes back with its shape, as from jpeg2k_encode.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check imagecodecs==2026.3.6 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import imagecodecs
import numpy as np

for channels in (1, 2, 3, 4, 5):
    for dtype in (np.uint8, np.uint16):
        picture = np.random.default_rng(0).integers(0, 255, (6, 8, channels) if channels > 1 else (6, 8)).astype(dtype)
        data = imagecodecs.htj2k_encode(picture)
        found, other = imagecodecs.htj2k_decode(data), imagecodecs.jpeg2k_decode(data)
        print(f"{np.dtype(dtype)}, {picture.shape}: htj2k_decode {found.shape}, jpeg2k_decode {other.shape}")
        assert np.array_equal(other, picture)
        assert np.array_equal(found, np.moveaxis(picture, -1, 0) if channels in (2, 5) else picture)
PYTHON
