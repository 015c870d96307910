#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# numcodecs 0.16.6: BitRound, Zarr's filter for floats, adds half a step to the bits of a number. A NaN whose bits are all set then runs over
# into the sign: 0x7fffffff, the NaN that NVIDIA's GPUs make, becomes -0, and its negative 0. A NaN made on a CPU, 0x7fc00000, stays NaN.
# float16 and float64 do the same.
# Guess before the run: NaN is NaN before and after, whatever its bits.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check numcodecs==0.16.6 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numcodecs
import numpy as np

kinds = {np.float16: (np.uint16, 10), np.float32: (np.uint32, 23), np.float64: (np.uint64, 52)}
for dtype, (word, mantissa) in kinds.items():
    bits = np.dtype(dtype).itemsize * 8
    ones = 2 ** (bits - 1) - 1
    quiet = ones - (2 ** (mantissa - 1) - 1)
    numbers = np.array([quiet, ones, 2**bits - 1], word).view(dtype)
    assert np.isnan(numbers).all()
    for keep in (3, mantissa - 1):
        codec = numcodecs.BitRound(keep)
        found = codec.decode(codec.encode(np.append(numbers, dtype(1.5)))).view(dtype)
        print(f"{np.dtype(dtype)}, {keep} bits kept: NaN of {[hex(int(x)) for x in numbers.view(word)]} became {found[:3].tolist()}")
        assert [str(float(x)) for x in found] == ["nan", "-0.0", "0.0", "1.5"]
PYTHON
