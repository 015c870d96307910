#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ncnn 1.0.20261020 on x86-64: BinaryOp's POW of 0 and of negative numbers is 2.406e38 for any exponent, 2 and 1 too, in the part of a
# tensor that is computed by vectors. What is left over, up to three numbers at the end, is right. So (-3)^2 is 9 or 2.4e38 by its place.
# Guess before the run: a negative number to the power of 2 or 3 is right, since both are exact; of 0.5 it is NaN.
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


POW = 6
x = np.array([-3, -1, 0, 2, -0.5, 5, 0.5, -100, -3, 0], np.float32)
for exponent in (1.0, 2.0, 3.0, -2.0):
    found = run("BinaryOp", f"0={POW} 1=1 2={exponent}", x)
    print(x.tolist(), f"to the power of {exponent}:", found.tolist())
    assert (found[:8][x[:8] <= 0] > 2.4e38).all() and np.allclose(found[:8][x[:8] > 0], x[:8][x[:8] > 0] ** exponent, rtol=1e-5)
    with np.errstate(all="ignore"):
        assert np.allclose(found[8:], x[8:] ** np.float32(exponent), rtol=1e-5)
    assert np.array_equal(found, run("BinaryOp", f"0={POW}", x, np.full_like(x, exponent)))
SQUARE = 4
assert run("UnaryOp", f"0={SQUARE}", x).tolist() == (x * x).tolist()
PYTHON
