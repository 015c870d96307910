#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# FFmpeg 8 (PyAV 18.1.0), FFVHUFF and FFV1, encoders that are marked as lossless: FFVHUFF loses the last column or row of the halved colour planes of
# a picture of odd width or height, without an error: 63 x 47 pixels of 4:2:0 have 32 x 24 colours, of which 31 x 23 are stored; the luma is right.
# So it is with 4:2:0 and 4:2:2 of more than 8 bits or with alpha, and with 4:4:0; 4:2:0 and 4:2:2 of 8 bits refuse an odd width, and 4:4:4 is
# right. FFV1, the codec of archives, keeps all of these, but loses the last column of 4:1:1 and 4:1:0, whose colours count a quarter of the
# pixels, if the width is 1 or 2 more than a multiple of 4, and so the last row of 4:1:0.
# Guess before the run: an encoder without loss keeps each number of each format and size that it takes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check av==18.1.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
from fractions import Fraction

import av
import numpy as np

random = np.random.default_rng(0)


def planes(frame):
    """The numbers of each plane of a frame, without what pads its rows."""
    dtype = np.uint16 if max(part.bits for part in frame.format.components) > 8 else np.uint8
    return [np.frombuffer(plane, dtype).reshape(-1, plane.line_size // dtype().itemsize)[:plane.height, :plane.width].copy()
            for plane in frame.planes]


def lost(codec, form, width, height):
    """Columns and rows of the planes of a noise picture, as a set of (plane, column from the end, row from the end), that come back otherwise."""
    encoder = av.CodecContext.create(codec, "w")
    encoder.width, encoder.height, encoder.pix_fmt, encoder.time_base = width, height, form, Fraction(1, 25)
    frame = av.VideoFrame(width, height, form)
    for plane in frame.planes:
        wide = max(part.bits for part in frame.format.components)
        size = plane.buffer_size // (2 if wide > 8 else 1)
        plane.update(random.integers(0, 2 ** wide, size).astype(np.uint16 if wide > 8 else np.uint8).tobytes())
    frame.pts, given = 0, planes(frame)
    packets = encoder.encode(frame) + encoder.encode(None)
    decoder = av.CodecContext.create(codec, "r")
    decoder.width, decoder.height, decoder.pix_fmt, decoder.extradata = width, height, form, encoder.extradata
    found = planes([picture for packet in packets + [None] for picture in decoder.decode(packet)][0])
    return {(number, column - after.shape[1], row - after.shape[0])
            for number, (before, after) in enumerate(zip(given, found)) for row, column in np.argwhere(before != after).tolist()}


print("FFmpeg", av.ffmpeg_version_info)
assert all(av.Codec(codec, "w").lossless and not av.Codec(codec, "w").lossy for codec in ("ffvhuff", "ffv1"))
halved = (("yuv420p10le", 63, 47, True, True), ("yuv420p10le", 63, 48, True, False), ("yuv420p10le", 64, 47, False, True),
          ("yuv420p10le", 64, 48, False, False), ("yuv422p10le", 63, 47, True, False), ("yuv420p16le", 63, 47, True, True),
          ("yuva420p", 63, 47, True, True), ("yuv440p", 64, 47, False, True), ("yuv444p", 63, 47, False, False))
quarters = (("yuv411p", 61, 48, True, False), ("yuv411p", 62, 48, True, False), ("yuv411p", 63, 48, False, False),
            ("yuv410p", 62, 48, True, False), ("yuv410p", 64, 46, False, True), ("yuv410p", 64, 48, False, False))
for codec, cases in (("ffvhuff", halved), ("ffv1", quarters)):
    for form, width, height, columns, rows in cases:
        seen = lost(codec, form, width, height)
        print(f"{codec} {form} {width} x {height}: {len(seen)} numbers are others, of planes {sorted({number for number, _, _ in seen})}")
        assert all(number in (1, 2) and (columns and column == -1 or rows and row == -1) for number, column, row in seen)
        assert {number for number, column, row in seen if column == -1 and row < -1} == ({1, 2} if columns else set())
        assert {number for number, column, row in seen if row == -1 and column < -1} == ({1, 2} if rows else set())
        assert codec == "ffv1" or lost("ffv1", form, width, height) == set()
refused = 0
for form in ("yuv420p", "yuv422p"):
    try:
        lost("ffvhuff", form, 63, 47)
    except av.error.FFmpegError:
        refused += 1
assert refused == 2
PYTHON
