#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tinygrad 0.14.0 (CPU device by clang): ONNX's Attention with fewer heads of keys than of queries gives query head i the key head i modulo
# their number. ONNX gives it the key head i divided by the group's size (each key head serves neighbouring query heads), as ONNX Runtime and
# the reference do; exported decoders with grouped queries are computed with other heads, without an error.
# Guess before the run: the operation agrees with ONNX's reference.
set -euo pipefail
command -v clang >/dev/null || { echo "needs clang, with which tinygrad compiles"; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check tinygrad==0.14.0 onnx==1.23.2 numpy==2.4.6
CACHELEVEL=0 DEV=CPU "$folder/venv/bin/python" - "$folder/model.onnx" <<'PYTHON'
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from tinygrad.nn.onnx import OnnxRunner

heads, groups, length, width = 4, 2, 3, 4
random = np.random.default_rng(1)
query = random.standard_normal((1, heads, length, width)).astype(np.float32)
key, value = (random.standard_normal((1, groups, length, width)).astype(np.float32) for _ in range(2))
feeds = {"q": query, "k": key, "v": value}
graph = helper.make_graph([helper.make_node("Attention", ["q", "k", "v"], ["y"])], "g",
                          [helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape) for name, array in feeds.items()],
                          [helper.make_tensor_value_info("y", TensorProto.FLOAT, query.shape)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, sys.argv[1])


def attention(key, value):
    scores = query @ key.swapaxes(2, 3) / width**0.5
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ value


neighbours = attention(*(np.repeat(array, heads // groups, axis=1) for array in (key, value)))
in_turn = attention(*(np.tile(array, (1, heads // groups, 1, 1)) for array in (key, value)))
reference = ReferenceEvaluator(model).run(None, feeds)[0]
found = OnnxRunner(sys.argv[1])(feeds)["y"].numpy()
print("ONNX's reference is off by %.1e from key heads for neighbouring query heads" % np.abs(reference - neighbours).max())
print("tinygrad is off by %.2f from them, and by %.1e from key heads in turn" % (np.abs(found - neighbours).max(), np.abs(found - in_turn).max()))
assert np.allclose(reference, neighbours, atol=1e-5)
assert np.abs(found - neighbours).max() > 0.5 and np.allclose(found, in_turn, atol=1e-5)
PYTHON
