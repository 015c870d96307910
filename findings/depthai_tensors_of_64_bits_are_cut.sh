#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# depthai 3.12.0 (Luxonis), NNData.addTensor, without a camera: int64 arrays are stored in 32 bits without a word, so that 2 ** 40 comes back as 0 and
# 2 ** 31 as -2 ** 31; float64 becomes float32, 1e300 infinity. uint32 and bool are refused. uint8 and int8 come back as int32, float16 as
# float32, and uint16 as float32, none in its own type. There is a type FP64, but none of 64-bit integers.
# Guess before the run: a number that does not fit is refused, and a tensor comes back in the type that it was added in.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check depthai==3.12.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import depthai
import numpy as np


def there_and_back(array):
    """A tensor as it comes back from a message, and the type that the message says."""
    message = depthai.NNData()
    message.addTensor("x", array)
    return message.getTensor("x"), message.getTensorDatatype("x").name


print("types:", [name for name in dir(depthai.TensorInfo.DataType) if name.isupper()])
for array, seen, dtype, kind in ((np.int64([2**40, -1]), [0, -1], np.int32, "INT"), (np.int64([2**31]), [-(2**31)], np.int32, "INT"),
                                 (np.float64([1e300, 0.5]), [np.inf, 0.5], np.float32, "FP32"), (np.uint8([255]), [255], np.int32, "U8F"),
                                 (np.int8([-5]), [-5], np.int32, "I8"), (np.uint16([65535]), [65535], np.float32, "U16F"),
                                 (np.float16([0.5]), [0.5], np.float32, "FP16"), (np.int32([-7]), [-7], np.int32, "INT")):
    found, named = there_and_back(array)
    print(f"{array.tolist()} of {array.dtype} is {found.tolist()} of {found.dtype}, type {named}")
    assert found.tolist() == seen and found.dtype == dtype and named == kind
for array in (np.uint32([1]), np.array([True])):
    try:
        there_and_back(array)
        raise SystemExit(f"{array.dtype} was refused")
    except RuntimeError as error:
        print(f"{array.dtype}: {error}")
assert hasattr(depthai.TensorInfo.DataType, "FP64")
PYTHON
