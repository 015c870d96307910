#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# polars 2.1.0: mean_horizontal of columns of UInt8 or Int8 adds up in 8 bits: of 200 and 200 the mean is 72, below both, and of 100 and 100 in
# Int8 -28. UInt16 and Int32 are the same near their ends. The mean of one column, of a list and of an array, by groups, and the rolling one of
# the same numbers are right. sum_horizontal and dot wrap, too, while sum of a column or a list of bytes goes to Int64; sum of Int32 stays in 32
# bits, and two times 2 ** 31 - 1 are -2.
# Guess before the run: a mean is a float of the numbers themselves, as mean() is, along rows as along columns.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check polars==2.1.0
"$folder/venv/bin/python" - <<'PYTHON'
import polars

for dtype, number, wrapped in (
    (polars.UInt8, 200, 72.0), (polars.Int8, 100, -28.0), (polars.UInt16, 40000, 7232.0), (polars.Int32, 2**31 - 1, -1.0),
    (polars.Float32, 200, 200.0),
):
    frame = polars.DataFrame({"a": [number], "b": [number]}, schema={"a": dtype, "b": dtype})
    found = frame.select(polars.mean_horizontal("a", "b").alias("mean"), polars.sum_horizontal("a", "b").alias("sum")).row(0)
    series = polars.Series([number, number], dtype=dtype)
    lists = polars.Series([[number, number]], dtype=polars.List(dtype)).list
    arrays = polars.Series([[number, number]], dtype=polars.Array(dtype, 2)).arr
    print(f"{dtype}, {number} and {number}: horizontal mean {found[0]} and sum {found[1]}; "
          f"mean {series.mean()}, of a list {lists.mean()[0]}, sum {series.sum()}")
    assert found[0] == wrapped
    assert series.mean() == lists.mean()[0] == arrays.mean()[0] == number and series.rolling_mean(2)[1] == number
    assert series.sum() == (-2 if dtype == polars.Int32 else 2 * number) == lists.sum()[0]
bytes_ = polars.Series([200, 100, 250], dtype=polars.UInt8)
print("dot of 200, 100, 250 with itself:", bytes_.dot(bytes_), "and", (200**2 + 100**2 + 250**2), "modulo 256:", (200**2 + 100**2 + 250**2) % 256)
assert bytes_.dot(bytes_) == (200**2 + 100**2 + 250**2) % 256
PYTHON
