#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# zarr 3.1.6, formats 2 and 3: resize to fewer rows deletes the chunks beyond the end, but keeps the chunk that the end falls into as it is. If
# the array grows again, its old rows are back up to the chunk's end, and the fill value begins only there: 0 to 9 in chunks of four, cut to
# five and grown to ten, are 0 to 7, -1, -1. An append after the cut is right. h5py 3.16.0, which cuts the same chunks, gives -1 from the sixth.
# Guess before the run: what was cut off is gone, and new rows are the fill value.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check zarr==3.1.6 h5py==3.16.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import io

import h5py
import numpy as np
import zarr

cut = [0, 1, 2, 3, 4, -1, -1, -1, -1, -1]
for version in (2, 3):
    rows = zarr.create_array(zarr.storage.MemoryStore(), shape=(10,), chunks=(4,), dtype="f4", fill_value=-1, zarr_format=version)
    rows[:] = np.arange(10)
    rows.resize((5,))
    assert rows[:].tolist() == cut[:5]
    rows.resize((10,))
    print(f"zarr, format {version}: {rows[:].tolist()}")
    assert rows[:].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, -1, -1]
    rows.resize((5,))
    rows.append(np.float32([50, 60]))
    assert rows[:].tolist() == [0, 1, 2, 3, 4, 50, 60]
    picture = zarr.create_array(zarr.storage.MemoryStore(), shape=(6, 6), chunks=(4, 4), dtype="u1", fill_value=0, zarr_format=version)
    picture[:] = 9
    picture.resize((2, 2))
    picture.resize((6, 6))
    print("a picture of 6 x 6, cut to 2 x 2 and grown again:", picture[:].tolist())
    assert picture[:].sum() == 9 * 16
with h5py.File(io.BytesIO(), "w") as file:
    rows = file.create_dataset("x", (10,), chunks=(4,), maxshape=(None,), fillvalue=-1, dtype="f4")
    rows[:] = np.arange(10)
    rows.resize((5,))
    rows.resize((10,))
    print(f"h5py: {rows[:].tolist()}")
    assert rows[:].tolist() == cut
PYTHON
