#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenVINO 2026.4.1: openvino.helpers.pack_data puts the first of two 4-bit numbers in the high half of a byte, while the runtime, constants
# and models read the low half first. So a tensor of u4, i4, nf4 or f4e2m1 that is made of its bytes has each two numbers exchanged, and u2
# each four reversed. unpack_data, given a constant's bytes, exchanges them too. The two functions agree with each other, and with the
# runtime on u1, u3 and u6.
# Guess before the run: what pack_data makes is what a tensor of that type holds.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check openvino==2026.4.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import openvino as ov
import openvino.opset13 as ops
from openvino.helpers import pack_data, unpack_data


def as_floats(tensor):
    """What a model of the CPU device reads from a tensor that became its constant."""
    unused = ops.parameter([1], np.float32)
    model = ov.Core().compile_model(ov.Model([ops.convert(ops.constant(tensor), "f32")], [unused]), "CPU")
    return model([np.zeros(1, np.float32)])[0].tolist()


fours = {"u4": ([1, 2, 3, 4], [2, 1, 4, 3]), "i4": ([1, -2, 3, -4], [-2, 1, -4, 3]), "u2": ([0, 1, 2, 3], [3, 2, 1, 0])}
same = {"u1": [1, 0, 0, 1, 1, 1, 0, 1], "u3": [1, 2, 3, 4, 5, 6, 7, 0], "u6": [1, 2, 3, 40]}
for name, (given, seen) in {**fours, **{name: (numbers, numbers) for name, numbers in same.items()}}.items():
    kind, numbers = getattr(ov.Type, name), np.array(given)
    packed = pack_data(numbers, kind)
    found = as_floats(ov.Tensor(packed, ov.Shape([len(given)]), kind))
    unpacked = unpack_data(ops.constant(numbers, dtype=kind).data, kind, [len(given)]).tolist()
    print(f"{name}: {given} packed is", [hex(byte) for byte in packed], "and a model reads", found, " unpack_data of a constant:", unpacked)
    assert found == seen and unpacked == seen
    assert unpack_data(packed, kind, [len(given)]).tolist() == given
given = ops.parameter([-1], ov.Type.i4)
model = ov.Core().compile_model(ov.Model([ops.convert(given, "f32")], [given]), "CPU")
found = model([ov.Tensor(pack_data(np.array([1, -2, 3, -4]), ov.Type.i4), ov.Shape([4]), ov.Type.i4)])[0].tolist()
print("the i4 numbers as a model's input:", found)
assert found == [-2, 1, -4, 3]
for name, numbers, seen in (("f4e2m1", [1, 2, 3, 4], [1, 0.5, 2, 1.5]), ("nf4", [0, 15], [1, -1])):
    kind = getattr(ov.Type, name)
    found = as_floats(ov.Tensor(pack_data(np.array(numbers), kind), ov.Shape([len(numbers)]), kind))
    print(f"{name}: the codes {numbers} packed are", found)
    assert found == seen
PYTHON
