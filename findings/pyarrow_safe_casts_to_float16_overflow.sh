#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pyarrow 26.0.1: a safe cast, which refuses what does not fit, takes each number to float16: 65520 and the integer 16777217 become infinity.
# The same integer to float32, where it would lose its last bit, is refused, and so are 300 to int8 and 1.5 to int8. Floats to float32 are
# not checked either: 1e39 becomes infinity.
# Guess before the run: a safe cast refuses an overflow in each type.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pyarrow==26.0.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import pyarrow as pa

seen = {("int64", 16777217, "float16"): float("inf"), ("int64", 16777217, "float32"): None, ("int64", 300, "int8"): None,
        ("double", 65520.0, "float16"): float("inf"), ("double", 1e39, "float32"): float("inf"), ("double", 300.0, "int8"): None,
        ("double", 1.5, "int8"): None, ("float", 65520.0, "float16"): float("inf"), ("int32", 2049, "float16"): 2048.0}
for (source, number, target), expected in seen.items():
    try:
        found = pa.array([number], pa.type_for_alias(source)).cast(target, safe=True)[0].as_py()
    except pa.ArrowInvalid as error:
        found = None
        print(f"{source} {number} to {target} is refused: {error}")
    else:
        print(f"{source} {number} to {target} is {found}")
    assert found == expected
PYTHON
