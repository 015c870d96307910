#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenCV 5.0.0 takes NumPy's bool arrays as CV_Bool. bitwise_not flips all eight bits, so False and True both become true bytes (255 and
# 254); logical negation needs bitwise_xor. add of two bool arrays is refused.
# Guess before the run: [True, False] becomes [False, True], as numpy.bitwise_not says.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check opencv-python-headless==5.0.0.93 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import cv2
import numpy as np

mask = np.array([[True, False]])
inverted = cv2.bitwise_not(mask)
print("bitwise_not:", inverted.tolist(), "bytes:", inverted.view(np.uint8).tolist(), "numpy:", np.bitwise_not(mask).tolist())
assert inverted.dtype == bool and inverted.view(np.uint8).tolist() == [[254, 255]]
assert cv2.bitwise_xor(mask, np.array([[True, True]])).tolist() == [[False, True]]
try:
    cv2.add(mask, mask)
except cv2.error as error:
    print("add:", str(error).splitlines()[0])
else:
    raise SystemExit("add took bool arrays")
PYTHON
