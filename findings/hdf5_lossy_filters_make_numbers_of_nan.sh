#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# h5py 3.16.0 with hdf5plugin 7.1.0: filters that promise an error below 0.001 store NaN, the mark of missing data, as a number without a word:
# SZ3 gives -2147483.75 and ZFP 32. ZFP makes 2 of infinity, and is off by more than 1 beside it. HDF5's own
# scaleoffset writes an array of floats with a NaN and then cannot read it back: all of the chunk is lost. Without NaN each keeps its word.
# Guess before the run: NaN comes back as NaN, or the write is refused, and other numbers keep the error.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check h5py==3.16.0 hdf5plugin==7.1.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import io

import h5py
import hdf5plugin
import numpy as np

depth = np.random.default_rng(0).standard_normal((32, 32)).astype(np.float32) * 10
filters = {"SZ3": dict(hdf5plugin.SZ3(absolute=1e-3)), "ZFP": dict(hdf5plugin.Zfp(accuracy=1e-3)), "scaleoffset": {"scaleoffset": 4}}


def stored(numbers, options):
    """An array as it comes back from a file in memory, or None if it cannot be read."""
    file = io.BytesIO()
    with h5py.File(file, "w") as target:
        target.create_dataset("x", data=numbers, chunks=numbers.shape, **options)
    with h5py.File(file, "r") as source:
        try:
            return source["x"][...]
        except OSError as error:
            print(" ", error)
            return None


for name, options in filters.items():
    assert np.abs(stored(depth, options) - depth).max() < 1.01e-3
    for mark in (np.nan, np.inf):
        holed = depth.copy()
        holed[0, 0] = mark
        found = stored(holed, options)
        if found is None:
            print(f"{name}: with one {mark} nothing can be read")
            assert name == "scaleoffset" and np.isnan(mark)
            continue
        error = np.abs(found - holed)[holed == depth].max()
        print(f"{name}: {mark} became {found[0, 0]}, and other numbers are off by up to {error:.2g}")
        assert np.isfinite(found[0, 0]) == (name == "ZFP" or np.isnan(mark))
        assert (error > 1) == (name == "ZFP" and np.isinf(mark)) and (error > 1 or error < 1.01e-3)
PYTHON
