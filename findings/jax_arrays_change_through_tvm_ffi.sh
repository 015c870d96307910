#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# JAX 0.10.2's arrays never change, but it hands them out by DLPack in capsules of the old kind alone, which have no flag for it. NumPy
# 2.4.6 takes such a capsule as read-only. apache-tvm-ffi 0.1.15.post2 takes it, too, and hands it on in a versioned capsule without the
# read-only flag, so that NumPy writes into the JAX array; later computations use the new number.
# Guess before the run: what NumPy gets from JAX by way of a third library is read-only, as it is straight from JAX, or a copy.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check jax==0.10.2 apache-tvm-ffi==0.1.15.post2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import jax.numpy as jnp
import numpy as np
import tvm_ffi

array = jnp.arange(4.0)
straight = np.from_dlpack(array)
between = tvm_ffi.from_dlpack(array)
through = np.from_dlpack(between)
print("JAX's capsule:", array.__dlpack__(max_version=(1, 0)), " tvm_ffi's:", between.__dlpack__(max_version=(1, 0)))
print("NumPy may write to what it got from JAX:", straight.flags.writeable, "and from tvm_ffi:", through.flags.writeable)
assert not straight.flags.writeable and through.flags.writeable
through[0] = 99
print("the JAX array now:", array, "and its sum:", float(array.sum()))
assert array.tolist() == [99, 1, 2, 3] and float(array.sum()) == 105

frozen = np.arange(4.0)
frozen.flags.writeable = False
try:
    tvm_ffi.from_dlpack(frozen)
    raise AssertionError("a read-only array of NumPy was refused")
except BufferError as error:
    print("NumPy itself refuses to hand out a read-only array in an old capsule:", error)
PYTHON
