#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# skl2onnx 1.20.0 of scikit-learn 1.9.1: Normalizer(norm="max") divides each row by the largest absolute value; the converted model, ai.onnx.ml's
# Normalizer with MAX in ONNX Runtime 1.32.0, by the largest value. A row of negative numbers comes back positive and above 1 ([-4 -2 -1] as
# [4 2 1] for [-1 -0.5 -0.25]), a row whose largest value is 1e-3 by thousands, one whose largest value is 0 as it was. ONNX's reference
# 1.23.2 divides by the largest absolute value, as scikit-learn does. l1 and l2 agree in all three.
# Guess before the run: all three norms agree in all three.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check skl2onnx==1.20.0 scikit-learn==1.9.1 onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import numpy as np
import onnxruntime as ort
from onnx.reference import ReferenceEvaluator
from skl2onnx import to_onnx
from sklearn.preprocessing import Normalizer

X = np.array([[-4, -2, -1], [-4, 2, 1], [1, 2, 4], [-4, -2, 0], [-4, -2, 1e-3]], np.float32)
for norm in ("l1", "l2", "max"):
    model = Normalizer(norm).fit(X)
    made = to_onnx(model, X[:1], target_opset=18)
    said = model.transform(X)
    got = ort.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"X": X})[0]
    reference = ReferenceEvaluator(made).run(None, {"X": X})[0]
    print(norm, "scikit-learn", said.tolist(), "ONNX Runtime", got.tolist(), "reference", reference.tolist())
    if norm != "max":
        assert np.allclose(said, got, atol=1e-6) and np.allclose(said, reference, atol=1e-6)
        continue
    assert np.allclose(said, X / np.abs(X).max(1, keepdims=True), atol=1e-6) and np.allclose(said, reference, atol=1e-6)
    assert np.allclose(got[[0, 1, 2, 4]], (X / X.max(1, keepdims=True))[[0, 1, 2, 4]], rtol=1e-5) and (got[0] > 0).all() and (got[3] == X[3]).all()
PYTHON
