#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# nibabel 5.4.2: an image of floats that is saved in an integer type, as the header of the scan it was made from says, is stretched from its least
# to its greatest finite number, and 0 is no longer 0: of 1.5, -2.25, 1000 and 0 in int16 the last is -0.0019, in uint8 1.68, so that a background
# of zeros passes a test for what is not zero. NaN becomes nearly 0, and infinity the greatest finite number. int16 labels of -5, 0, 40 and 300
# saved as uint8 are stretched, too: 40 is 40.45, 0 is -0.22. No error or warning. Labels that fit the type, and types of floats, are kept.
# Guess before the run: zero stays zero, integers are kept or refused, and NaN is refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check nibabel==5.4.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import os
import tempfile

import nibabel
import numpy as np

path = os.path.join(tempfile.mkdtemp(), "image.nii")

def through(numbers, dtype):
    image = nibabel.Nifti1Image(np.array(numbers).reshape(-1, 1, 1), np.eye(4))
    image.set_data_dtype(dtype)
    nibabel.save(image, path)
    found = nibabel.load(path).get_fdata().ravel()
    print(f"{np.array(numbers).dtype} {np.array(numbers).tolist()} saved as {dtype}: {[float(f'{number:.5g}') for number in found]}")
    return found

floats = [1.5, -2.25, 1000.0, 0.0]
for dtype, zero in (("int16", -0.0018768), ("uint8", 1.68039), ("uint16", -0.0018768), ("float32", 0.0)):
    assert np.isclose(through(floats, dtype)[3], zero, rtol=1e-3)
missing = through([1.5, np.nan, np.inf, -2.0], "int16")
assert abs(missing[1]) < 1e-4 and missing[1] != 0 and abs(missing[2] - 1.5) < 1e-6
assert np.isnan(through([1.5, np.nan, np.inf, -2.0], "float32")[1])
labels = np.array([300, -5, 40, 0], np.int16)
found = through(labels, "uint8")
assert abs(found[2] - 40.451) < 1e-3 and abs(found[3] + 0.2157) < 1e-3
assert np.array_equal(through(labels, "int16"), labels) and np.array_equal(through(np.array([0, 1, 200], np.int16), "uint8"), [0, 1, 200])
PYTHON
