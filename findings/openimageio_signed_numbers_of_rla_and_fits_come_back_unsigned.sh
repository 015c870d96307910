#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenImageIO 3.2.2: int8 and int16 pictures written as RLA, and int8 ones as FITS, come back as unsigned numbers of the same bits: -1 is 255 or
# 65535, and nothing is refused. FITS of uint16, the type of most cameras, is written as int16 of half the number: 1000 is 500 and 1 is 0, and the
# reader says int16. TIFF of each type, and FITS of int16, keep them. Where a format lacks a type, as PNG lacks int16, negative numbers are
# clipped to 0.
# Guess before the run: a format that has no signed numbers clips them, as PNG does, and FITS keeps uint16 by its offset, as other writers do.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check openimageio==3.2.2.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import os
import tempfile

import numpy as np
import OpenImageIO as oiio

folder = tempfile.mkdtemp()

def through(suffix, picture):
    path = os.path.join(folder, "picture." + suffix)
    output = oiio.ImageOutput.create(path)
    assert output.open(path, oiio.ImageSpec(picture.shape[1], picture.shape[0], 1, str(picture.dtype))), output.geterror()
    assert output.write_image(picture[..., None])
    output.close()
    source = oiio.ImageInput.open(path)
    return str(source.spec().format), source.read_image(str(source.spec().format)).reshape(picture.shape)

signed = [[-100, -1, 0], [1, 100, 127]]
for suffix, dtype, want_type, want in (
    ("rla", np.int8, "uint8", np.array(signed, np.int8).view(np.uint8)), ("rla", np.int16, "uint16", np.array(signed, np.int16).view(np.uint16)),
    ("fits", np.int8, "uint8", np.array(signed, np.int8).view(np.uint8)), ("fits", np.int16, "int16", signed), ("tif", np.int8, "int8", signed),
    ("tif", np.int16, "int16", signed), ("png", np.int16, "uint8", np.array([[0, 0, 0], [0, 1, 1]])),
):
    found_type, found = through(suffix, np.array(signed, dtype))
    print(f"{suffix} of {np.dtype(dtype)}: {signed} -> {found_type} {found.tolist()}")
    assert found_type == want_type and (suffix == "png" and found.max() <= 1 or np.array_equal(found, want))
camera = np.array([[0, 1, 2], [1000, 30000, 65535]], np.uint16)
found_type, found = through("fits", camera)
print(f"fits of uint16: {camera.tolist()} -> {found_type} {found.tolist()}")
assert found_type == "int16" and np.abs(found - camera / 2).max() <= 1 and found[0, 1] == 0
found_type, found = through("rla", camera)
assert found_type == "uint16" and np.array_equal(found, camera)
PYTHON
