#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenCV 5.0.0 (opencv-python-headless 5.0.0.93): ONNX's DFT of opset 20 transforms axis 1 whatever its axis input says. The default, the last
# axis of the signal, becomes axis 1 as well. The shapes agree, so nothing shows it. onesided=1 halves axis 1, too.
# Guess before the run: the axis counts, or a model with an axis input is refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
  opencv-python-headless==5.0.0.93 onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import cv2
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper


def run(x, axis, onesided=0):
    """The transform of x by ONNX Runtime and by OpenCV."""
    constants = [] if axis is None else [numpy_helper.from_array(np.int64(axis), "axis")]

    def model(shape):
        graph = helper.make_graph([helper.make_node("DFT", ["x"] if axis is None else ["x", "", "axis"], ["y"], onesided=onesided)], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)], constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10).SerializeToString()

    right = ort.InferenceSession(model(None), providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    net = cv2.dnn.readNetFromONNX(np.frombuffer(model(right.shape), np.uint8))
    net.setInput(x, "x")
    return right, net.forward()


x = np.random.default_rng(0).standard_normal((1, 3, 4, 5, 1)).astype(np.float32)
for axis in (1, 2, 3, -2, -3, None):
    right, found = run(x, axis)
    by_axis = {each: float(np.abs(np.fft.fft(x[..., 0], axis=each) - (found[..., 0] + 1j * found[..., 1])).max()) for each in range(4)}
    print(f"axis {axis}: OpenCV is off ONNX Runtime by {np.abs(found - right).max():.2g}, and numpy.fft over axis "
          f"{min(by_axis, key=by_axis.get)} by {min(by_axis.values()):.2g}")
    assert by_axis[1] < 1e-5 and (np.abs(found - right).max() < 1e-5) == (axis == 1)
right, found = run(x, 3, onesided=1)
print(f"onesided over axis 3: {found.shape} where ONNX Runtime has {right.shape}")
assert found.shape == (1, 2, 4, 5, 2) and right.shape == (1, 3, 4, 3, 2)
PYTHON
