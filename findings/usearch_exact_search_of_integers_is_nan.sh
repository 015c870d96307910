#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usearch 2.26.6: search(..., exact=True) of NumPy arrays of int16, int32, int64, their unsigned kin, bool, or floats of the other byte order has
# NaN for each distance and the first few vectors as the nearest, without an error. uint8 is taken for packed bits: the inner product counts
# common bits, and the other two metrics are NaN. int8 and floats are right. An Index refuses the same arrays, but takes uint8 for bits, too. So
# descriptors and pixels of bytes find neighbours that mean nothing.
# Guess before the run: integers are converted, or refused, as the Index refuses them.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check usearch==2.26.6 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
from usearch.index import Index, search

rows = np.array([[9, 9, 9, 9, 0, 0, 0, 1], [5, 6, 7, 8, 0, 0, 0, 0], [1, 2, 3, 4, 0, 0, 0, 1]])
for dtype in ("int8", "float16", "float32", "float64", "uint8", "bool", "int16", "uint16", "int32", "uint32", "int64", "uint64", ">f4"):
    vectors = rows.astype(dtype)
    for metric in ("l2sq", "ip", "cos"):
        found = search(vectors, vectors[2], 3, metric, exact=True)
        keys, distances = [int(key) for key in found.keys], np.asarray(found.distances)
        numbers = vectors.astype(float)
        want = {
            "l2sq": ((numbers - numbers[2]) ** 2).sum(1),
            "ip": 1 - numbers @ numbers[2],
            "cos": 1 - numbers @ numbers[2] / np.linalg.norm(numbers, axis=1) / np.linalg.norm(numbers[2]),
        }[metric]
        right = np.allclose(distances, np.sort(want), atol=1e-2, rtol=1e-3)
        print(f"{dtype}, {metric}: keys {keys}, distances {np.round(distances, 3).tolist()}, true ones {np.round(np.sort(want), 3).tolist()}")
        assert right == (dtype in ("int8", "float16", "float32", "float64"))
        if not right and (dtype != "uint8" or metric != "ip"):
            assert np.isnan(distances).all() and keys == [0, 1, 2]
    try:
        Index(ndim=8, metric="l2sq", dtype="f32").add(np.arange(3), vectors)
        taken = True
    except ValueError:
        taken = False
    assert taken == (dtype in ("int8", "float16", "float32", "float64", "uint8"))
PYTHON
