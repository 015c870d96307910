#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenVINO 2026.4.1 reads ONNX's Resize without its settings antialias, exclude_outside and keep_aspect_ratio_policy: the answer is that of
# the same node without them, and for keep_aspect_ratio_policy it has another shape than ONNX Runtime 1.32.0 gives and ONNX asks for. No
# warning.
# Guess before the run: each is heeded, or the model is refused, as it is with the coordinates "half_pixel_symmetric".
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


x = np.random.default_rng(1).standard_normal((1, 1, 12, 12)).astype(np.float32)
names = ["x", "", "", "sizes"]
for setting, height, width, common in (({"antialias": 1}, 5, 5, {"mode": "linear"}),
                                       ({"exclude_outside": 1}, 20, 20, {"mode": "cubic", "cubic_coeff_a": -0.5})):
    sizes = {"sizes": np.array([1, 1, height, width])}
    (right,), (found,) = run("Resize", x, names, sizes, **common, **setting)
    (plain,), _ = run("Resize", x, names, sizes, **common)
    off, same = np.abs(found - right).max(), np.abs(found - plain).max()
    print(f"{setting} of mode {common['mode']}: off by up to {off:.3f}, and from the answer without it by {same:.1e}")
    assert off > 0.05 and same < 1e-5
for policy, shape in (("not_larger", (1, 1, 10, 10)), ("not_smaller", (1, 1, 20, 20))):
    sizes = {"sizes": np.array([10, 20])}
    (right,), (found,) = run("Resize", x, names, sizes, mode="nearest", axes=[2, 3], keep_aspect_ratio_policy=policy)
    print(f"keep_aspect_ratio_policy {policy} of 12 x 12 to 10 x 20: ONNX Runtime {right.shape[2:]}, OpenVINO {found.shape[2:]}")
    assert right.shape == shape and found.shape == (1, 1, 10, 20)
PYTHON
