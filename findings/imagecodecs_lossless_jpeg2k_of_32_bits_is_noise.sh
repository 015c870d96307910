#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# imagecodecs 2026.3.6, jpeg2k_encode with reversible=True and level=0 (OpenJPEG): pictures of uint32 and int32 are taken, but come back as other
# numbers once they use about 24 bits or more: of random numbers below 2 ** 24, nearly all are other ones, some by 64 millions, and no error
# is raised. Up to 2 ** 20 they are right. htj2k_encode (OpenJPH) of the same arrays is right up to 32 bits.
# Guess before the run: a lossless codec that takes a type hands back each of its numbers, or refuses.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check imagecodecs==2026.3.6 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import imagecodecs
import numpy as np

codecs = {"jpeg2k": lambda x: imagecodecs.jpeg2k_decode(imagecodecs.jpeg2k_encode(x, reversible=True, level=0)),
          "htj2k": lambda x: imagecodecs.htj2k_decode(imagecodecs.htj2k_encode(x))}
random = np.random.default_rng(0)
print("OpenJPEG:", imagecodecs.jpeg2k_version(), "OpenJPH:", imagecodecs.htj2k_version())
for dtype in (np.uint32, np.int32):
    for bits in (16, 20, 26, 28, 31):
        least = 0 if dtype == np.uint32 else -(2 ** (bits - 1))
        picture = random.integers(least, least + 2**bits, (64, 64), dtype=np.int64).astype(dtype)
        for name, codec in codecs.items():
            found = codec(picture)
            other, off = np.mean(found != picture), np.abs(found.astype(np.int64) - picture.astype(np.int64)).max()
            print(f"{name}, {np.dtype(dtype)} of {bits} bits: {other:.1%} are other numbers, off by up to {off}")
            assert found.dtype == dtype and found.shape == picture.shape
            assert (other > 0.01 and off > 2**20) if name == "jpeg2k" and bits > 20 else other == 0
PYTHON
