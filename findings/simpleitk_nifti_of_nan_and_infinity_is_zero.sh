#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SimpleITK 2.5.7 (ITK), ReadImage of NIfTI (.nii, .nii.gz, .hdr with .img): each NaN and each infinity becomes 0, for float32 and float64, images and
# vectors, without a word, whatever wrote the file; nibabel 5.4.2 reads the same files right, so that SimpleITK's own writer has stored them. A map
# whose outside is NaN, as those of statistics and of diffusion are, has a true-looking 0 there, and its mean changes. NRRD and MetaImage keep them.
# Guess before the run: a format of floats keeps NaN and infinity, as NRRD does in the same library.
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

numbers = [np.nan, np.inf, -np.inf, 1.5]
with tempfile.TemporaryDirectory() as folder:
    for dtype in (np.float32, np.float64):
        for ending in ("nii", "nii.gz", "hdr", "nrrd", "mha"):
            path = str(pathlib.Path(folder, f"{np.dtype(dtype)}_{ending[:3]}_{len(ending)}.{ending}"))
            sitk.WriteImage(sitk.GetImageFromArray(np.array([[numbers]], dtype)), path)
            found = sitk.GetArrayFromImage(sitk.ReadImage(path)).ravel().tolist()
            print(np.dtype(dtype), ending, "SimpleITK:", found)
            if ending in ("nrrd", "mha"):
                assert np.array_equal(found, numbers, equal_nan=True)
                continue
            by_nibabel = nibabel.load(path).get_fdata().ravel().tolist()
            print("    nibabel:", by_nibabel)
            assert found == [0, 0, 0, 1.5] and np.array_equal(by_nibabel, numbers, equal_nan=True)
    path = str(pathlib.Path(folder, "nibabel.nii.gz"))
    outside = np.full((10, 10, 10), np.nan, np.float32)
    outside[3:7, 3:7, 3:7] = 4
    nibabel.save(nibabel.Nifti1Image(outside, np.eye(4)), path)
    read = sitk.GetArrayFromImage(sitk.ReadImage(path))
    print("mean of what is known: nibabel", np.nanmean(nibabel.load(path).get_fdata()), "SimpleITK", np.nanmean(read))
    assert np.nanmean(nibabel.load(path).get_fdata()) == 4 and np.isclose(np.nanmean(read), 4 * 64 / 1000)
PYTHON
