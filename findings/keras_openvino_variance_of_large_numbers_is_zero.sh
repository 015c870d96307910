#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Keras 3.15.1 with its OpenVINO backend (2026.4.1): var, std and moments take the mean of the squares less the square of the mean, in float32. The
# variance of 10000, 10001 and 10002 is 0, not 0.667, and that of 1000, 1001 and 1002 is 0.6875. A thousand depths of 16 bits, 40000 to 40008,
# have a standard deviation of 0, not 2.58. Around 0 all three are right. NumPy is right for each.
# Guess before the run: the numbers of NumPy to five digits, as the mean is taken off first.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check keras==3.15.1 openvino==2026.4.1 scipy==1.17.1 numpy==2.4.6
KERAS_HOME="$folder" KERAS_BACKEND=openvino "$folder/venv/bin/python" -W ignore - <<'PYTHON'
import keras
import numpy as np
from keras import ops


def number(tensor):
    return float(ops.convert_to_numpy(tensor))


print("Keras", keras.__version__, "with", keras.config.backend())
for start, seen in ((0, 2 / 3), (100, 0.667), (1000, 0.6875), (10000, 0), (100000, 0)):
    numbers = np.float32([start, start + 1, start + 2])
    found = number(ops.var(numbers)), number(ops.std(numbers)), number(ops.moments(numbers, axes=[0])[1])
    print(f"{numbers.tolist()}: variance {found[0]:.6g}, by moments {found[2]:.6g}, deviation {found[1]:.6g}; NumPy {np.var(numbers):.6g}")
    assert abs(np.var(numbers) - 2 / 3) < 1e-5 and np.allclose(found, [seen, seen**0.5, seen], atol=1e-3)
depths = np.random.default_rng(0).integers(40000, 40009, 1000).astype(np.float32)
found = number(ops.std(depths))
print(f"depths of 40000 to 40008: deviation {found:.6g}; NumPy {np.std(depths):.6g}")
assert found == 0 and 2.4 < np.std(depths) < 2.7
PYTHON
