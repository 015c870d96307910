#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ncnn 1.0.20261020: Reduction's LOGSUMEXP does not take off the largest number first, so of [100, 100] it is infinity (100.69), and of
# [-200, -200] minus infinity (-199.3). Its L2 norm of numbers with a NaN is 0. Its sum, mean and L1 norm of them are NaN.
# Guess before the run: LOGSUMEXP is as its name promises, and a norm of NaN is NaN.
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


SUM, MEAN, L1, L2, LOGSUMEXP = 0, 3, 7, 8, 10
for numbers, seen in (([100, 100], np.inf), ([-200, -200], -np.inf), ([1, 2, 3], 3.407606)):
    found = float(run("Reduction", f"0={LOGSUMEXP} 1=1", numbers)[0])
    print(f"LOGSUMEXP of {numbers}: {found:.6g}, and it should be {np.logaddexp.reduce(numbers):.6g}")
    assert np.allclose(found, seen)
for name, operation, seen in (("SUM", SUM, np.nan), ("MEAN", MEAN, np.nan), ("L1", L1, np.nan), ("L2", L2, 0)):
    found = run("Reduction", f"0={operation} 1=1", [3, np.nan, 4])[0]
    print(f"{name} of [3, NaN, 4]: {found}")
    assert np.array_equal(found, np.float32(seen), equal_nan=True)
assert run("Reduction", f"0={L2} 1=1", [3, 0, 4])[0] == 5
PYTHON
