#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# blosc2 4.14.1: a lazy expression of uint8, such as a + b of two pictures, is of uint8 and wraps, as NumPy's: its numbers, sum, mean, least and
# greatest are those of a + b modulo 256. Its var and std are those of the whole numbers before they wrap: 200 + 100, 100 + 200 and 3 + 5
# have a mean of 32 and a variance of 18947. Stored first, the same array has 288. The mean of a float16 array is infinite as soon as
# the sum is above 65504: of 5000 times 100, which NumPy gives as 100.
# Guess before the run: each reduction sees the numbers that the expression gives, and means are summed in a wider type.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check blosc2==4.14.1 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import blosc2
import numpy as np

a, b = np.array([200, 100, 3], np.uint8), np.array([100, 200, 5], np.uint8)
lazy, right = blosc2.asarray(a) + blosc2.asarray(b), a + b
assert lazy.dtype == np.uint8 and lazy[:].tolist() == right.tolist() == [44, 44, 8]
for name in ("sum", "mean", "min", "max", "var", "std"):
    found, stored, expected = getattr(lazy, name)(), getattr(lazy.compute(), name)(), getattr(right, name)()
    found, stored = float(np.asarray(found[()])), float(np.asarray(stored[()]))
    print(f"{name}: lazy {found:.4g}, stored {stored:.4g}, NumPy {expected:.4g}")
    assert np.isclose(stored, expected) and np.isclose(found, expected) == (name not in ("var", "std"))
    if name in ("var", "std"):
        assert np.isclose(found, getattr(a.astype(int) + b, name)())
half = np.full(5000, 100, np.float16)
found = float(np.asarray(blosc2.asarray(half).mean()[()]))
print("mean of 5000 times 100 in float16:", found, "and by NumPy", half.mean())
assert np.isinf(found) and half.mean() == 100
PYTHON
