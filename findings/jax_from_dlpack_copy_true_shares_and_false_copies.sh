#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# JAX 0.10.2 on a CPU: jnp.from_dlpack with copy=True does not copy, so that a later write into the NumPy array changes the JAX array.
# With copy=False it makes int32 and float32 copies of int64 and float64 arrays, without an error: 2**40 + 1 becomes 1. Its documentation
# promises a copy for the one and an error for the other. Arrays that do not start on a multiple of 64 bytes are copied, or refused with
# copy=False. device_put with may_alias=False, which should copy, does not either.
# Guess before the run: copy=True copies, and copy=False refuses 64-bit types, as they are not enabled.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jax==0.10.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import jax
import jax.numpy as jnp
import numpy as np


def aligned(values, dtype):
    """An array that starts on a multiple of 64 bytes."""
    room = np.zeros(np.dtype(dtype).itemsize * len(values) + 64, np.uint8)
    start = -room.ctypes.data % 64
    array = room[start : start + np.dtype(dtype).itemsize * len(values)].view(dtype)
    array[:] = values
    return array


def after_write(make):
    """What a JAX array made of [7, 7] holds after NumPy's array became [5, 7]."""
    source = aligned([7, 7], np.float32)
    made = make(source).block_until_ready()
    source[0] = 5
    return made.tolist()


makers = {"from_dlpack(copy=True)": lambda x: jnp.from_dlpack(x, copy=True),
          "from_dlpack(copy=False)": lambda x: jnp.from_dlpack(x, copy=False),
          "device_put(may_alias=False)": lambda x: jax.device_put(x, may_alias=False),
          "array(copy=True)": lambda x: jnp.array(x, copy=True)}
for name, make in makers.items():
    found = after_write(make)
    print(f"{name}: {found}")
    assert found == ([7, 7] if name == "array(copy=True)" else [5, 7])
first = jnp.arange(4.0)
assert jnp.from_dlpack(first, copy=True).unsafe_buffer_pointer() == first.unsafe_buffer_pointer()

for dtype, value, seen in ((np.int64, 2**40 + 1, 1), (np.float64, 0.1, float(np.float32(0.1)))):
    source = aligned([value], dtype)
    made = jnp.from_dlpack(source, copy=False)
    source[0] = 5
    print(f"{np.dtype(dtype)} {value} with copy=False: {made.dtype} {made[0]!r}")
    assert made.dtype.itemsize == 4 and made.tolist() == [seen]
PYTHON
