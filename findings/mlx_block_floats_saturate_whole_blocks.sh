#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# MLX 0.32.4 on a CPU (mlx-cpu), quantize and dequantize: one NaN or infinity in a block of 32 makes each other number of the block -896 or 896
# in mode mxfp8, and 0 in mode mxfp4; the scale written is 128, that is 2, where the format has a code for NaN. The mode nvfp4 is used
# without its second scale, so that numbers beyond 2688 are all 2688, without a word. Blocks of plain small numbers are right.
# Guess before the run: a NaN makes NaN of its block, as the microscaling standard has it, or of itself; large weights keep four bits' error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check mlx==0.32.4 mlx-cpu==0.32.4 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import mlx.core as mx
import numpy as np

mx.set_default_device(mx.cpu)


def there_and_back(row, mode, size, bits):
    """A row of float32 after it has been stored in a mode, and the scales of its blocks."""
    packed = mx.quantize(mx.array(row[None]), group_size=size, bits=bits, mode=mode)
    return np.array(mx.dequantize(*packed, group_size=size, bits=bits, mode=mode).astype(mx.float32))[0], np.array(packed[1])[0]


row = np.linspace(-1, 1, 32).astype(np.float32)
for mode, size, bits, error, limit in (("mxfp8", 32, 8, 0.07, 896), ("mxfp4", 32, 4, 0.3, 0), ("nvfp4", 16, 4, 0.3, None)):
    found, _ = there_and_back(row, mode, size, bits)
    print(f"{mode}: off by up to {np.abs(found - row).max():.3f}")
    assert np.abs(found - row).max() < error
    for mark in (np.nan, np.inf):
        holed = row.copy()
        holed[3] = mark
        found, scales = there_and_back(holed, mode, size, bits)
        print(f"  with {mark}: {sorted(set(np.abs(found[:16]).tolist()))}, scales {scales.tolist()}")
        assert np.isfinite(found).all()
        if limit is not None:
            assert (np.abs(found) == limit).all() and scales.tolist() == [128]
for top in (1000, 2688, 5000, 1e6):
    found, _ = there_and_back(row * np.float32(top), "nvfp4", 16, 4)
    print(f"nvfp4 of -{top} to {top}: {found.min()} to {found.max()}, {np.sum(np.abs(found) == np.abs(found).max())} of 32 at the end")
    assert found.max() == -found.min() == (960 if top == 1000 else 2688)
assert np.sum(np.abs(found) == 2688) == 32
PYTHON
