#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenVINO 2026.4.1's CPU attention (ScaledDotProductAttention-13, f32) with a sink that is NaN: whether the result is NaN or zeros depends
# on the number of keys. Seen with AVX2: zeros for 1 to 3 and 16 to 22 keys, NaN for 4 to 15, 23 and 31, zeros for 32 and more.
# Its Python function for the operation takes no sink; a seventh positional argument becomes the name, and the sink is lost without a word.
# Guess before the run: a NaN among the scores makes the whole row NaN, as a softmax of the scores and the sink has it.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check openvino==2026.4.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import openvino as ov
import openvino.opset13 as ops
from openvino.utils.node_factory import NodeFactory

random = np.random.default_rng(0)


def attention(keys, sink):
    inputs = [random.standard_normal(shape).astype(np.float32) for shape in ((1, 4, 3, 8), (1, 4, keys, 8), (1, 4, keys, 8), (3, keys))]
    inputs += [np.array(0.35, np.float32), np.full((1, 4, 1, 1), sink, np.float32)]
    ports = [ops.parameter(list(value.shape), value.dtype) for value in inputs]
    node = NodeFactory("opset13").create("ScaledDotProductAttention", [port.output(0) for port in ports], {"causal": False})
    out = ov.Core().compile_model(ov.Model([node], ports), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(inputs)[0]
    query, key, value, mask, scale, sinks = inputs
    scores = query @ key.swapaxes(-1, -2) * scale + mask
    scores = np.concatenate([scores, np.broadcast_to(sinks, scores.shape[:-1] + (1,))], -1)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return out, (powers / powers.sum(-1, keepdims=True))[..., :-1] @ value


seen = {"NaN": [], "zeros": []}
for keys in (*range(1, 40), 64, 256, 600):
    right, formula = attention(keys, 1.5)
    assert np.abs(right - formula).max() < 1e-5
    out, formula = attention(keys, np.nan)
    assert np.isnan(formula).all()
    seen["NaN" if np.isnan(out).all() else "zeros" if not out.any() else "both"].append(keys)
print("a sink of NaN gives NaN with these numbers of keys:", seen["NaN"], "and zeros with these:", seen["zeros"])
assert seen["NaN"] and seen["zeros"]

sides = [ops.parameter([1, 4, 5, 8], np.float32) for _ in range(3)]
node = ops.scaled_dot_product_attention(*sides, ops.parameter([5, 5], np.float32), ops.constant(np.float32(1)), False,
                                        ops.parameter([1, 4, 1, 1], np.float32))
print("inputs of a node whose seventh argument is a sink:", len(node.inputs()))
assert len(node.inputs()) == 5
PYTHON
