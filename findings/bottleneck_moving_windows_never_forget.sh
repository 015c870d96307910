#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Bottleneck 1.6.1: move_sum, move_mean, move_var and move_std add what enters a window and take off what leaves it, in one sum that is never renewed.
# So after one infinity each later window is NaN, and after one 1e17 among ones the sum of four ones is 0 for the rest of the series, though it
# has long left the window. A NaN is counted and leaves again. move_max, move_min and move_median are right. float32 is summed in
# float32: ones behind a single 1e9 have the mean 0. NumPy's mean of the same windows is 1.
# Guess before the run: a window's result depends on the numbers in the window, but for the last digits.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check bottleneck==1.6.1 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import bottleneck
import numpy as np

names = ("sum", "mean", "var", "std", "max", "min", "median")
for first, dtype, lost in ((np.inf, np.float64, {"sum": np.nan, "mean": np.nan, "var": np.nan, "std": np.nan}),
                           (np.nan, np.float64, {}), (1e17, np.float64, {"sum": 0, "mean": 0}), (1e9, np.float32, {"sum": 0, "mean": 0})):
    series = np.ones(100_000, dtype)
    series[10] = first
    windows = np.lib.stride_tricks.sliding_window_view(series, 4)
    for name in names:
        found = getattr(bottleneck, "move_" + name)(series, 4)[3:]
        right = getattr(np, name)(windows, axis=1)
        after = np.unique(found[20:])
        print(f"{first} of {np.dtype(dtype)} once, then ones: {name} of four {after.tolist()}, NumPy {np.unique(right[20:]).tolist()}")
        assert np.unique(right[20:]).tolist() == [{"sum": 4, "var": 0, "std": 0}.get(name, 1)]
        assert np.array_equal(found[:4], right[:4])
        if name in lost:
            assert np.array_equal(after, [lost[name]], equal_nan=True)
        elif name not in ("var", "std"):
            assert np.array_equal(after, np.unique(right[20:]))
PYTHON
