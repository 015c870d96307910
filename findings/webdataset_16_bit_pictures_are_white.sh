#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# webdataset 1.0.2 (data sets in tar files): a uint16 array, such as a depth map in millimetres, is written as PNG or TIFF of 16 bits, and decoded
# by "l8", "l", "rgb8", "rgb" and "pil", the names in its documentation, as white: each number above 255 is 255, or 1.0, without an error. 8 bits
# and floats of 0 to 1 come back as they were, to one step of 8 bits. The file is right; Pillow reads its 16 bits.
# Guess before the run: 16 bits are scaled to 8 or to 0 to 1, as floats are on writing, or refused, as floats above 1 are.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check webdataset==1.0.2 pillow==13.0.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import io
import os
import tarfile
import tempfile

import numpy as np
import webdataset
from PIL import Image

depth = np.array([[0, 100, 255, 256], [1000, 5000, 30000, 65535]], np.uint16)
path = os.path.join(tempfile.mkdtemp(), "data.tar")
for suffix in ("png", "tiff"):
    with webdataset.TarWriter(path) as writer:
        writer.write({"__key__": "depth", suffix: depth})
    with tarfile.open(path) as archive:
        stored = np.asarray(Image.open(io.BytesIO(archive.extractfile("depth." + suffix).read())))
    assert np.array_equal(stored, depth)
    for decoder in ("l8", "l", "rgb8", "rgb", "pil"):
        sample = next(iter(webdataset.WebDataset(path, shardshuffle=False).decode(decoder)))
        found = np.asarray(sample[suffix])
        plane = found if found.ndim == 2 else found[..., 0]
        print(f"{suffix}, {decoder}: {depth.ravel().tolist()} -> {plane.dtype} {plane.ravel().round(3).tolist()}")
        scale = 1 if found.dtype == np.uint8 else 255
        assert np.allclose(plane * scale, np.minimum(depth, 255), atol=1e-3)
PYTHON
