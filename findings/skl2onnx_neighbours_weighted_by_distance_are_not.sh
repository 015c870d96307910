#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# skl2onnx 1.20.0 of scikit-learn 1.9.1: to_onnx() of KNeighborsRegressor(weights="distance") gives what weights="uniform" gives, to the last digits,
# and scikit-learn's own numbers nowhere but for one neighbour; the classifier gives uniform votes, too. The graph turns the distances negative
# and takes the larger of them and 1e-6, so that every neighbour weighs 1e6. ONNX Runtime 1.32.0; the option "optim": "cdist" changes nothing.
# Guess before the run: both agree with scikit-learn to 1e-3.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check skl2onnx==1.20.0 scikit-learn==1.9.1 onnxruntime==1.32.0 onnx==1.23.2 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import numpy as np
import onnxruntime as ort
from skl2onnx import to_onnx
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

random = np.random.default_rng(0)
X = random.normal(size=(200, 4)).astype(np.float32)
asked = random.normal(size=(100, 4)).astype(np.float32)
amount = (X @ [1, 2, 3, 4] + X[:, 0] ** 2).astype(np.float32)
kinds = np.digitize(X[:, 0] + X[:, 3], [-0.6, 0.6])


def converted(model, output=0, **options):
    made = to_onnx(model, X[:1], target_opset=18, options={id(model): options} if options else None)
    return ort.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, {"X": asked})[output]


def apart(a, b):
    return float(np.abs(np.ravel(a) - np.ravel(b)).max())


for options in ({}, {"optim": "cdist"}):
    weighted = KNeighborsRegressor(5, weights="distance").fit(X, amount)
    uniform = KNeighborsRegressor(5).fit(X, amount)
    got = converted(weighted, **options)
    print("scikit-learn", weighted.predict(asked)[:3], "ONNX", got.ravel()[:3], "uniform", uniform.predict(asked)[:3])
    assert apart(got, uniform.predict(asked)) < 1e-4 and apart(got, weighted.predict(asked)) > 0.5
    assert apart(converted(uniform, **options), uniform.predict(asked)) < 1e-4
assert apart(converted(KNeighborsRegressor(1, weights="distance").fit(X, amount)), KNeighborsRegressor(1).fit(X, amount).predict(asked)) < 1e-4

weighted = KNeighborsClassifier(5, weights="distance").fit(X, kinds)
uniform = KNeighborsClassifier(5).fit(X, kinds)
got = converted(weighted, 1, zipmap=False)
print("scikit-learn", weighted.predict_proba(asked)[0], "ONNX", got[0], "uniform", uniform.predict_proba(asked)[0])
assert apart(got, uniform.predict_proba(asked)) < 1e-4 and apart(got, weighted.predict_proba(asked)) > 0.1
PYTHON
