#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyAV 18.1.0 (libswscale 9.5.102) on x86-64: a white NV12 frame of limited range, as hardware decoders hand out, is 253 in rgb24 and rgba.
# In bgr24 and bgra the same frame is 255, but 253 in its last two rows. The same colours in yuv420p are 255 everywhere, and so is NV12 that
# was made yuv420p first. P010 and yuv420p10 behave as NV12 does. FULL_CHR_H_INT alone of the flags makes it 255;
# ACCURATE_RND does not.
# Guess before the run: 255 in each, or off by one level at most, and RGB and BGR hold the same numbers.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check av==18.1.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import av
import numpy as np


def white(source, width=64, height=48):
    """A frame whose Y is 235 and whose Cb and Cr are 128, times four with ten bits."""
    frame = av.VideoFrame(width, height, source)
    frame.color_range = 1  # limited
    for index, plane in enumerate(frame.planes):
        level = 235 if index == 0 else 128
        level, dtype = {"p010le": (level << 8, np.uint16), "yuv420p10le": (level << 2, np.uint16)}.get(source, (level, np.uint8))
        plane.update(np.full(plane.buffer_size // dtype().itemsize, level, dtype).tobytes())
    return frame


def rows(frame, target, **options):
    """The distinct numbers of R, G and B in all rows but the last two, and in the last two."""
    pixels = frame.to_ndarray(format=target, **options)[..., :3]
    return np.unique(pixels[:-2]).tolist(), np.unique(pixels[-2:]).tolist()


assert av.library_versions["libswscale"] == (9, 5, 102), av.library_versions
for source in ("yuv420p", "nv12", "p010le", "yuv420p10le"):
    for target in ("rgb24", "rgba", "bgr24", "bgra"):
        found = rows(white(source), target)
        print(f"{source} to {target}: {found[0]}, last two rows {found[1]}")
        seen = ([255], [255]) if source == "yuv420p" else ([253], [253]) if target.startswith("rgb") else ([255], [253])
        assert found == seen, f"it was {seen}"
assert rows(white("nv12").reformat(format="yuv420p"), "rgb24") == ([255], [255])
flags = av.video.reformatter.Interpolation
for source in ("nv12", "p010le", "yuv420p10le"):
    found = {flag.name: rows(white(source), "rgb24", interpolation=flags.BILINEAR | flag) for flag in (flags.ACCURATE_RND, flags.FULL_CHR_H_INT)}
    print(f"{source} to rgb24 with a flag: {found}")
    assert found == {"ACCURATE_RND": ([253], [253]), "FULL_CHR_H_INT": ([255], [255])}
PYTHON
