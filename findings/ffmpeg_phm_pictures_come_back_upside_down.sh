#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# FFmpeg 8 (PyAV 18.1.0): a picture written as PHM, the half-float form of PFM, is read back by FFmpeg itself upside down, whether grey or colour:
# its encoder begins with the top row, and its decoder takes the first row for the bottom one, as with PFM, which comes back right. The
# halves are cut, not rounded: half of all numbers are the one below the nearest, and 65535 is 65504 where IEEE 754 has infinity.
# Guess before the run: the picture comes back as it was, up to rounding to the nearest half.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check av==18.1.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import io

import av
import numpy as np


def stored(codec, kind, picture):
    """A picture as FFmpeg reads it after FFmpeg wrote it, and the bytes of the file."""
    file = io.BytesIO()
    with av.open(file, "w", format="image2pipe") as output:
        stream = output.add_stream(codec, rate=25)
        stream.height, stream.width, stream.pix_fmt = *picture.shape[:2], kind
        frame = av.VideoFrame.from_ndarray(picture, format=kind)
        output.mux([*stream.encode(frame), *stream.encode(None)])
    data = file.getvalue()
    with av.open(io.BytesIO(data)) as source:
        return next(source.decode(video=0)).to_ndarray(), data


print("PyAV", av.__version__, "libavcodec", av.library_versions["libavcodec"])
rows = np.tile(np.arange(16, dtype=np.float32)[:, None], (1, 32))
for kind, picture in (("grayf32le", rows), ("gbrpf32le", np.dstack([rows, rows + 20, rows + 40]))):
    for codec in ("pfm", "phm"):
        found, data = stored(codec, kind, picture)
        first = np.frombuffer(data[-picture.size * (4 if codec == "pfm" else 2):], "<f4" if codec == "pfm" else "<f2")[0]
        turned = np.array_equal(found, picture[::-1])
        print(f"{codec}, {kind}: the file begins with the number {first}, and the picture is {'upside down' if turned else 'as it was'}")
        assert turned == (codec == "phm") and np.array_equal(found, picture[::-1] if turned else picture)
        assert first == (picture[0, 0, 0] if picture.ndim == 3 else picture[0, 0]) if turned else first == picture[-1].ravel()[0]
numbers = np.random.default_rng(0).random((64, 64)).astype(np.float32)
found = stored("phm", "grayf32le", numbers)[0][::-1]
nearest = numbers.astype(np.float16)
print(f"other than the nearest half: {np.mean(found != nearest):.1%}, of them below it {np.mean((found < nearest)[found != nearest]):.0%}")
assert 0.45 < np.mean(found != nearest) < 0.55 and (found <= numbers).all()
top = stored("phm", "grayf32le", np.full((16, 16), 65535, np.float32))[0][0, 0]
print("65535 is", top)
assert top == 65504 and np.isinf(np.float32(65535).astype(np.float16))
PYTHON
