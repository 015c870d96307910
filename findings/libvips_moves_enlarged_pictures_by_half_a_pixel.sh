#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pyvips 3.2.0 with libvips 8.18: Image.resize upwards moves the picture half a pixel of the result to the right and down with each kernel but
# "nearest", whatever the factor; downwards by half it moves nothing, and only "nearest" does. Boxes and key points that are scaled with the
# picture do not meet it. rotate(90) of a square picture moves it one pixel against rot90, which is exact.
# Guess before the run: the middle of a spot goes where the middles of pixels go, as in Pillow and OpenCV, for each kernel and factor.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pyvips==3.2.0 pyvips-binary==8.18.7 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import pyvips

rows, columns = np.mgrid[:40, :40]
spot = pyvips.Image.new_from_array(np.exp(-((columns - 17.3) ** 2 + (rows - 21.6) ** 2) / 18).astype(np.float32))


def middle(image):
    """The centre of mass of a picture, as a column and a row."""
    weights = image.numpy().squeeze()
    rows, columns = np.mgrid[: weights.shape[0], : weights.shape[1]]
    return np.array([(columns * weights).sum(), (rows * weights).sum()]) / weights.sum()


assert pyvips.version(0) == 8 and pyvips.version(1) == 18
for factor in (2, 3, 4, 0.5):
    for kernel in ("nearest", "linear", "cubic", "lanczos3"):
        expected = (np.array([17.3, 21.6]) + 0.5) * factor - 0.5
        moved = middle(spot.resize(factor, kernel=kernel)) - expected
        print(f"resize by {factor}, {kernel}: moved by {moved.round(2)} pixels of the result")
        seen = (0 if kernel == "nearest" else 0.5) if factor > 1 else (-0.25 if kernel == "nearest" else 0)
        assert np.allclose(moved, seen, atol=0.02)
exact, turned = spot.rot90(), spot.rotate(90)
print("rot90:", middle(exact).round(2), "rotate(90):", middle(turned).round(2), "of", (turned.width, turned.height))
assert np.allclose(middle(exact), [39 - 21.6, 17.3], atol=0.02)
assert np.allclose(middle(turned) - middle(exact), [1, 0], atol=0.02) and (turned.width, turned.height) == (40, 40)
PYTHON
