#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# MLX 0.32.4 on a CPU (mlx-cpu): mean, var and std of int32, uint32 and int64 return floats, but add up in the integer type, where the sum
# wraps: the mean of four times 2 ** 30 is 0, and of four times 2 ** 31 - 1 is -1. A second of 32-bit audio at half of full scale has a mean
# of 0, too, and four equal numbers of 2 ** 30 have a standard deviation of 2 ** 30. int8, uint8, int16 and uint16 are added up in 32 bits and right at these sizes.
# Guess before the run: a mean lies between the least and the greatest number, as with NumPy, which adds integers in float64.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check mlx==0.32.4 mlx-cpu==0.32.4 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import mlx.core as mx
import numpy as np

mx.set_default_device(mx.cpu)
cases = {
    "four times 2 ** 30 in int32": (np.full(4, 2**30, np.int32), 0), "four times 2 ** 31 - 1 in int32": (np.full(4, 2**31 - 1, np.int32), -1),
    "two times 2 ** 31 in uint32": (np.full(2, 2**31, np.uint32), 0), "four times 2 ** 62 in int64": (np.full(4, 2**62, np.int64), 0),
    "1000 times 32767 in int16": (np.full(1000, 32767, np.int16), 32767), "1000 times 255 in uint8": (np.full(1000, 255, np.uint8), 255),
}
for name, (numbers, seen) in cases.items():
    found = mx.mean(mx.array(numbers))
    print(f"mean of {name}: {found.item()} ({found.dtype}), by NumPy {numbers.mean()}")
    assert found.dtype == mx.float32 and abs(found.item() - seen) < 0.01
audio = np.full(48000, 2**30, np.int32)
found, right = mx.mean(mx.array(audio)).item(), audio.mean()
print(f"mean of a second of audio of 2 ** 30: {found}, by NumPy {right}")
assert abs(found) < 2**31 / 48000 + 1 and right == 2**30
spread = mx.std(mx.array(np.full(4, 2**30, np.int32))).item()
print("std of four equal numbers:", spread)
assert spread == 2.0**30
PYTHON
