#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# NumPy 2.4.6: percentile, quantile and their nan- forms of signed integers subtract neighbours in the integer type, where the difference wraps:
# of -100 and 100 in int8 the quarters are -114, 128 and 114, beyond the type and not in order. int16, int32 and int64 are the same near their
# ends, and float16 is infinite. Of 1, 2 and infinity the percentiles 50 and 75 are NaN, where median is 2. JAX 0.10.2 is right in each of these.
# Guess before the run: a percentile lies between two of the numbers, and percentile 50 is the median.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check numpy==2.4.6 jax==0.10.2
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import jax.numpy as jnp
import numpy as np

quarters = np.float32([25, 50, 75])
for numbers, seen in ((np.int8([-100, 100]), [-114, 128, 114]), (np.int16([-30000, 30000]), [-31384, 32768, 31384]),
                      (np.int32([-(2**31), 2**31 - 1]), [-2147483648.25, 2147483647.5, 2147483647.25]),
                      (np.uint8([0, 255]), [63.75, 127.5, 191.25]), (np.float16([-60000, 60000]), [-np.inf, -np.inf, np.inf]),
                      (np.float32([1, 2, np.inf]), [1.5, np.nan, np.nan])):
    found, by_jax, middle = np.percentile(numbers, quarters), np.asarray(jnp.percentile(numbers, quarters), float), np.median(numbers)
    print(f"{numbers.tolist()} of {numbers.dtype}: quarters {found.tolist()}, by JAX {by_jax.tolist()}, median {middle}")
    if numbers.dtype == np.float16:
        assert np.isinf(found).all()
    else:
        assert np.allclose(found, seen, equal_nan=True) and np.array_equal(found, np.nanpercentile(numbers, quarters), equal_nan=True)
    least, greatest = numbers.min(), numbers.max()
    assert (by_jax >= least).all() and (by_jax <= greatest).all() and np.isclose(by_jax[1], float(middle), atol=1)
    assert np.isclose(found[1], float(middle)) == (numbers.dtype == np.uint8)
PYTHON
