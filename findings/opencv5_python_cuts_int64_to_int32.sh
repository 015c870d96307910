#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenCV 5.0.0 has matrices of 64-bit integers (CV_64S, CV_64U) and hands them out, but its Python module takes NumPy arrays of int64 and
# uint64 as int32 and keeps the low 32 bits, without a word: 2**40 is 0. uint32 arrays are taken as they are.
# Guess before the run: int64 goes through unchanged, as the type exists since 5.0; or it is refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check opencv-python-headless==5.0.0.93 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import cv2
import numpy as np

big = np.array([[2**53 + 1, 2**31, -1]], np.int64)
flipped = cv2.flip(big, 0)
unsigned = cv2.flip(np.array([[2**63 + 5]], np.uint64), 0)
made = cv2.normalize(np.array([[1, 2]], np.float32), None, 0, 2**40, cv2.NORM_MINMAX, dtype=cv2.CV_64S)
small = cv2.flip(np.array([[2**31]], np.uint32), 0)
print("int64 in: ", big.tolist(), "out:", flipped.tolist(), flipped.dtype)
print("uint64 out:", unsigned.tolist(), unsigned.dtype, " uint32 out:", small.tolist(), small.dtype)
print("made by OpenCV:", made.tolist(), made.dtype, " nonzero of [2**40]:", cv2.countNonZero(np.array([[2**40]], np.int64)))
assert flipped.tolist() == [[1, -2**31, -1]] and flipped.dtype == np.int32
assert unsigned.tolist() == [[5]] and unsigned.dtype == np.int32
assert made.tolist() == [[0, 2**40]] and made.dtype == np.int64
assert small.tolist() == [[2**31]] and small.dtype == np.uint32
assert cv2.countNonZero(np.array([[2**40]], np.int64)) == 0
PYTHON
