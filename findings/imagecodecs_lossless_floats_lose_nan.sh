#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# imagecodecs 2026.3.6: two of the codecs that store floats without loss change a NaN, without an error. LERC (liblerc 4) gives 0, a depth
# like any other, where NaN stood for a missing one, unless the caller makes a mask; JPEG XL gives infinity for a NaN of float16 and is
# right for float32. Infinities, -0 and the smallest numbers come back. TIFF and ZFP hand each bit back.
# Guess before the run: what is stored without loss comes back bit by bit, or is refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check imagecodecs==2026.3.6 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import imagecodecs
import numpy as np

codecs = {
    "LERC": (imagecodecs.lerc_encode, imagecodecs.lerc_decode, [np.float32]),
    "JPEG XL": (lambda x: imagecodecs.jpegxl_encode(x, lossless=True), imagecodecs.jpegxl_decode, [np.float32, np.float16]),
    "TIFF": (imagecodecs.tiff_encode, imagecodecs.tiff_decode, [np.float32, np.float16]),
    "ZFP": (imagecodecs.zfp_encode, imagecodecs.zfp_decode, [np.float32]),
}
seen = {("LERC", "float32"): {"nan": "0.0"}, ("JPEG XL", "float16"): {"nan": "inf"}}
for name, (encode, decode, types) in codecs.items():
    for dtype in types:
        special = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf, "-0.0": -0.0, "tiny": 1e-40 if dtype == np.float32 else 0, "1.5": 1.5}
        picture = np.random.default_rng(0).standard_normal((16, 16)).astype(dtype)
        picture[0, : len(special)] = list(special.values())
        found = decode(encode(picture))
        assert found.dtype == dtype and np.array_equal(found[1:], picture[1:])
        other = {key: str(now) for key, was, now in zip(special, picture[0], found[0]) if was.tobytes() != now.tobytes()}
        print(f"{name}, {np.dtype(dtype)}: {other or 'each bit is the same'}")
        assert other == seen.get((name, np.dtype(dtype).name), {})
PYTHON
