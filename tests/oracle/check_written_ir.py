#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OpenVINO reads the IR that Tenon wrote (from ONNX and from IR) and gets the same outputs as from its own file."""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import openvino


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--convert", type=Path, required=True)
    parser.add_argument("--zoo", type=Path, required=True)
    parser.add_argument("--references", type=Path, required=True)
    options = parser.parse_args()
    core, failures = openvino.Core(), 0
    with tempfile.TemporaryDirectory() as folder:
        small = [p for p in sorted(options.references.iterdir()) if p.name.endswith("_tiny") or p.name == "relu1"]
        for data in small:
            for suffix in (".onnx", ".xml"):
                written = Path(folder) / f"{data.name}{suffix.replace('.', '_')}.xml"
                subprocess.run([options.convert, options.zoo / (data.name + suffix), written], check=True)
                model = core.read_model(str(written))
                compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
                inputs = [np.load(data / f"input_{k}.npy") for k in range(len(model.inputs))]
                original = core.read_model(str(options.zoo / f"{data.name}{suffix}"))
                names = [set(p.names) for p in original.inputs + original.outputs]
                if [set(p.names) for p in model.inputs + model.outputs] != names:
                    print(f"FAILED {written.name}: tensor names differ from {names}")
                    failures += 1
                judge = core.compile_model(original, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(inputs).to_tuple()
                for k, value in enumerate(compiled(inputs).to_tuple()):
                    expected = judge[k]
                    error = float(np.max(np.abs(value - expected)) / np.max(np.abs(expected)))
                    # OpenVINO runs quantised models in int8, and rounds differently if the graph differs.
                    good = value.shape == expected.shape and error <= (5e-2 if "_int8" in data.name else 1e-3)
                    failures += not good
                    print(f"{'ok' if good else 'FAILED'} {written.name} output {k}: max relative error {error:.1e}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
