#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnx2torch 1.5.15: a CumSum without the attribute "reverse", whose default is 0, sums from the end: 1 2 3 becomes 6 5 3. With reverse=0
# written out it is right. NonZero gives the transpose of ONNX's result, [elements, axes] in place of [axes, elements]. IsInf answers for
# both infinities whatever detect_positive and detect_negative say, and the "value" of Pad up to opset 10 is 0. No warning. Installs torch,
# 3 GB with CUDA's libraries.
# Guess before the run: an operator that is converted has ONNX's defaults; what is not supported is refused, as many operators are.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-cache-dir onnx2torch==1.5.15 torch==2.15.0 torchvision==0.29.2 onnx==1.23.2 \
  numpy==2.4.6
"$folder/venv/bin/python" -W error::UserWarning - <<'PYTHON'
import numpy as np
import onnx2torch
import torch
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator


def both(operator, numbers, opset=13, result=TensorProto.FLOAT, constants=(), **attributes):
    """The result of a model of one node by ONNX's reference and by onnx2torch."""
    node = helper.make_node(operator, ["x", *(name for name, _ in constants)], ["y"], **attributes)
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, numbers.shape)],
                              [helper.make_tensor_value_info("y", result, None)],
                              [numpy_helper.from_array(value, name) for name, value in constants])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    found = onnx2torch.convert(model)(torch.from_numpy(numbers))
    return ReferenceEvaluator(model).run(None, {"x": numbers})[0].tolist(), found.tolist()


numbers, infinities = np.array([1, 2, 3], np.float32), np.array([-np.inf, 1, np.inf], np.float32)
axis = ("axis", np.array(0, np.int64)),
cases = {
    "CumSum": (both("CumSum", numbers, constants=axis), [6, 5, 3]),
    "CumSum, exclusive=1": (both("CumSum", numbers, constants=axis, exclusive=1), [5, 3, 0]),
    "CumSum, reverse=0": (both("CumSum", numbers, constants=axis, reverse=0), [1, 3, 6]),
    "NonZero": (both("NonZero", np.array([[1, 0], [1, 1]], np.float32), result=TensorProto.INT64), [[0, 0], [1, 0], [1, 1]]),
    "IsInf, detect_negative=0": (both("IsInf", infinities, result=TensorProto.BOOL, detect_negative=0), [True, False, True]),
    "Pad with 7, opset 10": (both("Pad", numbers, opset=10, pads=[1, 1], value=7.0), [0, 1, 2, 3, 0]),
}
for name, ((right, found), seen) in cases.items():
    print(f"{name}: ONNX {right}, onnx2torch {found}")
    assert found == seen and (found == right) == ("reverse" in name)
PYTHON
