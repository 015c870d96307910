#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# numba 0.68.1: in a compiled function np.mean, np.sum, np.var and np.std of float32 add up one after the other in float32, and the variance is
# taken from that mean. So 8 million numbers of 1000, all equal, have the mean 1021.97 and the variance 483; a million of 0.1 have the mean 0.101;
# as many temperatures around 20.005 have twice their standard deviation, and 8 million 162 times theirs. 2 ** 25 ones have the mean a half. NumPy
# 2.4.6, which adds up in pairs, is right for each, and so is numba with float64. A picture of a few megapixels is enough.
# Guess before the run: compiled or not, the mean of equal numbers is that number, to five digits.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check numba==0.68.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numba
import numpy as np

mean, variance = numba.njit(lambda a: np.mean(a)), numba.njit(lambda a: np.var(a))
noise = np.random.default_rng(0).random(8_000_000)
cases = {
    "a thousand equal 1000": (np.full(1000, 1000.0), True),
    "a million of 0.1": (np.full(10**6, 0.1), False),
    "8 million of 1000": (np.full(8 * 10**6, 1000.0), False),
    "a million around 20.005": (noise[: 10**6] * 0.01 + 20, False),
    "8 million around 20.005": (noise * 0.01 + 20, False),
    "2 ** 25 ones": (np.ones(2**25), False),
}
found = {}
for name, (numbers, right) in cases.items():
    single = numbers.astype(np.float32)
    found[name] = (float(mean(single)), float(variance(single)), float(np.mean(single)), float(np.var(single)))
    print(f"{name}: mean {found[name][0]:.7g}, variance {found[name][1]:.4g}; NumPy {found[name][2]:.7g} and {found[name][3]:.4g}")
    close = abs(found[name][0] - numbers.mean()) < 1e-5 * numbers.mean()
    assert close == right or name == "a million around 20.005"
    assert abs(found[name][2] - numbers.mean()) < 1e-5 * numbers.mean()
    assert abs(mean(numbers) - numbers.mean()) < 1e-9 * numbers.mean() and abs(variance(numbers) - numbers.var()) < 1e-9
assert found["8 million of 1000"][0] > 1020 and found["8 million of 1000"][1] > 400
assert 3.5 < found["a million around 20.005"][1] / found["a million around 20.005"][3] < 4.5
assert found["8 million around 20.005"][1] > 20000 * found["8 million around 20.005"][3]
assert found["2 ** 25 ones"][0] == 0.5
PYTHON
