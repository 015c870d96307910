#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# JAX 0.10.2, CPU: jax.image.resize by "linear", "cubic" and "lanczos3" makes NaN of each row and column that crosses a NaN, and so of the whole
# picture: it multiplies by a matrix of weights, most of them 0, and 0 times NaN is NaN. One missing pixel of a depth map, or one
# infinite, leaves nothing of the result. "nearest" picks, and keeps the others.
# Guess before the run: only the pixels that have the NaN beside them become NaN, as in OpenCV and PyTorch.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jax==0.10.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import jax
import jax.numpy as jnp
import numpy as np

depth = np.arange(1, 401, dtype=np.float32).reshape(20, 20)
for hole in (np.nan, np.inf):
    holed = depth.copy()
    holed[3, 4] = hole
    for method in ("nearest", "linear", "cubic", "lanczos3"):
        for extent in (40, 10):
            found = np.asarray(jax.image.resize(jnp.asarray(holed), (extent, extent), method))
            whole = np.asarray(jax.image.resize(jnp.asarray(depth), (extent, extent), method))
            lost = int((~np.isfinite(found)).sum())
            print(f"one pixel of {holed.size} is {hole}, {method} to {extent} x {extent}: {lost} of {found.size} are not finite")
            assert np.isfinite(whole).all() and (lost == found.size if method != "nearest" else lost <= 4)
PYTHON
