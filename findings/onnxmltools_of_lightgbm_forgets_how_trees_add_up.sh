#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnxmltools 1.16.0 of LightGBM 4.7.0: convert_lightgbm() leaves out settings of a model that say what a sum of leaves means, and says nothing. A
# random forest (boosting_type rf) of ten trees gives a tenth of LightGBM's numbers, and as a classifier other labels for a third of the rows and
# more. reg_sqrt is not squared back. sigmoid=2 of a classifier is 1. multiclassova gets the softmax of the raw scores, where LightGBM has a sigmoid
# for each class. With zero_as_missing a zero is a number. Of linear_tree the constants of the leaves are used, and not the slopes. The same
# booster without these settings agrees to 1e-5, in ONNX Runtime 1.32.0.
# Guess before the run: all agree to 1e-5, or are refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnxmltools==1.16.0 lightgbm==4.7.0 scikit-learn==1.9.1 skl2onnx==1.20.0 \
  onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import lightgbm as lgb
import numpy as np
import onnxmltools
import onnxruntime as ort
from onnxmltools.convert.common.data_types import FloatTensorType

ort.set_default_logger_severity(4)
random = np.random.default_rng(0)
X = random.normal(size=(500, 6)).astype(np.float32)
amount = X @ np.arange(6) + X[:, 0] ** 2
kinds = np.digitize(X[:, 0] + X[:, 3], [-0.6, 0.6])
zeros = np.where(np.abs(X) < 0.5, 0, X).astype(np.float32)
forest = {"boosting_type": "rf", "bagging_freq": 1, "bagging_fraction": 0.5}


def both(kind, target, rows=X, **settings):
    """What LightGBM says of the rows, its raw scores, and what ONNX Runtime makes of the converted model."""
    model = kind(n_estimators=10, verbose=-1, min_child_samples=5, n_jobs=1, random_state=1, **settings).fit(rows, target)
    converted = onnxmltools.convert_lightgbm(model, initial_types=[("X", FloatTensorType([None, 6]))], target_opset=15, zipmap=False)
    got = ort.InferenceSession(converted.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"X": rows})[-1]
    said = (model.predict_proba if kind is lgb.LGBMClassifier else model.predict)(rows)
    return said, model.predict(rows, raw_score=True), got.reshape(said.shape)


def apart(a, b):
    return float(np.abs(a - b).max())


for kind, target in ((lgb.LGBMRegressor, amount), (lgb.LGBMClassifier, kinds), (lgb.LGBMClassifier, (amount > 0).astype(int))):
    said, _, got = both(kind, target)
    assert apart(said, got) < 1e-4, "plain models agree"

said, _, got = both(lgb.LGBMRegressor, amount, **forest)
print("forest:", said[:3], got[:3])
assert apart(said, 10 * got) < 1e-4 < apart(said, got)
said, _, got = both(lgb.LGBMClassifier, (amount > 0).astype(int), **forest)
other = int((said.argmax(1) != got.argmax(1)).sum())
print(f"forest of a classifier: {other} of {len(X)} labels differ")
assert other > len(X) // 3

said, raw, got = both(lgb.LGBMRegressor, np.abs(amount), reg_sqrt=True)
print("reg_sqrt:", said[:3], got[:3])
assert apart(said, np.sign(got) * got**2) < 1e-3 and apart(said, got) > 1

said, raw, got = both(lgb.LGBMClassifier, (amount > 0).astype(int), sigmoid=2.0)
print("sigmoid=2:", said[:3, 1], got[:3, 1])
assert apart(got[:, 1], 1 / (1 + np.exp(-raw))) < 1e-4 and apart(said[:, 1], 1 / (1 + np.exp(-2 * raw))) < 1e-4 and apart(said, got) > 0.1

said, raw, got = both(lgb.LGBMClassifier, kinds, objective="multiclassova")
print("multiclassova:", said[0], got[0])
assert apart(got, np.exp(raw) / np.exp(raw).sum(1, keepdims=True)) < 1e-4 and apart(said, 1 / (1 + np.exp(-raw))) < 1e-4 and apart(said, got) > 0.1

for name, rows in (("zero_as_missing", zeros), ("linear_tree", X)):
    said, _, got = both(lgb.LGBMRegressor, amount, rows, **{name: True})
    print(f"{name}: {said[:3]} {got[:3]}")
    assert apart(said, got) > 1
PYTHON
