#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# MLX 0.32.4 on a CPU (mlx-cpu): mean, var, std and linalg.norm of float16 add up in float16, so that the mean of a plane of 300 x 300 ones
# is infinity, and so is the norm, 300, of the same. That of bfloat16 is 1. NumPy 2.4.6 means float16 in float32; MLX itself does so in
# layer_norm.
# Guess before the run: the mean of ones is 1, for the sum need not fit in float16 where the mean does.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check mlx==0.32.4 mlx-cpu==0.32.4 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import mlx.core as mx
import numpy as np

ones = mx.ones((300, 300), dtype=mx.float16)
found = {"mean": float(mx.mean(ones)), "var": float(mx.var(ones)), "std": float(mx.std(ones)), "norm": float(mx.linalg.norm(ones))}
print("300 x 300 ones of float16:", found, "NumPy's mean:", float(np.ones((300, 300), np.float16).mean()))
assert all(np.isinf(value) for value in found.values())
assert float(np.ones((300, 300), np.float16).mean()) == 1 and float(mx.mean(ones.astype(mx.bfloat16))) == 1
x = mx.array(300 * np.random.default_rng(1).standard_normal((1, 256)).astype(np.float16))
print("256 numbers about 0 with deviation 300: std", float(mx.std(x)), "in float32", float(mx.std(x.astype(mx.float32))))
assert np.isinf(float(mx.std(x))) and 250 < float(mx.std(x.astype(mx.float32))) < 350
assert np.isfinite(np.array(mx.fast.layer_norm(x, None, None, 1e-5))).all()
PYTHON
