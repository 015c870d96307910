#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# safetensors 0.8.0: safetensors.numpy.save and save_file of a transposed or Fortran-ordered array write the memory as it lies beside the
# shape as it is seen: the numbers come back in other places, without an error. 0.7.0 wrote them right. The .T of a weight
# matrix is such an array, and so are results of many routines of linear algebra.
# Guess before the run: the array is written in row-major order, or refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
cat > "$folder/check.py" <<'PYTHON'
import sys

import numpy as np
import safetensors
from safetensors.numpy import load, load_file, save, save_file

matrix = np.arange(6, dtype=np.float32).reshape(2, 3)
right = safetensors.__version__ == "0.7.0"
for name, given, wrong in (("transposed", matrix.T, [[0, 1], [2, 3], [4, 5]]),
                           ("Fortran order", np.asfortranarray(matrix), [[0, 3, 1], [4, 2, 5]])):
    found = load(save({"x": given}))["x"]
    save_file({"x": given}, sys.argv[1])
    print(f"safetensors {safetensors.__version__}, {name}: saved {given.tolist()}, loaded {found.tolist()}")
    assert np.array_equal(found, given if right else np.float32(wrong)) and np.array_equal(load_file(sys.argv[1])["x"], found)
assert np.array_equal(load(save({"x": matrix}))["x"], matrix)
PYTHON
for version in 0.7.0 0.8.0; do
    "$folder/venv/bin/pip" install -q --disable-pip-version-check safetensors==$version numpy==2.4.6
    "$folder/venv/bin/python" "$folder/check.py" "$folder/x.safetensors"
done
