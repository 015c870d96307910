#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnx 1.23.2: the reference evaluator's RNN, GRU and LSTM take sequence_lens and ignore it: a sequence that ended is fed its padding to the
# last step, Y is not 0 there, and Y_h is the state after the padding. The reverse direction starts in the padding. ONNX Runtime
# stops each sequence at its own end.
# Guess before the run: the reference and ONNX Runtime give the same numbers, as they do for sequences of one length.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

random = np.random.default_rng(0)


def run(operator, gates, direction, lengths):
    """Y and Y_h of the reference and of ONNX Runtime for two sequences of at most 3 steps."""
    directions = 2 if direction == "bidirectional" else 1
    values = {"x": random.standard_normal((3, 2, 4)).astype(np.float32),
              "w": random.standard_normal((directions, gates * 2, 4)).astype(np.float32),
              "r": random.standard_normal((directions, gates * 2, 2)).astype(np.float32), "lengths": np.array(lengths, np.int32)}
    node = helper.make_node(operator, ["x", "w", "r", "", "lengths"], ["y", "h"], hidden_size=2, direction=direction)
    inputs = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for name, x in values.items()]
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "yh"]
    model = helper.make_model(helper.make_graph([node], "graph", inputs, outputs), opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return ReferenceEvaluator(model).run(None, values), session.run(None, values)


for operator, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
    for direction in ("forward", "reverse", "bidirectional"):
        found, right = run(operator, gates, direction, [3, 3])
        assert all(np.allclose(one, other, atol=1e-5) for one, other in zip(found, right))
        found, right = run(operator, gates, direction, [3, 1])
        print(f"{operator}, {direction}: last step of the short sequence {found[0][2, 0, 1]}, ONNX Runtime {right[0][2, 0, 1]};",
              f"its last state {found[1][0, 1]}, ONNX Runtime {right[1][0, 1]}")
        assert (right[0][1:, :, 1] == 0).all() and (found[0][1:, :, 1] != 0).all()
        assert not np.allclose(found[1][0, 1], right[1][0, 1], atol=1e-3)
        assert np.allclose(found[1][:, 0], right[1][:, 0], atol=1e-5)
PYTHON
