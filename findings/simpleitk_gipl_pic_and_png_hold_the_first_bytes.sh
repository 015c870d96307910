#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SimpleITK 2.5.7 (ITK), WriteImage: three formats take images that they cannot hold, store the first bytes, and say nothing. A colour image as GIPL
# or Bio-Rad PIC becomes a grey one whose pixels are red, green, blue, red, ... of the first third; a complex one as GIPL becomes its first half,
# real and imaginary parts in turn. A volume as PNG becomes its first slice, and a picture of five channels one of four, each pixel moved by one
# against the one before. PIC of uint16, which the format has, comes back with its bytes exchanged: 1000 is 59395. BMP and JPEG refuse volumes.
# Guess before the run: an image that a format cannot hold is refused, as BMP refuses five channels and volumes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check simpleitk==2.5.7 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import pathlib
import tempfile

import numpy as np
import SimpleITK as sitk


def back(array, ending, channels=False):
    """An array that SimpleITK wrote and read, or None if it refused."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(pathlib.Path(folder, "image." + ending))
        try:
            sitk.WriteImage(sitk.GetImageFromArray(array, isVector=channels), path)
        except RuntimeError:
            return None
        return sitk.GetArrayFromImage(sitk.ReadImage(path))


colour = np.tile(np.uint8([50, 60, 70]), (4, 6, 1))
for ending in ("gipl", "pic"):
    found = back(colour, ending, channels=True)
    print(f"4 x 6 pixels of 50, 60, 70 as {ending}: {found.shape}, {found.ravel()[:6].tolist()}")
    assert found.size == 24 and found.ravel().tolist() == colour.ravel()[:24].tolist()
    grey = back(np.full((4, 6), 1000, np.uint16), ending)
    print(f"1000 of uint16 as {ending}: {np.unique(grey).tolist()}")
    assert np.unique(grey).tolist() == [1000 if ending == "gipl" else 59395] and grey.dtype == np.uint16
waves = np.complex64([[1 + 2j, 3 + 4j, 5 + 6j, 7 + 8j]])
found = back(waves, "gipl")
print(f"{waves.tolist()} as gipl: {found.ravel().tolist()}")
assert found.ravel().tolist() == [1, 2, 3, 4]
volume = np.stack([np.full((4, 6), level, np.uint8) for level in (50, 60, 70)])
five = np.tile(np.uint8([50, 60, 70, 80, 90]), (4, 6, 1))
print(f"three slices as png: {back(volume, 'png').shape}; five channels: {back(five, 'png', channels=True)[0, :2].tolist()}")
assert np.array_equal(back(volume, "png"), volume[0])
assert back(five, "png", channels=True)[0].tolist() == five[0].ravel()[:24].reshape(6, 4).tolist()
for ending in ("bmp", "jpg"):
    assert back(volume, ending) is None
assert back(five, "bmp", channels=True) is None
PYTHON
