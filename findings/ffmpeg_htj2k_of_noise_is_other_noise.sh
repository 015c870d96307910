#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# FFmpeg 8 (PyAV 18.1.0) decodes lossless High-Throughput JPEG 2000 of hard pictures wrongly, without an error: of grey noise and of a dithered slope of
# 0 and 255, written by imagecodecs 2026.3.6 (OpenJPH), most pixels are others, by up to 255 levels. OpenJPEG decodes the same bytes to the same
# picture that went in. Smooth pictures, also with some noise, and plain JPEG 2000 of all of them are right in FFmpeg.
# Guess before the run: a lossless codestream is decoded to one picture whatever the decoder and the content.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check av==18.1.0 imagecodecs==2026.3.6 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import io

import av
import imagecodecs
import numpy as np


def by_ffmpeg(data):
    with av.open(io.BytesIO(data)) as source:
        return next(source.decode(video=0)).to_ndarray()


print("OpenJPH:", imagecodecs.htj2k_version(), "OpenJPEG:", imagecodecs.jpeg2k_version(), "libavcodec", av.library_versions["libavcodec"])
row, column = np.mgrid[:64, :64]
random = np.random.default_rng(0)
smooth = 127 + 100 * np.sin(column / 9) * np.cos(row / 7)
pictures = {"noise": random.integers(0, 256, (64, 64)), "dithered slope": np.where(random.integers(0, 64, (64, 64)) < column, 255, 0),
            "smooth": smooth, "smooth with noise": smooth + random.normal(0, 8, (64, 64))}
for name, picture in pictures.items():
    picture = picture.clip(0, 255).astype(np.uint8)
    fast, plain = imagecodecs.htj2k_encode(picture), imagecodecs.jpeg2k_encode(picture, reversible=True, level=0)
    assert np.array_equal(imagecodecs.htj2k_decode(fast), picture) and np.array_equal(imagecodecs.jpeg2k_decode(fast), picture)
    assert np.array_equal(by_ffmpeg(plain), picture)
    found = by_ffmpeg(fast)
    other, off = np.mean(found != picture), np.abs(found.astype(int) - picture).max()
    print(f"{name}: by OpenJPH and OpenJPEG as it was, by FFmpeg {other:.1%} other pixels, off by up to {off}")
    assert other > 0.5 and off > 50 if name in ("noise", "dithered slope") else other == 0
PYTHON
