#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# MLX 0.32.4 on a CPU (mlx-cpu): exp of float32 is infinity from just above 88 on, though the results fit in float32 up to 88.72: exp(88.3) is
# 2.2e38. bfloat16 has the same limit. Below -88 it is 0 where float32 has subnormal results down to -103. sigmoid(-88.1) is 0, too, and
# log(exp(88.3)) infinity, while power(e, 88.3), cosh(88.9) and expm1(88.3) are finite and right. float16 reaches to its own limit.
# Guess before the run: exp overflows where the result does, and agrees with power.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check mlx==0.32.4 mlx-cpu==0.32.4 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import mlx.core as mx
import numpy as np

mx.set_default_device(mx.cpu)
x = np.linspace(80, 90, 100001).astype(np.float32)
found, right = np.array(mx.exp(mx.array(x))), np.exp(x)
first, limit = float(x[np.isinf(found)][0]), float(x[np.isinf(right)][0])
print(f"exp is infinity from {first:.4f} on, where NumPy's is from {limit:.4f} on")
assert 87.99 < first < 88.01 and 88.72 < limit < 88.73
assert np.abs(found / right - 1)[x < first].max() < 1e-5
low = np.array(mx.exp(mx.array(np.float32([-87.3, -88.1, -95, -103]))))
print("exp of -87.3, -88.1, -95 and -103:", low)
assert low[0] > 0 and not low[1:].any() and np.exp(np.float32(-103)) > 0
one = mx.array(88.3)
others = {"log(exp(x))": mx.log(mx.exp(one)), "sigmoid(-88.1)": mx.sigmoid(mx.array(-88.1)), "expm1(x)": mx.expm1(one),
          "power(e, x)": mx.power(mx.array(np.e), one), "cosh(88.9)": mx.cosh(mx.array(88.9)),
          "exp in bfloat16": mx.exp(one.astype(mx.bfloat16)), "exp of 11.05 in float16": mx.exp(mx.array(11.05, dtype=mx.float16))}
others = {name: value.item() for name, value in others.items()}
print("x = 88.3:", others)
assert np.isinf(others["log(exp(x))"]) and np.isinf(others["exp in bfloat16"]) and others["sigmoid(-88.1)"] == 0
assert np.isclose(others["expm1(x)"], np.exp(np.float32(88.3)), rtol=1e-4) and np.isclose(others["power(e, x)"], np.exp(88.3), rtol=1e-3)
assert np.isfinite(others["cosh(88.9)"]) and 60000 < others["exp of 11.05 in float16"] < 65504
PYTHON
