#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lance 14.0.2 (pylance, a format of data sets for machine learning): an expression of columns of bytes wraps, so that where u is 200 and w is 100
# the filter "u + w > 255" finds nothing and "w - u > 0" finds the row. Beside a literal it depends on the place: the filter "u * 2 > 255" finds
# 200, as its double is 400, while u * 2 as a column of the same query is 144, and n + 1 of the largest int32 is the least. So rows can be chosen
# by numbers that the result does not show. No error, and what fits the column's type is right.
# Guess before the run: one expression means one number in a filter and in a column, and what does not fit is an error or goes to a wider type.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pylance==14.0.2 pyarrow==26.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import os
import tempfile

import lance
import pyarrow

table = pyarrow.table({
    "u": pyarrow.array([200, 100, 250, 3], pyarrow.uint8()), "w": pyarrow.array([100, 100, 10, 3], pyarrow.uint8()),
    "n": pyarrow.array([2**31 - 1, 5, -(2**31), 0], pyarrow.int32()),
})
data = lance.write_dataset(table, os.path.join(tempfile.mkdtemp(), "data.lance"))

def rows(condition):
    return data.to_table(filter=condition)["u"].to_pylist()

for condition, want in {
    "u + w > 255": [], "u + w = 44": [200], "w - u > 0": [200, 250], "w - u < 0": [], "u - w > 100": [250], "u * w > 255": [],
    "u * 2 > 255": [200, 250], "u * 2 = 144": [], "n + n < 0": [200], "n + 1 < 0": [250], "n - 1 > 0": [200, 100],
}.items():
    print(f"{condition}: u of the rows found {rows(condition)}")
    assert rows(condition) == want
found = data.to_table(columns={"u + w": "u + w", "w - u": "w - u", "u * 2": "u * 2", "n + 1": "n + 1"}).to_pydict()
print("columns:", found)
assert found == {"u + w": [44, 200, 4, 6], "w - u": [156, 0, 16, 0], "u * 2": [144, 200, 244, 6], "n + 1": [-(2**31), 6, 1 - 2**31, 1]}
PYTHON
