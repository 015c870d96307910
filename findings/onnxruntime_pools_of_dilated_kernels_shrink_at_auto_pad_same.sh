#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ONNX Runtime 1.32.0, CPU: MaxPool, AveragePool and LpPool with auto_pad SAME_UPPER or SAME_LOWER pad as if the kernel were not dilated. A kernel
# of 3 with dilation 2 makes 5 numbers of 7 where SAME, the standard's formula and the session's own output shape say 7; Conv refuses the
# same attributes. With dilation 1 each is right.
# Guess before the run: SAME keeps the size at stride 1, or the model is refused, as it is with Conv.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime
from onnx import TensorProto, helper

onnxruntime.set_default_logger_severity(4)
x = np.arange(7, dtype=np.float32).reshape(1, 1, 7)
weights = np.ones((1, 1, 3), np.float32)


def run(operator, auto_pad, dilation):
    """The shape that a session declares for its output, and the output."""
    names = ["x", "w"] if operator == "Conv" else ["x"]
    node = helper.make_node(operator, names, ["y"], kernel_shape=[3], dilations=[dilation], auto_pad=auto_pad)
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, list(each.shape)) for name, each in zip(names, (x, weights))]
    graph = helper.make_graph([node], "graph", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.get_outputs()[0].shape, session.run(None, dict(zip(names, (x, weights))))[0]


for operator in ("MaxPool", "AveragePool", "LpPool"):
    for auto_pad in ("SAME_UPPER", "SAME_LOWER"):
        for dilation, extent in ((1, 7), (2, 5)):
            declared, found = run(operator, auto_pad, dilation)
            print(f"{operator}, {auto_pad}, dilation {dilation}: declared {declared}, found {found.shape}: {found.ravel().round(2).tolist()}")
            assert declared == [1, 1, 7] and found.shape == (1, 1, extent)
assert run("MaxPool", "SAME_UPPER", 2)[1].ravel().tolist() == [3, 4, 5, 6, 5]
assert run("Conv", "SAME_UPPER", 1)[1].shape == (1, 1, 7)
try:
    run("Conv", "SAME_UPPER", 2)
    raise SystemExit("Conv took a dilation with auto_pad")
except onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument as error:
    print("Conv, dilation 2:", str(error).split("Status Message: ")[-1])
PYTHON
