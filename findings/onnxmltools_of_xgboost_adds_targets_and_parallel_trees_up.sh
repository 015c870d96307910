#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnxmltools 1.16.0 of XGBoost 3.2.0: convert_xgboost() of an XGBRegressor of two targets lets the trees of both add to the first one: without its
# base scores it is the sum of both, and the second is 0, in ONNX Runtime 1.32.0 (ONNX's reference gives the second its base score). A classifier
# of three classes with num_parallel_tree=3 gives its trees to other classes, and other labels. reg:logistic gives sums of leaves and the base
# score as they are, no probabilities. One target, three classes with single trees, and count:poisson agree to 1e-4. Nothing is refused.
# Guess before the run: all agree to 1e-4, or are refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnxmltools==1.16.0 scikit-learn==1.9.1 skl2onnx==1.20.0 onnxruntime==1.32.0 \
  onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-deps xgboost==3.2.0
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import numpy as np
import onnxmltools
import onnxruntime as ort
import xgboost as xgb
from onnx.reference import ReferenceEvaluator
from onnxmltools.convert.common.data_types import FloatTensorType

ort.set_default_logger_severity(4)
random = np.random.default_rng(0)
X = random.normal(size=(500, 6)).astype(np.float32)
amount = X @ np.arange(6) + X[:, 0] ** 2
kinds = np.digitize(X[:, 0] + X[:, 3], [-0.6, 0.6])


def both(kind, target, **settings):
    """What XGBoost says of the rows, and what ONNX Runtime and ONNX's reference make of the converted model."""
    model = kind(n_estimators=10, max_depth=4, n_jobs=1, **settings).fit(X, target)
    converted = onnxmltools.convert_xgboost(model, initial_types=[("X", FloatTensorType([None, 6]))], target_opset=15)
    got = ort.InferenceSession(converted.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"X": X})[-1]
    said = model.predict_proba(X) if kind is xgb.XGBClassifier else model.predict(X)
    return said, got.reshape(said.shape), converted


def apart(a, b):
    return float(np.abs(a - b).max())


for kind, target, settings in (
    (xgb.XGBRegressor, amount, {}),
    (xgb.XGBClassifier, kinds, {}),
    (xgb.XGBRegressor, kinds, {"objective": "count:poisson"}),
):
    said, got, _ = both(kind, target, **settings)
    assert apart(said, got) < 1e-4, "plain models agree"

said, got, converted = both(xgb.XGBRegressor, np.stack([amount, X[:, 0]], 1), base_score=0.0)
print("two targets:", said[:2].tolist(), got[:2].tolist())
assert apart(said.sum(1), got[:, 0]) < 1e-4 and (got[:, 1] == 0).all() and apart(said, got) > 1
said, got, converted = both(xgb.XGBRegressor, np.stack([amount, 5 + X[:, 0]], 1))
reference = ReferenceEvaluator(converted).run(None, {"X": X})[0]
print("their base scores:", got[0].tolist(), reference[0].tolist())
assert (got[:, 1] == 0).all() and (np.abs(reference[:, 1] - 5) < 0.3).all(), "what no leaf adds to is its base score"

said, got, _ = both(xgb.XGBClassifier, kinds, num_parallel_tree=3)
other = int((said.argmax(1) != got.argmax(1)).sum())
print(f"num_parallel_tree=3: {other} of {len(X)} labels differ")
assert other > 20

said, got, _ = both(xgb.XGBRegressor, (amount > 0) * 0.8 + 0.1, objective="reg:logistic")
print("reg:logistic:", said[:3], got[:3])
assert 0 < said.min() and said.max() < 1 and got.min() < -1 and got.max() > 1
PYTHON
