#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tinygrad 0.14.0 (CPU device by clang): argmax of a row that begins with a NaN is the row's length, an index beyond it, and topk of it gives
# index 0 twice. A NaN elsewhere in the row is passed over, and so max depends on where the NaN stands: [nan, 1, 2] gives NaN and [1, nan, 3]
# gives 3. NumPy gives the NaN's own index, and NaN as the maximum of both.
# Guess before the run: an index is within the row whatever the row holds.
set -euo pipefail
command -v clang >/dev/null || { echo "needs clang, with which tinygrad compiles"; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check tinygrad==0.14.0 numpy==2.4.6
CACHELEVEL=0 DEV=CPU "$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
from tinygrad import Tensor

first, inside = np.array([np.nan, 1, 2], np.float32), np.array([1, np.nan, 3], np.float32)
for row in (first, inside):
    print(row, "argmax", Tensor(row).argmax().item(), "max", Tensor(row).max().item(), "topk", Tensor(row).topk(2)[1].numpy(),
          "NumPy", np.argmax(row), np.max(row))
assert Tensor(first).argmax().item() == 3 and np.argmax(first) == 0
assert Tensor(first).argmin().item() == 3 and np.argmin(first) == 0
assert Tensor(first).topk(2)[1].numpy().tolist() == [0, 0]
assert np.isnan(Tensor(first).max().item()) and Tensor(inside).max().item() == 3 and np.isnan(np.max(inside))
assert Tensor(inside).argmax().item() == 2 and np.argmax(inside) == 1
PYTHON
