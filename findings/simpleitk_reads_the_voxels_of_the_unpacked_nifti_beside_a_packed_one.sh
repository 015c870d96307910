#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SimpleITK 2.5.7 (ITK): ReadImage of scan.nii.gz takes the size and type from that file, but the voxels from scan.nii, if such a file lies in the
# same folder, without a word: of ones in scan.nii and twos in scan.nii.gz both names give ones, and an image of int16 beside one of uint8
# gives pairs of bytes as numbers. Without the other file the twos are there, so they were written. nibabel 5.4.2 reads each file as it is
# named. So a result that is saved packed beside the original of the same name is read back as the original.
# Guess before the run: the file that is named is read, and no other one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check simpleitk==2.5.7 nibabel==5.4.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import pathlib
import tempfile

import nibabel
import numpy as np
import SimpleITK as sitk


def read(path):
    """The different numbers in a file, by SimpleITK and by nibabel."""
    return np.unique(sitk.GetArrayFromImage(sitk.ReadImage(str(path)))).tolist(), np.unique(nibabel.load(path).get_fdata()).tolist()


with tempfile.TemporaryDirectory() as folder:
    plain, packed = pathlib.Path(folder, "scan.nii"), pathlib.Path(folder, "scan.nii.gz")
    sitk.WriteImage(sitk.GetImageFromArray(np.full((2, 3, 4), 2, np.int16)), str(packed))
    alone = read(packed)
    sitk.WriteImage(sitk.GetImageFromArray(np.full((2, 3, 4), 1, np.int16)), str(plain))
    print("packed alone:", alone, "beside the other file:", read(packed), "the other file:", read(plain))
    assert alone == ([2], [2]) and read(packed) == ([1], [2]) and read(plain) == ([1], [1])
    sitk.WriteImage(sitk.GetImageFromArray(np.full((4, 6, 8), 7, np.uint8)), str(plain))
    print("beside a larger one of uint8:", read(packed))
    assert read(packed) == ([7 * 257], [2])
    plain.unlink()
    print("alone again:", read(packed))
    assert read(packed) == ([2], [2])
PYTHON
