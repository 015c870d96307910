#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ONNX Runtime 1.32.0, CPU: a TreeEnsembleClassifier of two classes whose leaves vote for class 0 alone leaves its scores as they are under
# post_transform SOFTMAX and SOFTMAX_ZERO, but LOGISTIC is applied. With votes for class 1 alone SOFTMAX is applied.
# Guess before the run: SOFTMAX applies to each, so [0.7, 0.3] becomes [0.599, 0.401].
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper


def classify(labels, votes, post="NONE"):
    """A tree of one branch, x <= 0. votes: for the leaf of each side, (class, weight)."""
    leaves = [(leaf + 1, *vote) for leaf, side in enumerate(votes) for vote in side]
    node = helper.make_node(
        "TreeEnsembleClassifier", ["x"], ["label", "scores"], domain="ai.onnx.ml", classlabels_int64s=labels, post_transform=post,
        nodes_treeids=[0] * 3, nodes_nodeids=[0, 1, 2], nodes_featureids=[0] * 3, nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
        nodes_values=[0.0] * 3, nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0], class_treeids=[0] * len(leaves),
        class_nodeids=[leaf[0] for leaf in leaves], class_ids=[leaf[1] for leaf in leaves], class_weights=[leaf[2] for leaf in leaves])
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 1])],
                              [helper.make_tensor_value_info("label", TensorProto.INT64, None),
                               helper.make_tensor_value_info("scores", TensorProto.FLOAT, None)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15), helper.make_opsetid("ai.onnx.ml", 3)], ir_version=8)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    label, scores = session.run(None, {"x": np.array([[-1], [1]], np.float32)})
    return label.tolist(), np.round(scores.astype(float), 3).tolist()


found = {(name, vote): classify([5, 9], [[(vote, 0.3)], [(vote, 0.8)]], name)[1][0]
         for name in ("NONE", "SOFTMAX", "SOFTMAX_ZERO", "LOGISTIC") for vote in (0, 1)}
for (name, vote), scores in found.items():
    print(f"{name:12} votes for class {vote}: {scores}")
assert found["SOFTMAX", 0] == found["SOFTMAX_ZERO", 0] == found["NONE", 0] == [0.7, 0.3]
assert found["LOGISTIC", 0] == [0.426, 0.574]
assert found["SOFTMAX", 1] == [0.426, 0.574] and found["NONE", 1] == [0.0, 0.3]
PYTHON
