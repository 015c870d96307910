#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PaddlePaddle 3.3.1 on a CPU: relu of NaN is 0, so that a broken activation is a quiet one behind it, while relu6, leaky_relu, elu, gelu, hardtanh
# and maximum with 0 hand the NaN on. max_pool2d of a NaN depends on its place: in the last of the window's four it is the result, in the others the
# largest number is. max and amax of the same numbers are NaN in each place. max_pool2d of minus infinity alone is -3.4e38, the least float, and
# logaddexp of two minus infinities, the sum of two impossible paths, is NaN, where NumPy's is minus infinity.
# Guess before the run: NaN passes through all of them, as it does through relu6, and minus infinity through the last two.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-cache-dir paddlepaddle==3.3.1 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - 2> "$folder/said" <<'PYTHON' || { cat "$folder/said"; exit 1; }
import numpy as np
import paddle
import paddle.nn.functional as F

paddle.set_device("cpu")
broken = paddle.to_tensor([np.nan, -1.0, 2.0] * 7)
found = F.relu(broken).numpy()
print("relu of NaN, -1, 2:", found[:3].tolist())
assert (found[::3] == 0).all() and (found[1::3] == 0).all() and (found[2::3] == 2).all()
for name in ("relu6", "leaky_relu", "elu", "gelu", "hardtanh", "silu"):
    assert np.isnan(getattr(F, name)(broken).numpy()[::3]).all()
assert np.isnan(paddle.maximum(broken, paddle.zeros([21])).numpy()[::3]).all()
for place in range(4):
    window = np.float32([1, 2, 3, 4])
    window[place] = np.nan
    pooled = F.max_pool2d(paddle.to_tensor(window.reshape(1, 1, 2, 2)), 2).item()
    whole = paddle.max(paddle.to_tensor(window)).item(), paddle.amax(paddle.to_tensor(window)).item()
    print(f"{window.tolist()}: max_pool2d {pooled}, max and amax {whole}")
    assert np.isnan(whole).all()
    assert np.isnan(pooled) if place == 3 else pooled == 4
least = F.max_pool2d(paddle.full([1, 1, 2, 2], -np.inf), 2).item()
low = paddle.to_tensor([-np.inf, -np.inf])
print("max_pool2d of minus infinity:", least, "logaddexp of two:", paddle.logaddexp(low[:1], low[1:]).item())
assert least == np.finfo(np.float32).min
assert np.isnan(paddle.logaddexp(low[:1], low[1:]).item()) and np.logaddexp(-np.inf, -np.inf) == -np.inf
PYTHON
