#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ONNX Runtime 1.32.0, CPU: in a TreeEnsembleRegressor a NaN follows nodes_missing_value_tracks_true at nodes of five comparisons, but at
# BRANCH_NEQ it always takes the true branch. onnx.reference 1.23.2 follows the flag at all six.
# Guess before the run: the flag decides at each, since the specification says so of nodes without regard to their comparison.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

for comparison in ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ"):
    for tracks_true in (1, 0):
        node = helper.make_node(
            "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, nodes_treeids=[0] * 3, nodes_nodeids=[0, 1, 2],
            nodes_featureids=[0] * 3, nodes_modes=[f"BRANCH_{comparison}", "LEAF", "LEAF"], nodes_values=[0.0] * 3, nodes_truenodeids=[1, 0, 0],
            nodes_falsenodeids=[2, 0, 0], nodes_missing_value_tracks_true=[tracks_true, 0, 0], target_treeids=[0, 0], target_nodeids=[1, 2],
            target_ids=[0, 0], target_weights=[1.0, 0.0])
        graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 1])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)], ir_version=8)
        x = {"x": np.array([[np.nan]], np.float32)}
        by_runtime = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, x)[0].item()
        by_reference = ReferenceEvaluator(model).run(None, x)[0].item()
        print(f"BRANCH_{comparison}, flag {tracks_true}: ONNX Runtime takes {by_runtime == 1}, the reference {by_reference == 1}")
        assert by_reference == tracks_true
        assert by_runtime == (1 if comparison == "NEQ" else tracks_true)
PYTHON
