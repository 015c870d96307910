#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenVINO 2026.4.1, CPU device: Tile whose repeats are an input, not a constant, leaves its output unwritten when the last three axes of
# four (or of five) are all repeated: the result is whatever that memory held, often zeros. With constant repeats, or with fewer axes
# repeated, it is right.
# Guess before the run: the result does not depend on where the repeats come from.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check openvino==2026.4.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import itertools

import numpy as np
import openvino as ov
import openvino.opset13 as ops

core = ov.Core()


def tile(x, repeats, constant):
    p, r = ops.parameter(list(x.shape), x.dtype.type), ops.parameter([x.ndim], np.int64)
    if constant:
        return core.compile_model(ov.Model([ops.tile(p, ops.constant(repeats))], [p]), "CPU")([x])[0]
    return core.compile_model(ov.Model([ops.tile(p, r)], [p, r]), "CPU")([x, repeats])[0]


for shape, expected in (((2, 2, 2), []), ((2, 2, 2, 2), [(1, 2, 2, 2), (2, 2, 2, 2)])):
    x = np.arange(1, 2**len(shape) + 1, dtype=np.float32).reshape(shape)
    wrong = []
    for repeats in itertools.product((1, 2), repeat=len(shape)):
        right = np.tile(x, repeats)
        assert np.array_equal(tile(x, np.array(repeats), True), right)
        if not np.array_equal(tile(x, np.array(repeats), False), right):
            wrong.append(repeats)
    print(f"x of shape {shape}: repeats that are wrong as an input: {wrong}")
    assert wrong == expected
PYTHON
