#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PaddlePaddle 3.3.1 on a CPU: mean of int32 or int64 is an integer, cut towards zero, without an error: of 0, 1, 2, 3 it is 1, and of -1, 0, 0 it
# is 0. var is an integer, too, and measures from that cut mean: the variance of 0, 1, 2, 3 is 2, not 1.667, and that of 0, 1, 1 is 1, not a third;
# std is the root of it, as a float. The mean of a mask of bool is True. median and nanmean of the same tensors are right. sum of uint8, int8 and
# int16 adds up in those types, so that 200 + 100 is 44, while int32 is summed in int64. NumPy's mean and var are floats, and its sums are wide.
# Guess before the run: the mean of integers is a float, as their median is here, or is refused, as it is for uint8.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-cache-dir paddlepaddle==3.3.1 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - 2> "$folder/said" <<'PYTHON' || { cat "$folder/said"; exit 1; }
import numpy as np
import paddle

paddle.set_device("cpu")
for dtype in ("int32", "int64"):
    for numbers, mean, variance in (([0, 1, 2, 3], 1, 2), ([0, 1, 1], 0, 1), ([-1, 0, 0], 0, 0), ([2, 4, 6], 4, 4)):
        tensor = paddle.to_tensor(numbers, dtype)
        found = paddle.mean(tensor), paddle.var(tensor).item(), paddle.std(tensor).item()
        print(f"{dtype} {numbers}: mean {found[0].item()}, var {found[1]}, std {found[2]}; NumPy {np.mean(numbers)}, {np.var(numbers, ddof=1)}")
        assert str(found[0].dtype) == str(paddle.var(tensor).dtype) == "paddle." + dtype and found[0].item() == mean
        assert np.isclose(found[1], variance) and np.isclose(found[2], variance ** 0.5)
        assert paddle.median(tensor).item() == np.median(numbers) and np.isclose(paddle.nanmean(tensor).item(), np.mean(numbers))
        assert np.isclose(paddle.var(tensor.astype("float32")).item(), np.var(numbers, ddof=1))
mask = paddle.mean(paddle.to_tensor([True, False, False]))
print("mean of a mask:", mask.item())
assert mask.item() is True
for dtype, numbers, total in (("uint8", [200, 100], 44), ("int8", [100, 100], -56), ("int16", [30000, 30000], -5536),
                              ("int32", [2 ** 31 - 1] * 2, 2 ** 32 - 2)):
    found = paddle.sum(paddle.to_tensor(numbers, dtype))
    print(f"sum of {numbers} of {dtype}: {found.item()} of {found.dtype}")
    assert found.item() == total and str(found.dtype) == "paddle." + ("int64" if dtype == "int32" else dtype)
try:
    paddle.mean(paddle.to_tensor([1, 2], "uint8"))
except RuntimeError:
    print("mean of uint8: refused")
else:
    raise SystemExit("mean of uint8 is not refused")
PYTHON
