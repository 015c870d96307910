#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pyarrow 26.0.1: NumPy pictures of [N, H, W, C] seen as [N, C, H, W] go into a FixedShapeTensorArray without a copy, by a permutation, and
# come back from to_numpy_ndarray as [N, W, C, H]: the permutation is undone in the wrong direction, which shows with three axes that
# rotate. One element of such an array, by to_numpy, has its numbers in the wrong places unless its first axis stays where it is, where the
# whole array may be right.
# Guess before the run: to_numpy_ndarray gives back what from_numpy_ndarray took.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pyarrow==26.0.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import pyarrow as pa

pictures = np.arange(2 * 2 * 3 * 4, dtype=np.float32).reshape(2, 2, 3, 4)  # N, H, W, C
for order in ((0, 3, 1, 2), (0, 2, 3, 1), (0, 1, 3, 2), (0, 2, 1, 3)):
    given = pictures.transpose(order)
    array = pa.FixedShapeTensorArray.from_numpy_ndarray(given)
    back, element = array.to_numpy_ndarray(), array[1].to_numpy()
    print(f"axes in the order {order}: given {given.shape}, back {back.shape}, the same: {np.array_equal(given, back)};",
          f"an element {element.shape}, the same: {np.array_equal(given[1], element)}")
    rotated = order in ((0, 3, 1, 2), (0, 2, 3, 1))
    assert np.array_equal(given, back) != rotated
    assert not rotated or back.shape != given.shape
    assert np.array_equal(given[1], element) == (order[1] == 1)

flat = pa.array([[1, 2, 3, 4, 5, 6]], pa.list_(pa.float32(), 6))
array = pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.float32(), [2, 3], permutation=[1, 0]), flat)
print("2 x 3 with its axes exchanged:", array.to_numpy_ndarray()[0].tolist(), "and its element:", array[0].to_numpy().tolist())
assert array.to_numpy_ndarray()[0].tolist() == [[1, 4], [2, 5], [3, 6]] and array[0].to_numpy().tolist() == [[1, 3], [2, 4], [3, 5]]
PYTHON
