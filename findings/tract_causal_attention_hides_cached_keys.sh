#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tract 0.23.9: ONNX's Attention with is_causal=1 and past keys masks from the top left corner, as if there were no cache: the first new
# query sees the oldest cached key alone, and the second two. ONNX and ONNX Runtime let each query see all of the cache, and the new keys up
# to its own. The present keys and values are right.
# Guess before the run: a decoder's step with a cache gives what the same positions give without one.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check tract==0.23.9 onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import pathlib
import tempfile

import numpy as np
import onnxruntime as ort
import tract
from onnx import TensorProto, helper, numpy_helper


def build(node, inputs, constants=(), shapes=None, opset=21):
    """The bytes of a model of one node, whose inputs are f32."""
    graph = helper.make_graph(
        [node], "g", [helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape) for name, value in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shapes[i] if shapes else None) for i, name in enumerate(node.output)],
        [numpy_helper.from_array(value, name) for name, value in dict(constants).items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10).SerializeToString()


def by_onnxruntime(model, inputs):
    return ort.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, inputs)


def by_tract(model, inputs):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "model.onnx")
        path.write_bytes(model)
        runnable = tract.onnx().load(path).into_model().into_runnable()
    return [output.to_numpy() for output in runnable.run(list(inputs.values()))]


past, new, width = 3, 2, 4
random = np.random.default_rng(1)
query, key, value = (random.standard_normal((1, 1, past + new, width)).astype(np.float32) for _ in range(3))
inputs = {"q": query[:, :, past:], "k": key[:, :, past:], "v": value[:, :, past:], "pk": key[:, :, :past], "pv": value[:, :, :past]}
node = helper.make_node("Attention", ["q", "k", "v", "", "pk", "pv"], ["y", "present_key", "present_value"], is_causal=1)
shapes = [(1, 1, new, width), key.shape, value.shape]
model = build(node, inputs, shapes=shapes, opset=23)
right, found = by_onnxruntime(model, inputs), by_tract(model, inputs)


def masked(visible):
    """Attention whose query i sees the first visible + i + 1 keys."""
    scores = inputs["q"] @ key.swapaxes(2, 3) / width**0.5
    weights = np.exp(scores) * np.tril(np.ones((new, past + new)), visible)
    return weights / weights.sum(-1, keepdims=True) @ value


whole = helper.make_node("Attention", ["q", "k", "v"], ["y"], is_causal=1)
everything = {"q": query, "k": key, "v": value}
for name, run in (("ONNX Runtime", by_onnxruntime), ("tract", by_tract)):
    without = run(build(whole, everything, shapes=[query.shape], opset=23), everything)[0][:, :, past:]
    print(f"{name}, without a cache: off by {np.abs(without - masked(past)).max():.1e}")
    assert np.allclose(without, masked(past), atol=1e-5)
print("with a cache: ONNX Runtime is off by %.1e," % np.abs(right[0] - masked(past)).max(),
      "tract by %.3f," % np.abs(found[0] - masked(past)).max(),
      "and by %.1e from a mask that forgets the cache" % np.abs(found[0] - masked(0)).max())
assert np.allclose(right[0], masked(past), atol=1e-5)
assert np.abs(found[0] - masked(past)).max() > 0.1 and np.allclose(found[0], masked(0), atol=1e-5)
assert np.array_equal(found[1], key) and np.array_equal(found[2], value)
PYTHON
