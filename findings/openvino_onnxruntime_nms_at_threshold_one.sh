#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenVINO 2026.4.1 and ONNX Runtime 1.32.0: with an IoU threshold of 1, which means that nothing is suppressed, OpenVINO still drops the
# second of two equal boxes; ONNX Runtime keeps it.
# Guess before the run: both keep both: ONNX suppresses boxes whose IoU is above the threshold.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check openvino==2026.4.1 onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import openvino as ov
import openvino.opset13 as ops


def run(make, *inputs):
    """One node on the CPU device, in f32."""
    parameters = [ops.parameter(list(x.shape), x.dtype.type) for x in inputs]
    model = ov.Model([make(*parameters)], parameters)
    return ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(list(inputs))[0]


def expect(what, found, seen):
    print(f"{what}: {found.tolist()}")
    assert np.array_equal(found, np.array(seen, found.dtype), equal_nan=found.dtype.kind == "f"), f"{what} was {seen}"


import onnxruntime as ort
from onnx import TensorProto, helper


def run_onnx(node, inputs, outputs, **values):
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs],
                              [helper.make_tensor_value_info(n, t, s) for n, t, s in outputs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, values)


boxes, scores = np.array([[[0, 0, 1, 1], [0, 0, 1, 1]]], np.float32), np.array([[[0.9, 0.9]]], np.float32)
one, zero, three = np.array([1], np.float32), np.array([0], np.float32), np.array([3])
selected = run(lambda b, s: ops.non_max_suppression(b, s, ops.constant(three[0]), ops.constant(one[0]), ops.constant(zero[0]),
                                                    output_type="i64").output(0), boxes, scores)
expect("OpenVINO selects", selected, [[0, 0, 0]])
selected, = run_onnx(helper.make_node("NonMaxSuppression", ["b", "s", "k", "i", "t"], ["y"]),
                     [("b", 1, [1, 2, 4]), ("s", 1, [1, 1, 2]), ("k", 7, [1]), ("i", 1, [1]), ("t", 1, [1])], [("y", 7, [None, 3])],
                     b=boxes, s=scores, k=three, i=one, t=zero)
expect("ONNX Runtime selects", selected, [[0, 0, 0], [0, 0, 1]])
PYTHON
