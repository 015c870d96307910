#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ormsgpack 1.13.1 with OPT_SERIALIZE_NUMPY, and CTranslate2 4.8.5's StorageView.from_array: NumPy arrays of big-endian types, as they come of FITS,
# PFM, NetCDF 3 and many a wire, are taken for little-endian ones without a word: 1 of int32 becomes 16777216, 1.0 of float32 4.6e-41. A single
# number of such an array is right in ormsgpack. orjson 3.13.0, from which ormsgpack stems, refuses such arrays, and so do all three refuse
# other arrays that do not fit, such as transposed ones. msgpack-numpy 0.4.8 stores the byte order with the array and gives it back.
# Guess before the run: ormsgpack does what orjson does; CTranslate2 refuses, as it refuses types that it does not know.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ormsgpack==1.13.1 orjson==3.13.0 ctranslate2==4.8.5 \
  msgpack-numpy==0.4.8 msgpack==1.2.4 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import ctranslate2
import msgpack
import msgpack_numpy
import numpy as np
import orjson
import ormsgpack


def refused(function, *arguments, **settings):
    """Whether a call raises an error."""
    try:
        function(*arguments, **settings)
    except (TypeError, ValueError):
        return True
    return False


for name in ("i2", "i4", "f2", "f4", "i8", "f8"):
    little = np.array([[1, 2], [3, 4]], "<" + name)
    big = little.astype(">" + name)
    swapped = big.view("<" + name)
    packed = ormsgpack.unpackb(ormsgpack.packb(big, option=ormsgpack.OPT_SERIALIZE_NUMPY))
    single = ormsgpack.unpackb(ormsgpack.packb(big[0, 0], option=ormsgpack.OPT_SERIALIZE_NUMPY))
    print(f"{big.tolist()} of {big.dtype.str}: ormsgpack {packed}, of one number {single}")
    assert np.array_equal(big, little) and single == 1 and packed == swapped.tolist()
    assert ormsgpack.unpackb(ormsgpack.packb(little, option=ormsgpack.OPT_SERIALIZE_NUMPY)) == little.tolist()
    assert refused(orjson.dumps, big, option=orjson.OPT_SERIALIZE_NUMPY) and not refused(orjson.dumps, little, option=orjson.OPT_SERIALIZE_NUMPY)
    assert refused(ormsgpack.packb, little.T, option=ormsgpack.OPT_SERIALIZE_NUMPY) and refused(ctranslate2.StorageView.from_array, little.T)
    kept = msgpack.unpackb(msgpack.packb(big, default=msgpack_numpy.encode), object_hook=msgpack_numpy.decode)
    assert kept.dtype == big.dtype and np.array_equal(kept, big)
    if name in ("i8", "f8"):
        assert refused(ctranslate2.StorageView.from_array, little) and refused(ctranslate2.StorageView.from_array, big)
        continue
    view = np.array(ctranslate2.StorageView.from_array(big))
    print("    CTranslate2:", view.tolist())
    assert view.dtype == little.dtype and np.array_equal(view, swapped)
    assert np.array_equal(np.array(ctranslate2.StorageView.from_array(little)), little)
PYTHON
