#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Open3D 0.20.0 (open3d-cpu): a point cloud holds float64, and write_point_cloud with write_ascii=True writes PLY with six digits: a northing of
# 4500000.65, as maps have, is 4500000 or 4500010 in the file, off by up to 5 m, without an error. Binary PLY keeps each bit. With PCD it is the
# other way round: the binary form is float32, off by up to 0.25 m there, and the one of text is right to 0.001. XYZ and PTS are right to
# 0.000001. Nothing in the calls tells them apart.
# Guess before the run: each format is exact to less than a millimetre, and text holds what the binary form holds.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check open3d-cpu==0.20.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import os
import tempfile

import numpy as np
import open3d

folder = tempfile.mkdtemp()
places = np.random.default_rng(0).random((1000, 3)) * [1000, 1000, 50] + [500000, 4500000, 100]
cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(places))
for suffix, text, least, most in (
    ("ply", False, 0, 0), ("ply", True, 4, 5.1), ("pcd", False, 0.2, 0.26), ("pcd", True, 0, 1e-3), ("xyz", True, 0, 1e-6), ("pts", True, 0, 1e-6),
):
    path = os.path.join(folder, "cloud." + suffix)
    assert open3d.io.write_point_cloud(path, cloud, write_ascii=text)
    found = np.asarray(open3d.io.read_point_cloud(path).points)
    off = np.abs(found - places).max()
    print(f"{suffix}, {'text' if text else 'binary'}: off by up to {off:.3g} m; the first point {found[0].tolist()}")
    assert least <= off <= most
print("as it was:", places[0].tolist())
PYTHON
