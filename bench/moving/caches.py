#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Caches of keys and values in each type, on Tenon's CPU device beside OpenVINO's: tokens behind a long prompt.

The model is attention alone, in the form of OpenVINO's exporters (beams, stateful, ScaledDotProductAttention), of some layers: a
token reads their caches, and little else. Short rounds in turn, medians of the rounds.

usage: caches.py --build DIR [--context N] [--rounds N] [type...]
"""
import argparse
import json
import statistics
import sys
from pathlib import Path

import numpy as np
import openvino
from openvino import opset13 as ops
from openvino.op.util import Variable, VariableInfo

sys.path.insert(0, str(Path(__file__).resolve().parent))
from moving import Worker

LAYERS, HEADS, LENGTH = 12, 12, 64


def constant(value, kind=np.int64):
    return ops.constant(np.array(value, kind))


def write_model(path):
    features = HEADS * LENGTH
    random = np.random.default_rng(3)
    x = ops.parameter([1, -1, features], np.float32, name="x")
    beams = ops.parameter([1], np.int32, name="beam_idx")
    nothing = ops.broadcast(constant(0, np.float32), constant([1, HEADS, 0, LENGTH]))
    value, sinks = x, []
    heads = lambda y: ops.transpose(ops.reshape(y, constant([0, 0, HEADS, LENGTH]), True), constant([0, 2, 1, 3]))
    for layer in range(LAYERS):
        # Small weights, because the caches are measured.
        down = ops.constant(random.normal(0, features**-0.5, (features, 32)).astype(np.float32))
        narrow = ops.matmul(value, down, False, False)
        sides = []
        for kind in "qkv":
            up = ops.constant(random.normal(0, 32**-0.5, (32, features)).astype(np.float32))
            side = heads(ops.matmul(narrow, up, False, False))
            if kind != "q":
                info = VariableInfo()
                info.data_shape, info.data_type = openvino.PartialShape([-1, HEADS, -1, LENGTH]), openvino.Type.f32
                info.variable_id = f"{kind}{layer}"
                variable = Variable(info)
                before = ops.gather(ops.read_value(nothing, variable), beams, constant(0))
                side = ops.concat([before, side], 2)
                sinks.append(ops.assign(side, variable))
            sides.append(side)
        mixed = ops.scaled_dot_product_attention(*sides)
        value = ops.add(value, ops.reshape(ops.transpose(mixed, constant([0, 2, 1, 3])), constant([0, 0, features]), True))
    model = openvino.Model([ops.result(value)], sinks, [x, beams], "caches")
    openvino.save_model(model, str(path), compress_to_fp16=False)


def measure(path, team, options, kind):
    found = {"type": kind, "context": options.context, "threads": options.threads}
    for worker in team.values():
        worker.ask(f"load {path} {options.threads} {options.precision} {kind}")
        worker.times([1])
        worker.ask("reset")
    before = {peer: int(worker.ask("memory").split()[0]) for peer, worker in team.items()}
    for worker in team.values():
        for _ in range(options.context // 250):
            worker.times([250])
        worker.times([1] * 8)  # The buffers have reached their size now.
    after = {peer: int(worker.ask("memory").split()[0]) for peer, worker in team.items()}
    seen = {peer: [] for peer in team}
    for _ in range(options.rounds):
        for peer, worker in team.items():
            seen[peer].append(statistics.median(worker.times([1] * 8)))
    for peer, worker in team.items():
        found[peer] = {"token_ms": round(statistics.median(seen[peer]) / 1e3, 3), "grown_mb": (after[peer] - before[peer]) // 1024,
                      "sum": float(worker.ask("sum"))}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--context", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--precision", default="f32", choices=["f32", "bf16"])
    parser.add_argument("types", nargs="*", default=["f32", "bf16", "f16", "u8"])
    options = parser.parse_args()
    path = options.build / "moving/caches.xml"
    path.parent.mkdir(exist_ok=True)
    if not path.exists():
        write_model(path)
    for kind in options.types:
        team = {peer: Worker(str(options.build / f"peers/moving_{peer}")) for peer in ("tenon", "openvino")}
        found = measure(path, team, options, kind)
        print(json.dumps(found), flush=True)
        for worker in team.values():
            worker.close()


if __name__ == "__main__":
    main()
