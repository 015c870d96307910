#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# JAX 0.10.2, CPU: jnp.mean, var and sum of float16 go by float32, but three functions made of them do not. jax.nn.softmax of 65520 or more
# equal logits, a large vocabulary, is 0 for each; the sum passes 65504. jnp.median of numbers of 60000 is infinity, as it adds two before it
# halves. jax.nn.standardize of numbers around 30000 is NaN, as it squares them. NumPy's median of the same is 60000.
# Guess before the run: each sums in float32, as mean and var do.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jax==0.10.2 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import jax
import jax.numpy as jnp
import numpy as np

assert jnp.mean(jnp.full(5000, 100, jnp.float16)) == 100 and jnp.isfinite(jnp.var(jnp.arange(30000, 30400, 100, dtype=jnp.float16)))
for count, seen in ((65500, False), (65520, True), (151936, True)):
    found = jax.nn.softmax(jnp.ones(count, jnp.float16))
    wide = jax.nn.softmax(jnp.ones(count, jnp.float32))
    print(f"softmax of {count} equal logits: each {found[0]} in float16, {wide[0]:.3g} in float32")
    assert (not found.any()) == seen and wide[0] > 0
for numbers in ([60000, 60000], [60000, 60000, 60000]):
    found, right = jnp.median(jnp.array(numbers, jnp.float16)), np.median(np.array(numbers, np.float16))
    print(f"median of {numbers}: {found}, NumPy {right}")
    assert jnp.isinf(found) and right == 60000
numbers = jnp.arange(30000, 30400, 100)
found, wide = jax.nn.standardize(numbers.astype(jnp.float16)), jax.nn.standardize(numbers.astype(jnp.float32))
print("standardize:", found, "in float32:", wide)
assert jnp.isnan(found).all() and jnp.isfinite(wide).all()
PYTHON
