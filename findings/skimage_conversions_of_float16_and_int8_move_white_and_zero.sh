#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# scikit-image 0.26.0: img_as_uint of a float16 picture is black all over, whatever it shows, as 65535 is infinity in the type in which it
# multiplies; img_as_int makes -32768 of 1.0, white. NumPy's warning of an invalid cast is the only sign. img_as_ubyte, and float32 and float64,
# are right. img_as_int of int8, from one signed type to another, makes 128 of 0 and -129 of -1, while 0 of unsigned types, and of int32, stays 0.
# A region of 90000 pixels of float16, 100 all over, has a mean of 100 and a standard deviation of infinity.
# Guess before the run: white is the largest number of each integer type, and zero is zero.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check scikit-image==0.26.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import numpy as np
from skimage import measure, util

warnings.simplefilter("ignore")
for dtype in (np.float16, np.float32, np.float64):
    picture = np.array([[0.0, 0.5, 0.999, 1.0]], dtype)
    found = {name: getattr(util, name)(picture).ravel().tolist() for name in ("img_as_uint", "img_as_int", "img_as_ubyte")}
    print(f"{np.dtype(dtype)} of {picture.ravel().tolist()}: {found}")
    half = dtype == np.float16
    assert (found["img_as_uint"] == [0, 0, 0, 0]) == half and found["img_as_uint"][3] == (0 if half else 65535)
    assert found["img_as_int"][3] == (-32768 if half else 32767)
    assert found["img_as_ubyte"][3] == 255
for dtype in (np.int8, np.uint8, np.uint16, np.int32):
    numbers = np.array([[0, 1, 127] if dtype != np.int8 else [0, -1, 127]], dtype)
    found = util.img_as_int(numbers).ravel().tolist()
    print(f"img_as_int of {np.dtype(dtype)} {numbers.ravel().tolist()}: {found}")
    assert found[0] == (128 if dtype == np.int8 else 0)
    assert dtype != np.int8 or found[1:] == [-129, 32767]
region = measure.regionprops(np.ones((300, 300), np.uint8), intensity_image=np.full((300, 300), 100, np.float16))[0]
print("region of float16, 100 all over: mean", region.mean_intensity, "standard deviation", region.intensity_std)
assert region.mean_intensity == 100 and np.isinf(region.intensity_std)
PYTHON
