#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# MNN 3.6.1, CPU: ONNX's Resize of mode "cubic" is wrong where it looks up or left of the centre of the first row or column, so in the first
# row and the first column when it doubles: a ramp of 1 to 16 made from 4 x 4 to 8 x 8 begins with 4.34 where 0.47 is right. The right and
# the lower border are right.
# Guess before the run: the same as ONNX Runtime up to rounding, as the coefficients are.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check mnn==3.6.1 onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import pathlib
import tempfile

import _tools
import MNN
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper


def run(nodes, inputs, constants=(), opset=18, boolean=False):
    """The output y of a model of f32 on ONNX Runtime, and on MNN once its converter has read the model."""
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in inputs.items()],
        [helper.make_tensor_value_info("y", TensorProto.BOOL if boolean else TensorProto.FLOAT, None)],
        [numpy_helper.from_array(value, name) for name, value in dict(constants).items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9).SerializeToString()
    right = ort.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, inputs)[0]
    with tempfile.TemporaryDirectory() as folder:
        onnx, mnn = pathlib.Path(folder, "model.onnx"), pathlib.Path(folder, "model.mnn")
        onnx.write_bytes(model)
        _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", str(onnx), "--MNNModel", str(mnn), "--bizCode", "x"])
        net = MNN.nn.load_module_from_file(str(mnn), list(inputs), ["y"])
        variables = []
        for value in inputs.values():
            variables.append(MNN.expr.placeholder(list(value.shape), MNN.expr.NCHW, MNN.expr.float))
            variables[-1].write(value)
        found = net.forward(variables)
        found = found[0] if isinstance(found, (list, tuple)) else found
        if found.data_format == MNN.expr.NC4HW4:
            found = MNN.expr.convert(found, MNN.expr.NCHW)
        return right, np.array(found.read()).reshape(found.shape)


for height, width, scale in ((4, 4, 2), (8, 8, 2), (6, 9, 4)):
    x = np.arange(1, height * width + 1, dtype=np.float32).reshape(1, 1, height, width)
    node = helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode="cubic")
    right, found = run([node], {"x": x}, {"sizes": np.array([1, 1, height * scale, width * scale])})
    wrong = np.abs(right - found)[0, 0] > 0.01
    above, left = ((np.arange(extent * scale) + 0.5) / scale - 0.5 < 0 for extent in (height, width))
    print(f"{height} x {width} by {scale}: {wrong.sum()} of {wrong.size} numbers are wrong, by up to {np.abs(right - found).max():.3f};",
          "the first row is", found[0, 0, 0, :4], "and should be", right[0, 0, 0, :4])
    assert np.array_equal(wrong, above[:, None] | left)
PYTHON
