#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenCV 5.0.0 (opencv-python-headless 5.0.0.93): ONNX's Mod of float32 with fmod=0, which opset 28 allows (as Python's %, with the sign of the
# divisor), cuts both numbers to integers first: 5.5 % 2 is 1 and 7.9 % 2.5 is 1, not 1.5 and 0.4. With fmod=1 it is right. No warning.
# Guess before the run: the remainder of onnx.reference, or the model is refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check opencv-python-headless==5.0.0.93 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import cv2
import numpy as np
from onnx import TensorProto, checker, helper
from onnx.reference import ReferenceEvaluator


def run(a, b, fmod):
    """a modulo b by OpenCV and by onnx.reference."""
    values = {"a": np.float32(a), "b": np.float32(b)}
    graph = helper.make_graph([helper.make_node("Mod", ["a", "b"], ["y"], fmod=fmod)], "g",
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, [len(a)]) for name in values],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [len(a)])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)])
    checker.check_model(model, full_check=True)
    net = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
    for name, value in values.items():
        net.setInput(value, name)
    return net.forward(), ReferenceEvaluator(model).run(None, values)[0]


a, b = [5.5, -5.5, 1.75, 7.9, -7.0, 7.0], [2, 2, 1.5, 2.5, 3, -3]
for fmod in (1, 0):
    found, right = run(a, b, fmod)
    print(f"fmod={fmod}: OpenCV {found.tolist()}, onnx.reference {right.round(4).tolist()}")
    assert np.allclose(right, np.fmod(np.float32(a), np.float32(b)) if fmod else np.mod(np.float32(a), np.float32(b)))
    assert np.allclose(found, right) == bool(fmod)
    if not fmod:
        assert found.tolist() == np.mod(np.trunc(a), np.trunc(b)).tolist(), "both are integers before the division"
PYTHON
