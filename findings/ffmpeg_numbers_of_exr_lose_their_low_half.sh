#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# FFmpeg 8 (PyAV 18.1.0) reads OpenEXR channels of UINT, the type for numbers of objects and materials, as 16-bit pictures that hold the upper half of
# each number: objects 1 to 65535 are all 0, so that such a map is black, and 65536 is 1. No error, and nothing says that half of the bits is
# gone. It is so with each compression. OpenEXR 3.5.3 and OpenImageIO 3.2.2 read the numbers themselves.
# Guess before the run: small numbers come through, or the type is refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check av==18.1.0 openexr==3.5.3 openimageio==3.2.2.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - "$folder/objects.exr" <<'PYTHON'
import sys

import av
import numpy as np
import OpenEXR
import OpenImageIO

path = sys.argv[1]
numbers = np.zeros((16, 32), np.uint32)
numbers[0, :8] = [1, 2, 255, 1000, 65535, 65536, 131072, 2**32 - 1]
print("PyAV", av.__version__, "libavcodec", av.library_versions["libavcodec"])
for label in ("NO", "RLE", "ZIPS", "ZIP", "PIZ", "PXR24"):
    for names in ("Y", "RGB"):
        header = {"compression": getattr(OpenEXR, f"{label}_COMPRESSION"), "type": OpenEXR.scanlineimage}
        OpenEXR.File(header, {name: numbers.copy() for name in names}).write(path)
        for channel in OpenEXR.File(path, separate_channels=True).channels().values():
            assert np.array_equal(channel.pixels, numbers)
        source = OpenImageIO.ImageInput.open(path)
        assert np.array_equal(source.read_image("uint")[..., 0], numbers)
        source.close()
        with av.open(path, format="exr_pipe") as file:
            frame = next(file.decode(video=0))
        found = frame.to_ndarray().reshape(16, 32, -1)[..., 0]
        print(f"{label}, {names}: {numbers[0, :8].tolist()} are {found[0, :8].tolist()} in {frame.format.name}")
        assert found.dtype == np.uint16 and np.array_equal(found, numbers >> 16)
PYTHON
