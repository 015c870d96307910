#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soxr 1.1.0: resampling int16 adds dither of one step, so that digital silence becomes noise of -1, 0 and 1 in about a quarter of the samples, and a
# constant 1000 becomes 999 to 1001. int32 and floats have none. The noise is the same in each call. A test for exact silence, or
# of equal channels, fails after a change of rate in int16 alone.
# Guess before the run: silence stays silence in each type.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check soxr==1.1.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import soxr

for dtype in (np.int16, np.int32, np.float32, np.float64):
    for level in (0, 1000):
        for rates in ((16000, 8000), (44100, 16000), (8000, 48000)):
            found = soxr.resample(np.full(8000, level, dtype), *rates)
            middle = found[len(found) // 4 : -len(found) // 4]
            values, counts = np.unique(np.round(middle, 2), return_counts=True)
            print(f"{np.dtype(dtype)}, {level}, {rates[0]} to {rates[1]} Hz:", {float(v): int(n) for v, n in zip(values, counts)})
            assert values.tolist() == ([level - 1, level, level + 1] if dtype == np.int16 else [level])
            assert np.array_equal(found, soxr.resample(np.full(8000, level, dtype), *rates))
PYTHON
