#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ONNX Runtime 1.32.0, CPU: a TreeEnsembleClassifier of two classes whose leaves vote for both of them answers label 1 for every row,
# whatever classlabels_int64s holds, beside right scores. With three classes, or votes for one class alone, labels are right.
# Guess before the run: the label of the larger score, 5 and 9.
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


votes = [[(0, 0.7), (1, 0.3)], [(0, 0.2), (1, 0.8)]]
two, three, one = classify([5, 9], votes), classify([5, 9, 11], votes), classify([5, 9], [[(0, 0.3)], [(0, 0.8)]])
print("two classes:", two, "three:", three, "votes for one class:", one)
assert two == ([1, 1], [[0.7, 0.3], [0.2, 0.8]])
assert three == ([5, 9], [[0.7, 0.3, 0.0], [0.2, 0.8, 0.0]])
assert one[0] == [5, 9]
PYTHON
