#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# FFmpeg 8 (PyAV 18.1.0) does not look at the sample format of a TIFF: it takes int8 and int16 for unsigned numbers, so that a temperature of -1 is
# 65535, and the bits of float16 for integers, so that 1.0 is 15360. RGB of 32-bit integers it takes for floats: 1000 becomes 1.4e-42.
# No error or warning. float32 in RGB and unsigned numbers are right; grey of 32 bits is refused. OpenCV 5.0.0 reads int16 and the
# integers of 32 bits as they are.
# Guess before the run: what FFmpeg has no format for is refused, as grey of 32 bits is.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check av==18.1.0 tifffile==2026.3.3 opencv-python-headless==5.0.0.93 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import io

import av
import cv2
import numpy as np
import tifffile

print("PyAV", av.__version__, "libavcodec", av.library_versions["libavcodec"])
numbers = [1, 0, -1, -100, 100, 1000]
seen = {("int8", 1): "uint8", ("int8", 3): "uint8", ("int16", 1): "uint16", ("int16", 3): "uint16", ("float16", 1): "uint16",
        ("float16", 3): "uint16", ("int32", 3): "float32", ("uint32", 3): "float32", ("float32", 3): "float32", ("uint16", 1): "uint16",
        ("int32", 1): None, ("float32", 1): None}
for (kind, channels), taken in seen.items():
    picture = np.zeros((16, 32) if channels == 1 else (16, 32, 3), kind)
    row = [number for number in numbers if kind != "int8" or number < 128]
    picture[0, : len(row)] = np.reshape(np.abs(row) if kind.startswith("u") else row, (-1, 1) if channels == 3 else -1)
    file = io.BytesIO()
    tifffile.imwrite(file, picture, photometric="rgb" if channels == 3 else "minisblack")
    try:
        with av.open(io.BytesIO(file.getvalue()), format="tiff_pipe") as source:
            frame = next(source.decode(video=0))
        found = frame.to_ndarray()
    except av.error.FFmpegError as error:
        print(f"{kind}, {channels} channel(s): refused ({type(error).__name__})")
        assert taken is None
        continue
    first = [array.reshape(16, 32, -1)[0, : len(row), 0].tolist() for array in (picture, found)]
    print(f"{kind}, {channels} channel(s): {first[0]} are {first[1]} in {frame.format.name}")
    assert found.dtype == taken and found.tobytes() == picture.tobytes()
    assert (first[0] == first[1]) == (kind in ("uint16", "float32"))
    if kind in ("int16", "int32", "uint32"):
        by_opencv = cv2.imdecode(np.frombuffer(file.getvalue(), np.uint8), cv2.IMREAD_UNCHANGED)
        assert by_opencv.dtype == kind and np.array_equal(by_opencv.reshape(16, 32, -1)[..., 0], picture.reshape(16, 32, -1)[..., 0])
PYTHON
