#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pyarrow 26.0.1: RecordBatch.to_tensor of a uint64 column beside any signed one makes int64 of both, so that 2^64 - 1 becomes -1, without
# an error. uint32 beside int32 is made int64, and NumPy makes float64 of uint64 and int64.
# Guess before the run: a type that holds both, or an error, as Arrow's casts give by default.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pyarrow==26.0.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import pyarrow as pa


def tensor(first, first_type, second, second_type):
    return pa.RecordBatch.from_arrays([pa.array(first, first_type), pa.array(second, second_type)], ["a", "b"]).to_tensor()


for signed in (pa.int8(), pa.int64()):
    found = tensor([2**64 - 1, 2**63], pa.uint64(), [-1, -2], signed)
    print(f"uint64 2^64 - 1 and 2^63 beside {signed}: {found.type}", found.to_numpy()[:, 0].tolist())
    assert found.type == pa.int64() and found.to_numpy()[:, 0].tolist() == [-1, -2**63]
found = tensor([2**32 - 1], pa.uint32(), [-1], pa.int32())
assert found.type == pa.int64() and found.to_numpy().tolist() == [[2**32 - 1, -1]]
try:
    pa.array([2**64 - 1], pa.uint64()).cast(pa.int64())
    raise AssertionError("the cast was refused")
except pa.ArrowInvalid as error:
    print("the cast of the column alone:", error)
assert np.result_type(np.uint64, np.int64) == np.float64
PYTHON
