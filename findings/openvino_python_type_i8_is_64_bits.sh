#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenVINO 2026.4.1, Python: "i8" is 8 bits where an operation takes a type's name (convert, range), as ov.Type.i8 is, but 64 bits where
# ov.Type, Tensor or constant takes it: there the name is NumPy's, which counts bytes. So "i4" and "u4" are 32 bits there, "u1" is u8, and
# "f16" and "f32" are refused. A tensor of "u8" has eight times the bytes of one of ov.Type.u8, without a word.
# Guess before the run: a name of a type means one type in the whole module.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check openvino==2026.4.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import openvino as ov
import openvino.opset13 as ops

seen = {"i8": "i64", "u8": "u64", "i4": "i32", "u4": "u32", "u2": "u16", "u1": "u8"}
for name, wide in seen.items():
    operation = ops.convert(ops.parameter([1], np.float32), name).get_element_type().get_type_name()
    others = {"Type": ov.Type(name), "Tensor": ov.Tensor(name, [1]).element_type,
              "constant": ops.constant(np.array([1]), dtype=name).get_element_type()}
    others = {where: kind.get_type_name() for where, kind in others.items()}
    print(f'"{name}": convert {operation}, {others}')
    assert operation == name == getattr(ov.Type, name).get_type_name()
    assert set(others.values()) == {wide}
assert ops.range(ops.constant(0), ops.constant(2), ops.constant(1), "i8").get_element_type() == ov.Type.i8
assert ov.Tensor("u8", [2]).byte_size == 16 and ov.Tensor(ov.Type.u8, [2]).byte_size == 2
for name in ("f16", "f32"):
    assert ops.convert(ops.parameter([1], np.int32), name).get_element_type() == getattr(ov.Type, name)
    try:
        ov.Type(name)
        raise AssertionError(f"{name} was refused")
    except (TypeError, RuntimeError) as error:
        print(f'Type("{name}") is refused:', str(error).splitlines()[-1])
PYTHON
