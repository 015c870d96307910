#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# gguf 0.19.0 (Python): quantised to MXFP4, a block of 32 weights with a NaN or an infinity among them becomes 32 zeros, so a broken
# checkpoint looks clean. Q8_0 and Q4_0 make the block NaN. And the scale byte 0xff, which is NaN in E8M0, is read as 2^128.
# Guess before the run: such a block is NaN, as in the other formats, and so is a block of scale 0xff.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check gguf==0.19.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import gguf
import numpy as np
from gguf import quants

MXFP4, Q8_0, Q4_0 = (gguf.GGMLQuantizationType[name] for name in ("MXFP4", "Q8_0", "Q4_0"))


def there_and_back(weights, kind):
    with np.errstate(all="ignore"):
        return quants.dequantize(quants.quantize(weights, kind), kind)


for broken in (np.nan, np.inf):
    weights = np.ones((1, 64), np.float32)
    weights[0, 5] = broken
    found = there_and_back(weights, MXFP4)
    print(f"64 ones, the sixth of them {broken}: MXFP4 {np.unique(found[0, :32])} and {np.unique(found[0, 32:])} in the two blocks")
    assert not found[0, :32].any() and (found[0, 32:] == 1).all()
    for kind in (Q8_0, Q4_0):
        assert not np.isfinite(there_and_back(weights, kind)[0, :32]).all()

block = quants.quantize(np.ones((1, 32), np.float32), MXFP4)
block[0, 0] = 0xFF
with np.errstate(all="ignore"):
    found = quants.dequantize(block, MXFP4)
print("a block of scale 0xff:", np.unique(found))
assert np.isinf(found).all()
block[0, 1:] = 0x11  # The code of 0.5 twice
found = quants.dequantize(block, MXFP4)
print("0.5 of scale 0xff:", np.unique(found))
assert (found == 2.0**127).all()
PYTHON
