#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenVINO 2026.4.1 reads ONNX's LSTM, GRU and RNN of layout=1, whose input is [batch, time, features], as if layout were 0: it steps
# through the batch, and each sample becomes a step in time. No warning; the output has another shape than ONNX says. ONNX Runtime 1.32.0
# refuses layout=1 of these.
# Guess before the run: layout=1 is heeded, or refused.
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


def run(operation, x, names, constants=(), opset=21, outputs=("y",), engines=("ONNX Runtime", "OpenVINO"), **attributes):
    """One ONNX node of f32 on the engines: the outputs of each."""
    graph = helper.make_graph([helper.make_node(operation, names, list(outputs), **attributes)], "g",
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
                              [numpy_helper.from_array(value, name) for name, value in dict(constants).items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10).SerializeToString()
    found = []
    if "ONNX Runtime" in engines:
        found.append(ort.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": x}))
    if "OpenVINO" in engines:
        core = ov.Core()
        found.append(list(core.compile_model(core.read_model(model), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([x]).values()))
    return found


random = np.random.default_rng(1)
batch, time, features, hidden = 3, 5, 2, 4
x = random.standard_normal((batch, time, features)).astype(np.float32)
for operation, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
    constants = {"w": (1, hidden * gates, features), "r": (1, hidden * gates, hidden)}
    constants = {name: random.standard_normal(shape).astype(np.float32) for name, shape in constants.items()}
    common = {"names": ["x", "w", "r"], "constants": constants, "opset": 14, "outputs": ("y", "h"), "hidden_size": hidden}
    (right, _), _ = run(operation, np.ascontiguousarray(x.swapaxes(0, 1)), **common)
    right = right.transpose(2, 0, 1, 3)  # As ONNX lays it out: batch, time, directions, hidden
    (found, _), = run(operation, x, **common, engines=["OpenVINO"], layout=1)
    (wrong, _), = run(operation, x, **common, engines=["ONNX Runtime"], layout=0)
    (time_first, _), = run(operation, x, **common, engines=["OpenVINO"], layout=0)
    print(f"{operation} of layout 1: the shape is {found.shape}, not {right.shape}; off from layout 0 by {np.abs(found - wrong).max():.1e}")
    assert right.shape == (batch, time, 1, hidden) and found.shape == wrong.shape == (batch, 1, time, hidden)
    assert np.allclose(found, wrong, atol=1e-5) and np.array_equal(found, time_first)
PYTHON
