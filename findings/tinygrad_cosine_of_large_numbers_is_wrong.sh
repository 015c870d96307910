#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tinygrad 0.14.0 (CPU device by clang): the cosine of a large f32 is wrong by as much as the argument's rounding error, since it is taken as the
# sine of pi / 2 minus the argument: off by 5e-4 at 65504, 3e-3 at 1e6 and 0.57 at 1e8. The sine of the same numbers is right to 6e-8. Angles
# of rotary positions and of clocks are such numbers.
# Guess before the run: sine and cosine are equally exact, as in NumPy and torch.
set -euo pipefail
command -v clang >/dev/null || { echo "needs clang, with which tinygrad compiles"; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check tinygrad==0.14.0 numpy==2.4.6
CACHELEVEL=0 DEV=CPU "$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
from tinygrad import Tensor

numbers = np.array([1, 1000, 30000, 65504, 1e6, 1e8], np.float32)
exact = numbers.astype(np.float64)
sine = np.abs(Tensor(numbers).sin().numpy() - np.sin(exact))
cosine = np.abs(Tensor(numbers).cos().numpy() - np.cos(exact))
by_numpy = np.abs(np.cos(numbers) - np.cos(exact))
for row in zip(numbers, sine, cosine, by_numpy):
    print("%11.0f: sine off by %.1e, cosine by %.1e, NumPy's cosine by %.1e" % row)
assert sine.max() < 1e-6 and by_numpy.max() < 1e-6
assert cosine[0] < 1e-6 and cosine[3] > 1e-4 and cosine[4] > 1e-3 and cosine[5] > 0.1
PYTHON
