#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# MNN 3.6.1's MNN.numpy, made to be used as NumPy: trunc and fix round to the nearest, so 2.7 becomes 3. fmod has the sign of the divisor
# with integers, as NumPy's mod, and mod that of the dividend with floats, as NumPy's fmod; so both functions are the same one, which
# depends on the type. true_divide of integers cuts the fraction off.
# Guess before the run: functions with the names of NumPy's give NumPy's numbers.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check mnn==3.6.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import MNN.numpy as mnn
import numpy as np


def both(name, *lists):
    ours = getattr(mnn, name)(*(mnn.array(values) for values in lists))
    theirs = getattr(np, name)(*(np.array(values, np.float32 if isinstance(values[0], float) else np.int32) for values in lists))
    found = np.array(ours.read()).reshape(ours.shape)
    print(f"{name}{lists}: MNN {found.tolist()}, NumPy {theirs.tolist()}")
    return found.tolist(), theirs.tolist()


for name in ("trunc", "fix"):
    assert both(name, [2.7, -2.7, 1.2]) == ([3, -3, 1], np.trunc(np.array([2.7, -2.7, 1.2])).tolist())
assert both("mod", [-7, 7], [3, -3]) == ([2, -2], [2, -2])
assert both("fmod", [-7, 7], [3, -3]) == ([2, -2], [-1, 1])
assert both("mod", [-7.0, 7.0], [3.0, -3.0]) == ([-1, 1], [2, -2])
assert both("fmod", [-7.0, 7.0], [3.0, -3.0]) == ([-1, 1], [-1, 1])
assert both("true_divide", [1, 7], [2, 2]) == ([0, 3], [0.5, 3.5])
PYTHON
