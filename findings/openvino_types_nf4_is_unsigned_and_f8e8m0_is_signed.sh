#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenVINO 2026.4.1 says of its element types what their numbers are not: nf4, whose 16 values lie between -1 and 1, is an integral number
# without a sign; f8e8m0, powers of two without a sign bit, is signed; boolean is signed; string is an integral number of 256 bits. Code
# that sorts types by these questions takes nf4 for an unsigned integer.
# Guess before the run: nf4 is real and signed, as f4e2m1 is said to be; f8e8m0 has no sign; a string is no number.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check openvino==2026.4.1
"$folder/venv/bin/python" - <<'PYTHON'
import openvino as ov

print("type      real  integral number  signed  bits")
facts = {}
for name in ("f4e2m1", "nf4", "f8e8m0", "boolean", "string", "u4"):
    kind = getattr(ov.Type, name)
    facts[name] = (kind.is_real(), kind.is_integral_number(), kind.is_signed(), kind.bitwidth)
    print(f"{name:9} {facts[name][0]!s:5} {facts[name][1]!s:16} {facts[name][2]!s:7} {facts[name][3]}")
assert facts == {
    "f4e2m1": (True, False, True, 4),
    "nf4": (False, True, False, 4),
    "f8e8m0": (True, False, True, 8),
    "boolean": (False, False, True, 8),
    "string": (False, True, False, 256),
    "u4": (False, True, False, 4),
}
PYTHON
