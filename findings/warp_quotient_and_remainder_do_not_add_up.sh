#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# warp-lang 1.19.0 on its CPU device: in a kernel, written in Python's syntax, // rounds down as Python's does and % has the sign of the dividend
# as C's has, so that (a // b) * b + a % b is not a: of -7 and 3 it is -10. An index wrapped by % is negative where Python's is not. Floats
# are the same. NumPy and Python agree with each other in both.
# Guess before the run: both are Python's or both are C's, so that quotient and remainder make up the number.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check warp-lang==1.19.0 numpy==2.4.6
cat > "$folder/divide.py" <<'PYTHON'
import sys

import numpy as np
import warp as wp

wp.config.quiet, wp.config.kernel_cache_dir = True, sys.argv[1]
wp.init()


@wp.kernel
def divide_integers(a: wp.array(dtype=wp.int32), b: wp.array(dtype=wp.int32), found: wp.array2d(dtype=wp.int32)):
    i = wp.tid()
    found[0, i] = a[i] // b[i]
    found[1, i] = a[i] % b[i]
    found[2, i] = (a[i] // b[i]) * b[i] + a[i] % b[i]


@wp.kernel
def divide_floats(a: wp.array(dtype=wp.float32), b: wp.array(dtype=wp.float32), found: wp.array2d(dtype=wp.float32)):
    i = wp.tid()
    found[0, i] = a[i] // b[i]
    found[1, i] = a[i] % b[i]
    found[2, i] = (a[i] // b[i]) * b[i] + a[i] % b[i]


for kernel, dtype, kind, numbers in ((divide_integers, np.int32, wp.int32, ([-7, 7, -7, 7, -1], [3, -3, -3, 3, 8])),
                                     (divide_floats, np.float32, wp.float32, ([-7.5, 7.5, -7.5, 7.5, -0.25], [3, -3, -3, 3, 1]))):
    a, b = np.array(numbers, dtype)
    found = wp.zeros((3, len(a)), dtype=kind, device="cpu")
    wp.launch(kernel, dim=len(a), inputs=[wp.array(a, device="cpu"), wp.array(b, device="cpu"), found], device="cpu")
    quotient, remainder, together = found.numpy()
    print(f"{a.tolist()} by {b.tolist()}: quotient {quotient.tolist()}, remainder {remainder.tolist()}, together {together.tolist()}")
    print("  NumPy:", (a // b).tolist(), (a % b).tolist())
    assert np.array_equal(quotient, a // b) and np.array_equal(remainder, np.fmod(a, b))
    assert np.array_equal(together == a, (a < 0) == (b < 0)) and np.array_equal(a // b * b + a % b, a)
PYTHON
"$folder/venv/bin/python" "$folder/divide.py" "$folder/cache"
