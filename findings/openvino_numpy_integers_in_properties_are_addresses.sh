#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenVINO 2026.4.1, Python: a NumPy integer or bool as a property or a model's rt_info becomes the text of a memory address. So NUM_STREAMS
# and PERFORMANCE_HINT_NUM_REQUESTS of np.int64(2) read 0, without an error. rt_info of np.int64(640) reads as 640 until the model is saved:
# the file holds an address in its place. NumPy's floats are right, and so are Python's numbers.
# Guess before the run: NumPy's integers are taken as Python's, as its floats are, or refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check openvino==2026.4.1 numpy==2.4.6
FOLDER=$folder "$folder/venv/bin/python" - <<'PYTHON'
import os

import numpy as np
import openvino as ov
import openvino.opset13 as ops

core, given = ov.Core(), ops.parameter([2], np.float32)
model = ov.Model([ops.relu(given)], [given])
for value, seen in ((2, 2), (np.float32(2), 2), (np.int64(2), 0), (np.uint8(2), 0)):
    keys = "NUM_STREAMS", "PERFORMANCE_HINT_NUM_REQUESTS"
    found = [int(core.compile_model(model, "CPU", {key: value}).get_property(key)) for key in keys]
    print(f"{value!r} as the number of streams and of requests: {found}")
    assert found == [seen, seen]

path = os.environ["FOLDER"] + "/model.xml"
for value, right in ((640, True), (np.float32(0.5), True), (np.int64(640), False), (np.bool_(True), False),
                     ({"width": np.int32(640)}, False)):
    model.set_rt_info(value, "size")
    before = model.get_rt_info("size").value
    ov.save_model(model, path)
    after = core.read_model(path).get_rt_info("size")
    after = after.value if isinstance(after, ov.OVAny) else after
    text = after["width"] if isinstance(after, dict) else after
    print(f"rt_info {value!r}: {before!r} before it is saved, {text!r} after")
    assert before == value and (text == str(value)) == right and text.startswith("0x") != right
PYTHON
