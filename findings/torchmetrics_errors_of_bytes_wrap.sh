#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# torchmetrics 1.9.0: mean_squared_error and mean_absolute_error of uint8 subtract in uint8, so that black beside white has a squared error of
# 1, not 65025, and int8 squares in int8. peak_signal_noise_ratio of the same pictures is right, structural_similarity_index_measure refuses
# them. In float16 both sum in float16, and 1000 numbers that are 100 off have an infinite mean error. log_cosh_error is infinite from 90 on,
# in float32, where it should be 89.3. Installs torch, 3 GB with CUDA's libraries.
# Guess before the run: bytes are taken as numbers or refused by all alike, and means are summed in a wider type.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-cache-dir torch==2.15.0 torchmetrics==1.9.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import math

import torch
import torchmetrics.functional as metrics
from torchmetrics.functional.image import peak_signal_noise_ratio, structural_similarity_index_measure

black, white = torch.zeros(1, 3, 16, 16, dtype=torch.uint8), torch.full((1, 3, 16, 16), 255, dtype=torch.uint8)
squared, absolute = metrics.mean_squared_error(black, white).item(), metrics.mean_absolute_error(black, white).item()
right = metrics.mean_squared_error(black.float(), white.float()).item()
ratio = peak_signal_noise_ratio(black, white, data_range=255.0).item()
print(f"black and white as bytes: squared {squared}, absolute {absolute}; as floats squared {right}; PSNR of bytes {ratio}")
assert squared == absolute == 1 and right == 65025 and ratio == 0
try:
    structural_similarity_index_measure(black, white, data_range=255.0)
    raise SystemExit("SSIM took bytes")
except RuntimeError as error:
    print("SSIM:", error)
for dtype, seen in ((torch.int8, (16, 100)), (torch.int16, (10000, 100)), (torch.float16, (math.inf, math.inf)), (torch.float32, (10000, 100))):
    one, other = torch.full((1000,), 100).to(dtype), torch.zeros(1000, dtype=dtype)
    found = metrics.mean_squared_error(one, other).item(), metrics.mean_absolute_error(one, other).item()
    print(f"1000 numbers 100 off in {dtype}: squared {found[0]}, absolute {found[1]}")
    assert found == seen
found = [metrics.log_cosh_error(torch.tensor([off]), torch.tensor([0.0])).item() for off in (80.0, 90.0)]
print("log_cosh_error at 80 and 90:", found, "and exactly", 80 - math.log(2), 90 - math.log(2))
assert abs(found[0] - (80 - math.log(2))) < 1e-3 and math.isinf(found[1])
PYTHON
