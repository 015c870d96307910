#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyAV 18.1.0 (libswscale 9.5.102): white of limited range, Y 235, is 255 in gray, 65535 in gray16 and 1023 in gray10, but 0.918 in grayf32,
# which keeps the limited range (black is 0.0625), whatever color_range says of the source. gbrpf32 is stretched to the full range, but to
# 0.996; gbrp16 gives 65283 and gbrp10 1020 for it. So pictures of float are neither 0 to 1 nor 16/255 to 235/255.
# Guess before the run: white is 1, 255, 1023 or 65535, in each format, and black is 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check av==18.1.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import av
import numpy as np


def level(y, target):
    """What a frame of limited range with the luma y and no colour holds once it is made another format."""
    frame = av.VideoFrame(64, 48, "yuv444p")
    frame.color_range = 1  # limited
    for index, plane in enumerate(frame.planes):
        plane.update(np.full(plane.buffer_size, 128 if index else y, np.uint8).tobytes())
    values = np.unique(frame.to_ndarray(format=target))
    assert len(values) == 1, values
    return float(values[0])


assert av.library_versions["libswscale"] == (9, 5, 102), av.library_versions
seen = {"gray": (0, 255), "gray10le": (0, 1023), "gray16le": (0, 65535), "grayf32le": (0.0625, 0.918),
        "rgb24": (0, 255), "gbrp10le": (0, 1020), "gbrp16le": (0, 65283), "gbrpf32le": (0, 0.9962)}
for target, expected in seen.items():
    found = level(16, target), level(235, target)
    print(f"{target}: black {found[0]:.5g}, white {found[1]:.5g}")
    assert np.allclose(found, expected, atol=5e-5), f"{target} was {expected}"
PYTHON
