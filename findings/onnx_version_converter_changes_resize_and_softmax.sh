#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnx 1.23.2: version_converter converts these models without a word, and their numbers change: Resize (and Upsample) of mode "linear" from
# opset 10 to 11 and later, where the coordinates of opset 10, asymmetric, become half_pixel, the default of 11; Hardmax from 11 to 13;
# Softmax and LogSoftmax from 13 down to 12 and earlier on any axis but the last, whose old meaning takes in all axes after it. Softmax
# upwards is adapted, and Resize of mode "nearest" stays.
# Guess before the run: what the converter converts keeps its numbers, and it refuses the rest, as it does with others.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper, version_converter


def change(operation, x, source, target, constants=(), **attributes):
    """By how much the output of a model of one node changes when its opset is converted."""
    graph = helper.make_graph([helper.make_node(operation, ["x", *dict(constants)], ["y"], **attributes)], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(value, name) for name, value in dict(constants).items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", source)], ir_version=4 if source < 12 else 8)
    before, after = (ort.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
                     for m in (model, version_converter.convert_version(model, target)))
    assert before.shape == after.shape
    return np.abs(before - after).max()


random = np.random.default_rng(1)
picture, x = random.standard_normal((1, 1, 4, 4)).astype(np.float32), random.standard_normal((2, 3, 4)).astype(np.float32)
scales = {"scales": np.array([1, 1, 2, 2], np.float32)}
for operation, source, target, tensor, constants, attributes, changes in (
        ("Resize", 10, 11, picture, scales, {"mode": "linear"}, True), ("Resize", 10, 18, picture, scales, {"mode": "linear"}, True),
        ("Upsample", 9, 11, picture, scales, {"mode": "linear"}, True), ("Resize", 10, 11, picture, scales, {"mode": "nearest"}, False),
        ("Hardmax", 11, 13, x, {}, {"axis": 1}, True), ("Hardmax", 11, 13, x, {}, {}, True), ("Hardmax", 11, 13, x, {}, {"axis": 2}, False),
        ("Softmax", 13, 12, x, {}, {"axis": 1}, True), ("LogSoftmax", 13, 11, x, {}, {"axis": 0}, True),
        ("Softmax", 13, 12, x, {}, {"axis": 2}, False), ("Softmax", 11, 13, x, {}, {"axis": 1}, False)):
    found = change(operation, tensor, source, target, constants, **attributes)
    print(f"{operation} {attributes} from opset {source} to {target} changes by up to {found:.3f}")
    assert (found > 0.1) == changes and (changes or found < 1e-6)
PYTHON
