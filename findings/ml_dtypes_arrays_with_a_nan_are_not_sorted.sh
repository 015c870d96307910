#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ml_dtypes 0.6.0 with NumPy 2.4.6: with NaN among bfloat16 or float8 numbers, np.sort, argsort, partition and unique do not sort: 4 NaN 1 3
# NaN 2 stays as it is, where float16 gives 1 2 3 4 NaN NaN. So searchsorted in the result misses, too. nan_to_num leaves NaN and
# infinity as they are. Without NaN the order is right.
# Guess before the run: NaN go last, as with NumPy's own types.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ml_dtypes==0.6.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import ml_dtypes
import numpy as np

nan = np.nan
given = [4, nan, 1, 3, nan, 2]


def same(found, wanted):
    return np.array_equal(np.asarray(found, np.float32), np.float32(wanted), equal_nan=True)


for kind in (np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
    array, own = np.array(given).astype(kind), kind is np.float16
    found, places, distinct = np.sort(array), np.argsort(array), np.unique(array)
    where = int(np.searchsorted(found, array[3]))
    print(f"{array.dtype}: sort {found}, argsort {places}, unique {distinct}, 3 is searched at {where}, nan_to_num {np.nan_to_num(array)}")
    assert same(found, [1, 2, 3, 4, nan, nan] if own else given)
    assert places.tolist() == ([2, 5, 3, 0, 1, 4] if own else [0, 1, 2, 3, 4, 5])
    assert same(np.partition(array, 2)[:3], [1, 2, 3]) == own
    assert len(distinct) == (5 if own else 6) and where == (2 if own else 0)
    assert same(np.nan_to_num(array), [4, 0, 1, 3, 0, 2] if own else given)
    assert same(np.sort(np.array([4, 1, 3, 2]).astype(kind)), [1, 2, 3, 4])
infinite = np.nan_to_num(np.array([np.inf]).astype(ml_dtypes.bfloat16))
print("nan_to_num of an infinite bfloat16:", infinite)
assert np.isinf(np.float32(infinite)).all()
PYTHON
