#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ONNX Runtime 1.32.0 turns each object of a string input that is no str into text by Python's str: the bytes b"hello" become the text
# b'hello' of eight letters, None becomes the word None, and 3.5 its digits. Nothing is refused. Triton's client hands strings out as bytes,
# and such never match a vocabulary. onnx 1.23.2 takes bytes as UTF-8.
# Guess before the run: bytes are taken as UTF-8, and other objects are refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper


def session(node, output):
    """A session of one node that takes strings."""
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.STRING, ["n"])],
                              [helper.make_tensor_value_info("y", output, ["n"])])
    opsets = [helper.make_opsetid("", 23), helper.make_opsetid("ai.onnx.ml", 3)]
    return ort.InferenceSession(helper.make_model(graph, opset_imports=opsets, ir_version=11).SerializeToString(),
                                providers=["CPUExecutionProvider"])


same = session(helper.make_node("Identity", ["x"], ["y"]), TensorProto.STRING)
given = np.array([b"hello", "hello", None, 3.5, "ä".encode()], object)
found = same.run(None, {"x": given})[0].tolist()
print("given:", given.tolist(), "found:", found)
assert found == ["b'hello'", "hello", "None", "3.5", "b'\\xc3\\xa4'"]

encoder = session(helper.make_node("LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", keys_strings=["hello"], values_int64s=[7],
                                   default_int64=-1), TensorProto.INT64)
labels = encoder.run(None, {"x": np.array(["hello", b"hello"], object)})[0].tolist()
print("a vocabulary's number of 'hello' and of b'hello':", labels)
assert labels == [7, -1]
assert numpy_helper.to_array(numpy_helper.from_array(np.array([b"hello"], object))).tolist() == ["hello"]
PYTHON
