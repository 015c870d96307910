#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# torchvision 0.29.2 on x86-64: to_dtype(scale=True), and so ToDtype and convert_image_dtype, makes white of float16 and bfloat16, 1.0, black,
# 0, in uint8, and -32768 in int16; white of float32 is 0 in uint16, so that a 16-bit picture does not come back from float32. The factor is
# 255.999, or 65535.999, which these types round to 256, or 65536, one beyond the range. float32 to uint8 and float64 to uint16 are right.
# From uint8 to uint16 bits are shifted, so that white is 65280, not 65535. Installs torch, 3 GB with CUDA's libraries.
# Guess before the run: white is the largest number of each integer type, whichever way it takes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-cache-dir torch==2.15.0 torchvision==0.29.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import torch
from torchvision.transforms.v2 import functional as F


def converted(number, *types):
    """What a picture of that number in the first type is in the last one, by way of those between."""
    picture = torch.full((1, 16, 16), number, dtype=types[0])
    for each in types[1:]:
        picture = F.to_dtype(picture, each, scale=True)
    (found,) = set(picture.flatten().tolist())
    return found


u8, i16, u16, f16, bf16, f32, f64 = (torch.uint8, torch.int16, torch.uint16, torch.float16, torch.bfloat16, torch.float32, torch.float64)
cases = [
    (1, (f32, u8), 255), (1, (f16, u8), 0), (1, (bf16, u8), 0), (0.75, (f16, u8), 192), (0.75, (bf16, u8), 192),
    (1, (f32, i16), 32767), (1, (f16, i16), -32768), (1, (bf16, i16), -32768),
    (1, (f64, u16), 65535), (1, (f32, u16), 0), (65535, (u16, f32, u16), 0), (65534, (u16, f32, u16), 65535), (9, (u16, f32, u16), 9),
    (255, (u8, u16), 65280), (255, (u8, f64, u16), 65535),
]
for number, types, seen in cases:
    found = converted(number, *types)
    print(f"{number} by {' to '.join(str(each).removeprefix('torch.') for each in types)}: {found}")
    assert found == seen, f"it was {seen}"
PYTHON
