#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnx.reference 1.23.2, the standard's own evaluator: GridSample in mode "cubic" with padding_mode "border" moves the sampling place itself into the
# picture, so that all places beyond the edge give the edge pixel. ONNX Runtime 1.32.0 clamps each of the sixteen pixels instead, and goes on
# to interpolate up to two pixels beyond, as PyTorch does, from which the operator is taken. In the row 0, 1, 4, 9 the place
# -0.25 is -0.105 to one and 0 to the other. "zeros" and "reflection", and the other modes, agree.
# Guess before the run: both agree in all modes, and if not, it is the engine that is off.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator


def run(picture, grid, **attributes):
    """A picture sampled on a grid by ONNX Runtime and by onnx.reference."""
    values = {"x": picture, "grid": grid}
    graph = helper.make_graph([helper.make_node("GridSample", ["x", "grid"], ["y"], **attributes)], "g",
                              [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in values.items()],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, values)[0], ReferenceEvaluator(model).run(None, values)[0]


random = np.random.default_rng(0)
picture, grid = random.standard_normal((1, 2, 5, 6)).astype(np.float32), (random.random((1, 7, 8, 2)) * 3 - 1.5).astype(np.float32)
for mode in ("linear", "nearest", "cubic"):
    for padding in ("zeros", "border", "reflection"):
        for corners in (0, 1):
            engine, reference = run(picture, grid, mode=mode, padding_mode=padding, align_corners=corners)
            off = np.abs(engine - reference).max()
            print(f"{mode}, {padding}, align_corners={corners}: off by up to {off:.2g}")
            assert (off > 0.1) == (mode == "cubic" and padding == "border") and (off > 0.1 or off < 1e-4)


def cubic(t):
    """The weight of a pixel at a distance t, with a = -0.75."""
    t = abs(t)
    return 1.25 * t**3 - 2.25 * t**2 + 1 if t <= 1 else -0.75 * (t**3 - 5 * t**2 + 8 * t - 4) if t < 2 else 0


row = np.float32([0, 1, 4, 9])
places = np.float32([-0.75, -0.25, 3.25, 3.75])
grid = np.stack([places / 1.5 - 1, np.zeros(4, np.float32)], axis=-1)[None, None]
engine, reference = run(row.reshape(1, 1, 1, 4), grid, mode="cubic", padding_mode="border", align_corners=1)
each = [sum(cubic(p - k) * row[min(max(k, 0), 3)] for k in range(int(np.floor(p)) - 1, int(np.floor(p)) + 3)) for p in places]
print(f"row {row.tolist()} at {places.tolist()}: ONNX Runtime {engine.ravel().round(4).tolist()}, onnx.reference {reference.ravel().tolist()}")
assert np.allclose(engine.ravel(), each, atol=1e-5) and np.allclose(reference.ravel(), [0, 0, 9, 9], atol=1e-5)
PYTHON
