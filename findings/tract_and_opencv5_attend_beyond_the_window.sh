#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tract 0.23.9 and OpenCV 5.0.0 (opencv-python-headless 5.0.0.93): ONNX's Attention of opset 25 has left_window_size and right_window_size, for
# models that attend to their neighbourhood only. Both load such a model and attend to everything: with equal scores and a window of one key
# at each side, the mean of 0 to 4 comes out for each of five queries. ONNX Runtime 1.32.0 and onnx.reference keep to the window.
# Guess before the run: an engine that does not know an attribute of a newer opset refuses the model.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
  tract==0.23.9 opencv-python-headless==5.0.0.93 onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import pathlib
import tempfile

import cv2
import numpy as np
import onnxruntime as ort
import tract
from onnx import TensorProto, checker, helper
from onnx.reference import ReferenceEvaluator

values = {"q": np.zeros((1, 1, 5, 1), np.float32), "k": np.zeros((1, 1, 5, 1), np.float32),
          "v": np.arange(5, dtype=np.float32).reshape(1, 1, 5, 1)}
for attributes, right in (({}, [2] * 5), ({"left_window_size": 1, "right_window_size": 1}, [0.5, 1, 2, 3, 3.5]),
                          ({"is_causal": 1}, [0, 0.5, 1, 1.5, 2]), ({"is_causal": 1, "left_window_size": 1}, [0, 0.5, 1.5, 2.5, 3.5])):
    graph = helper.make_graph([helper.make_node("Attention", list(values), ["y"], **attributes)], "g",
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in values.items()],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 5, 1])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=11)
    checker.check_model(model, full_check=True)
    data = model.SerializeToString()
    net = cv2.dnn.readNetFromONNX(np.frombuffer(data, np.uint8))
    for name, value in values.items():
        net.setInput(value, name)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.onnx"
        path.write_bytes(data)
        by_tract = tract.onnx().load(str(path)).into_model().into_runnable().run(list(values.values()))[0].to_numpy()
    answers = {"ONNX Runtime": ort.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, values)[0],
               "onnx.reference": ReferenceEvaluator(model).run(None, values)[0], "tract": by_tract, "OpenCV": net.forward()}
    answers = {name: answer.ravel().round(4).tolist() for name, answer in answers.items()}
    print(attributes, answers)
    assert answers["ONNX Runtime"] == answers["onnx.reference"] == right
    all_keys = [0, 0.5, 1, 1.5, 2] if "is_causal" in attributes else [2] * 5
    assert answers["tract"] == answers["OpenCV"] == all_keys
PYTHON
