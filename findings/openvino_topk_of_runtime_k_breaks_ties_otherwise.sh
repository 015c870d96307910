#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenVINO 2026.4.1, CPU device: ONNX's TopK takes the lower index of equal elements when k is a constant, as ONNX prescribes, and another
# one when k is an input: of [1, 1, 1, 1] the three largest are 0, 1, 2 or 1, 2, 0. So the same scores choose other boxes once k is not
# known beforehand.
# Guess before the run: the lower index first, wherever k comes from.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check openvino==2026.4.1 onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime as ort
import openvino as ov
from onnx import TensorProto, helper, numpy_helper


def indices(values, k, constant, largest, engine):
    x, k = np.array(values, np.float32), np.array([k])
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape), helper.make_tensor_value_info("k", TensorProto.INT64, [1])]
    outputs = [helper.make_tensor_value_info("v", TensorProto.FLOAT, None), helper.make_tensor_value_info("i", TensorProto.INT64, None)]
    graph = helper.make_graph([helper.make_node("TopK", ["x", "k"], ["v", "i"], axis=0, largest=largest)], "g",
                              inputs[:1] if constant else inputs, outputs, [numpy_helper.from_array(k, "k")] if constant else [])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()
    feeds = {"x": x} if constant else {"x": x, "k": k}
    if engine == "ONNX Runtime":
        return ort.InferenceSession(model, providers=["CPUExecutionProvider"]).run(["i"], feeds)[0].tolist()
    core = ov.Core()
    return core.compile_model(core.read_model(model), "CPU")(feeds)[1].tolist()


for values, k, largest, lower in (([1, 1, 1, 1], 3, 1, [0, 1, 2]), ([3, 3, 5, 5, 1, 5], 4, 1, [2, 3, 5, 0]),
                                  ([3, 3, 5, 5, 1, 5], 2, 0, [4, 0]), ([0] * 8 + [1], 3, 1, [8, 0, 1])):
    found = {constant: indices(values, k, constant, largest, "OpenVINO") for constant in (True, False)}
    print(f"{k} {'largest' if largest else 'smallest'} of {values}: {found[True]} of a constant k, {found[False]} of an input k")
    assert found[True] == lower != found[False]
    assert all(indices(values, k, constant, largest, "ONNX Runtime") == lower for constant in (True, False))
PYTHON
