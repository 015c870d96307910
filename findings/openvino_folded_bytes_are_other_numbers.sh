#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenVINO 2026.4.1, CPU device: an operation on uint8 and int8 gives other numbers when its inputs are constants, which are folded as the model is
# compiled, than when the same numbers are fed to it. Fed, sums and differences stop at the ends of the type and a quotient is cut: 200 + 100
# is 255, 100 - 200 is 0, 3 / 5 is 0. Folded, sums wrap and quotients are rounded: 44, 156 and 1. Fed NaN, Relu, Clamp and FakeQuantize
# give their lower bound; folded, NaN. int32 and finite floats agree.
# Guess before the run: whether a tensor is a constant changes the time that a model takes, and not its numbers.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check openvino==2026.4.1 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import numpy as np
import openvino as ov
from openvino import opset13 as ops


def both(operation, *values):
    """The result of an operation whose inputs are fed, and of the same operation on constants."""
    fed = [ops.parameter(list(value.shape), value.dtype) for value in values]
    results = []
    for inputs, feed in ((fed, list(values)), ([ops.constant(value) for value in values], [])):
        model = ov.Model([operation(*inputs)], fed if feed else [])
        compiled = ov.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        results.append(compiled(feed)[0].tolist())
    return results


operations = {"add": ops.add, "subtract": ops.subtract, "divide": ops.divide}
numbers = {"uint8": ([200, 100, 3, 7], [100, 200, 5, 4]), "int8": ([100, -100, 3, 7], [100, 100, 5, 4]),
           "int32": ([200, 100, 3, 7], [100, 200, 5, 4])}
seen = {("uint8", "add"): ([255, 255, 8, 11], [44, 44, 8, 11]), ("uint8", "subtract"): ([100, 0, 0, 3], [100, 156, 254, 3]),
        ("uint8", "divide"): ([2, 0, 0, 1], [2, 0, 1, 2]), ("int8", "add"): ([127, 0, 8, 11], [-56, 0, 8, 11]),
        ("int8", "subtract"): ([0, -128, -2, 3], [0, 56, -2, 3]), ("int8", "divide"): ([1, -1, 0, 1], [1, -1, 1, 2])}
print("OpenVINO", ov.__version__)
for kind, (first, second) in numbers.items():
    for name, operation in operations.items():
        fed, folded = both(operation, np.array(first, kind), np.array(second, kind))
        print(f"{kind}, {name} of {first} and {second}: fed {fed}, folded {folded}")
        assert (fed, folded) == seen.get((kind, name), (fed, fed))
pixels = np.array([200, 7, 5], np.uint8)
fed, folded = both(lambda x: ops.floor(ops.divide(x, ops.constant(np.uint8(3)))), pixels)
print(f"uint8, floor of {pixels.tolist()} divided by 3: fed {fed}, folded {folded}")
assert (fed, folded) == ([66, 2, 1], [67, 2, 2])
floats = np.array([np.nan, -1, 0.5, 9], np.float32)
kinds = {"relu": ops.relu, "clamp to -2..2": lambda x: ops.clamp(x, -2, 2),
         "fake_quantize of -2..2": lambda x: ops.fake_quantize(x, np.float32(-2), np.float32(2), np.float32(-2), np.float32(2), 5)}
for name, operation in kinds.items():
    fed, folded = both(operation, floats)
    print(f"{name} of {floats.tolist()}: fed {fed}, folded {folded}")
    assert fed[0] == (0 if name == "relu" else -2) and np.isnan(folded[0]) and np.allclose(fed[1:], folded[1:], atol=1e-6)
PYTHON
