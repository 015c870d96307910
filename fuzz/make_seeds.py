#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fills seed folders for the parser fuzzers: make_seeds.py --out DIR [--zoo DIR] [--node-tests DIR].

Writes DIR/onnx (the smallest zoo models and up to 400 of ONNX's node tests), DIR/ir (the small models' XML) and DIR/graphs (the
decisions of random graphs).
"""
import argparse
import random
import shutil
from pathlib import Path

MAX_SEED_BYTES = 1 << 20


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--zoo", type=Path)
    parser.add_argument("--node-tests", type=Path)
    options = parser.parse_args()
    onnx, ir, graphs = options.out / "onnx", options.out / "ir", options.out / "graphs"
    for folder in (onnx, ir, graphs):
        folder.mkdir(parents=True, exist_ok=True)
    # Any bytes make a graph.
    for seed in range(100):
        (graphs / f"{seed}.bytes").write_bytes(random.Random(seed).randbytes(200))
    if options.zoo:
        for path in options.zoo.glob("*.onnx"):
            if path.stat().st_size <= MAX_SEED_BYTES:
                shutil.copy(path, onnx / path.name)
        for path in options.zoo.glob("*_tiny.xml"):
            if path.stat().st_size <= MAX_SEED_BYTES:
                shutil.copy(path, ir / path.name)
        for path in options.zoo.glob("relu1.xml"):
            shutil.copy(path, ir / path.name)
    if options.node_tests:
        for path in sorted(options.node_tests.glob("*/model.onnx"))[::3][:400]:
            shutil.copy(path, onnx / f"{path.parent.name}.onnx")
    print(f"{len(list(onnx.iterdir()))} ONNX seeds, {len(list(ir.iterdir()))} IR seeds")


if __name__ == "__main__":
    main()
