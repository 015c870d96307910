#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ncnn 1.0.20261020 on x86-64: 1 / 0 is NaN and so are 1 / infinity, log of 0 and reciprocal of 0, in the part of a tensor that is computed
# by vectors; in what is left over, up to three numbers at the end, they are infinity, 0, minus infinity and infinity. exp of 100 is 2.4e38
# or infinity, exp of NaN 0 or NaN likewise. And Softmax gives a NaN the probability 1.
# Guess before the run: 1 / infinity is 0, 1 / 0 infinity, and a NaN makes Softmax NaN.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ncnn==1.0.20261020 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import pathlib
import tempfile

import ncnn
import numpy as np


def run(layer, parameters, *inputs):
    """One layer of ncnn on vectors of f32."""
    names = [f"in{i}" for i in range(len(inputs))]
    lines = ["7767517", f"{len(inputs) + 1} {len(inputs) + 1}"] + [f"Input {name} 0 1 {name}" for name in names]
    lines.append(f"{layer} layer {len(inputs)} 1 {' '.join(names)} out {parameters}")
    with tempfile.TemporaryDirectory() as folder:
        text, weights = pathlib.Path(folder, "net.param"), pathlib.Path(folder, "net.bin")
        text.write_text("\n".join(lines) + "\n")
        weights.write_bytes(b"")
        net = ncnn.Net()
        assert net.load_param(str(text)) == 0 and net.load_model(str(weights)) == 0
        extractor = net.create_extractor()
        for name, value in zip(names, inputs):
            extractor.input(name, ncnn.Mat(np.asarray(value, np.float32)).clone())
        return np.array(extractor.extract("out")[1])


DIVIDE, RECIPROCAL, LOG, EXP = 3, 15, 8, 7
nan, infinity = np.nan, np.inf
ones = np.ones(9)
for name, vector, rest, found in (("1 / 0", nan, infinity, run("BinaryOp", f"0={DIVIDE}", ones, 0 * ones)),
                                  ("1 / infinity", nan, 0, run("BinaryOp", f"0={DIVIDE}", ones, infinity * ones)),
                                  ("reciprocal of 0", nan, infinity, run("UnaryOp", f"0={RECIPROCAL}", 0 * ones)),
                                  ("log of 0", nan, -infinity, run("UnaryOp", f"0={LOG}", 0 * ones)),
                                  ("exp of 100", 2.4061436e38, infinity, run("UnaryOp", f"0={EXP}", 100 * ones)),
                                  ("exp of NaN", 0, nan, run("UnaryOp", f"0={EXP}", nan * ones))):
    print(f"{name}, nine times: {found}")
    assert np.allclose(found, [vector] * 8 + [rest], equal_nan=True)
found = run("Softmax", "0=0 1=1", [nan, 1, 2, 3, 4, 5, 6, 7])
print("Softmax of NaN, 1, 2 to 7:", found)
assert np.allclose(found, [1] + [0] * 7)
PYTHON
