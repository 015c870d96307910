#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs zoo models in ONNX Runtime and OpenVINO on fixed inputs and keeps inputs and outputs as .npy.

Writes DIR/<model>/input_<k>.npy, onnxruntime_<k>.npy and openvino_<k>.npy (the latter from the IR, f16 constants included).
If a model keeps a state in its IR, OpenVINO's single run is from the ONNX, and DIR/<model>/step_<s> holds the same
files for consecutive steps from a fresh state: ONNX Runtime gets the state as input, OpenVINO keeps it.
usage: make_references.py --zoo DIR --out DIR [--tiny] [name...]
"""
import argparse
import zlib
from pathlib import Path

import numpy as np
import onnxruntime
import openvino


def make_input(name, shape, kind, random):
    if "int" in kind:
        return (random.integers(0, 2, shape) if "mask" in name else random.integers(0, 400, shape)).astype(np.int64)
    return random.normal(0, 1, shape).astype(np.float32)


STEPS = 4


def save_all(folder, prefix, values):
    folder.mkdir(parents=True, exist_ok=True)
    for k, value in enumerate(values):
        np.save(folder / f"{prefix}_{k}.npy", value)


def make_steps(folder, session, compiled, random):
    """Consecutive steps; outputs that are states in the IR come last in ONNX."""
    names = [i.any_name for i in compiled.inputs]
    held = [i for i in session.get_inputs() if i.name not in names]
    outputs = [o.any_name for o in compiled.outputs]
    state = {i.name: np.zeros(i.shape, np.float32) for i in held}
    request = compiled.create_infer_request()
    for step in range(STEPS):
        inputs = {i.name: make_input(i.name, i.shape, i.type, random) for i in session.get_inputs() if i.name in names}
        made = dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs | state)))
        state = dict(zip(state, [value for name, value in made.items() if name not in outputs]))
        here = folder / f"step_{step}"
        save_all(here, "input", inputs.values())
        save_all(here, "onnxruntime", [made[name] for name in outputs])
        save_all(here, "openvino", request.infer(inputs).to_tuple())


def main():
    parser = argparse.ArgumentParser(description="Makes reference outputs for the zoo.")
    parser.add_argument("--zoo", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--tiny", action="store_true", help="only the small models")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    names = options.names or sorted(p.stem for p in options.zoo.glob("*.onnx"))
    if options.tiny:
        names = [n for n in names if n.endswith("_tiny") or n == "relu1"]
    core = openvino.Core()
    for name in names:
        folder = options.out / name
        folder.mkdir(parents=True, exist_ok=True)
        session = onnxruntime.InferenceSession(options.zoo / f"{name}.onnx", providers=["CPUExecutionProvider"])
        random = np.random.default_rng(zlib.crc32(name.encode()))
        inputs = {i.name: make_input(i.name, i.shape, i.type, random) for i in session.get_inputs()}
        for k, value in enumerate(inputs.values()):
            np.save(folder / f"input_{k}.npy", value)
        for k, value in enumerate(session.run(None, inputs)):
            np.save(folder / f"onnxruntime_{k}.npy", value)
        settings = {"INFERENCE_PRECISION_HINT": "f32"}
        compiled = core.compile_model(str(options.zoo / f"{name}.xml"), "CPU", settings)
        if len(compiled.inputs) < len(inputs):
            make_steps(folder, session, compiled, random)
            compiled = core.compile_model(str(options.zoo / f"{name}.onnx"), "CPU", settings)
        for k, value in enumerate(compiled(inputs).to_tuple()):
            np.save(folder / f"openvino_{k}.npy", value)
        print(f"{name}: {len(inputs)} inputs, {len(session.get_outputs())} outputs")


if __name__ == "__main__":
    main()
