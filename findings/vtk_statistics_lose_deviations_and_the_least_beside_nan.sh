#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# VTK 9.7.2, vtkImageAccumulate (histograms and statistics of pictures): the standard deviation is taken from the sum of squares less the square
# of the sum, so that a thousand numbers from 10000000 to 10000001 have NaN in place of 0.285, and a million of float32 from 40000 to 40001, as of
# a sensor, have 0.284, not 0.289. Where a NaN stands, the least and the greatest begin anew: of 1, NaN and 4 both are 4, of NaN, 1 and 4 they are
# 1 and 4, and of 1, 4 and NaN both are NaN. The mean is right, and NaN if one number is.
# Guess before the run: three digits of the deviation, and a least number that does not depend on the order.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check vtk==9.7.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import vtk
from vtk.util import numpy_support

def statistics(numbers):
    image = vtk.vtkImageData()
    image.SetDimensions(numbers.size, 1, 1)
    image.GetPointData().SetScalars(numpy_support.numpy_to_vtk(numbers.ravel(), deep=True))
    accumulate = vtk.vtkImageAccumulate()
    accumulate.SetInputData(image)
    accumulate.Update()
    return [getter()[0] for getter in (accumulate.GetMean, accumulate.GetStandardDeviation, accumulate.GetMin, accumulate.GetMax)]

for start, count, right in ((0.0, 1001, True), (1e7, 1001, False), (1e8, 1001, False), (40000.0, 10**6, False)):
    numbers = (start + np.random.default_rng(0).random(count)).astype(np.float32 if start == 40000 else np.float64)
    true = numbers.astype(float).std(ddof=1)
    mean, deviation, least, most = statistics(numbers)
    print(f"{count} numbers from {start:g} to {start + 1:.9g}: mean {mean:.9g}, deviation {deviation:.4g}, NumPy {true:.4g}")
    assert (abs(deviation / true - 1) < 1e-3) == right and abs(mean - numbers.astype(float).mean()) < 0.01
    assert start < 1e7 or np.isnan(deviation)
for numbers, want in (((1, np.nan, 4), (4, 4)), ((np.nan, 1, 4), (1, 4)), ((1, 4, np.nan), (np.nan, np.nan)), ((4, 1, 2), (1, 4))):
    found = statistics(np.array(numbers, float))[2:]
    print(f"least and greatest of {numbers}: {found}")
    assert np.array_equal(found, want, equal_nan=True)
PYTHON
