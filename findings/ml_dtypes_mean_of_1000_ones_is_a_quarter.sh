#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ml_dtypes 0.6.0 with NumPy 2.4.6: sum and mean add up in the small type itself. A thousand ones of bfloat16 have the sum 256 and the mean
# 0.26, of float8_e4m3fn 16, of float8_e5m2 8; of int4 the sum wraps to -8. NumPy's float16 gives 1000 and its int8 an int64.
# The sum of any float8_e8m0fnu is NaN, as it starts from a zero that the type lacks. A matrix product, norm and dtype=float32 are right.
# Guess before the run: sums in float32 and int64, or in pairs as NumPy's float16.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ml_dtypes==0.6.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import ml_dtypes
import numpy as np

seen = {"bfloat16": (256, 0.255859375), "float8_e4m3fn": (16, 0.015625), "float8_e5m2": (8, 0.0078125), "float4_e2m1fn": (4, 0),
        "int4": (-8, 0)}
for name, (total, mean) in seen.items():
    ones = np.ones(1000, getattr(ml_dtypes, name))
    print(f"1000 ones of {name}: sum {ones.sum()}, mean {ones.mean()}, sum(dtype=float32) {ones.sum(dtype=np.float32)}")
    assert float(ones.sum()) == total and float(ones.mean()) == mean
    assert ones.sum(dtype=np.float32) == 1000
ones = np.ones(1000, ml_dtypes.bfloat16)
assert ones @ ones == 1000 and np.float32(ones).mean() == 1 and abs(np.linalg.norm(ones) ** 2 - 1000) < 0.01
assert np.ones(1000, np.float16).sum() == 1000 and np.ones(1000, np.float16).mean() == 1 and np.ones(1000, np.int8).sum() == 1000
noise = np.random.default_rng(0).standard_normal(12000).astype(ml_dtypes.bfloat16)
print("the variance of normal noise in bfloat16:", noise.var(), "and in float32:", noise.astype(np.float32).var())
assert float(noise.var()) < 0.5 < 0.9 < noise.astype(np.float32).var()
powers = np.ones(3, ml_dtypes.float8_e8m0fnu)
print("the sum of", powers, "is", powers.sum())
assert np.isnan(float(powers.sum())) and powers.sum(dtype=np.float32) == 3
PYTHON
