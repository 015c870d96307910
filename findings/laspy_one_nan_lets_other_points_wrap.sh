#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# laspy 2.7.0: coordinates that the scale and offset cannot hold are refused with OverflowError, unless one of them is NaN: then nothing is
# checked, NaN becomes -21474836.48 (the least number, at a scale of 0.01), and so does each coordinate beyond the range, which goes into the
# header's bounds, too. Infinity alone is refused. Extra dimensions with a scale behave so: beside a NaN, which becomes 0, an int16 of 400 at a
# scale of 0.01 is -255.36. Extra dimensions without a scale, and intensity, are never checked: 70000 is 4464. return_number is: 16 is an
# OverflowError. NumPy's warning of an invalid cast is the only sign.
# Guess before the run: NaN is refused as infinity is, since integers have none.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check laspy==2.7.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import laspy
import numpy as np

warnings.simplefilter("ignore")

def cloud():
    header = laspy.LasHeader(point_format=6, version="1.4")
    header.scales, header.offsets = [0.01] * 3, [0] * 3
    points = laspy.LasData(header)
    points.x = points.y = points.z = np.zeros(4)
    return points

def coordinates(numbers):
    points = cloud()
    try:
        points.xyz = np.array([numbers] * 3).T
    except OverflowError:
        return "OverflowError"
    points.update_header()
    return np.asarray(points.x).tolist(), float(points.header.mins[0])

def extra(numbers, **scale):
    points = cloud()
    points.add_extra_dim(laspy.ExtraBytesParams("depth", "int16", **scale))
    try:
        points["depth"] = np.array(numbers)
    except OverflowError:
        return "OverflowError"
    return np.round(np.asarray(points["depth"]), 2).tolist()

least = -21474836.48
cases = {(1, 2, 3, 3e7): "OverflowError", (1, np.inf, 3, 4): "OverflowError", (1, np.nan, 3, 3e7): ([1, least, 3, least], least)}
for numbers, want in cases.items():
    print("x:", numbers, "->", coordinates(numbers))
    assert coordinates(numbers) == want
for numbers, scale, want in (
    ((1, 2, 3, 400), dict(scales=[0.01], offsets=[0.0]), "OverflowError"),
    ((1, np.nan, 3, 400), dict(scales=[0.01], offsets=[0.0]), [1, 0, 3, -255.36]),
    ((1, 2, 3, 40000), {}, [1, 2, 3, -25536]),
):
    print("extra dimension of int16:", numbers, scale, "->", extra(numbers, **scale))
    assert extra(numbers, **scale) == want
points = cloud()
points.intensity = np.array([70000, 65536, 1, 2])
print("intensity of 70000:", np.asarray(points.intensity).tolist())
assert np.asarray(points.intensity).tolist() == [4464, 0, 1, 2]
try:
    points.return_number = np.array([16, 1, 1, 1])
    raise SystemExit("return_number of 16 is taken")
except OverflowError:
    pass
PYTHON
