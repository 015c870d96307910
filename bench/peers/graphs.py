#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of many small nodes, beside OpenVINO and ONNX Runtime: graphs.py --build DIR [--models a,b] [--rounds N] [--limit S] [--no-docs].

Chains of unary nodes, chains of residuals, a hub that thousands of nodes read, and a concatenation of one value: what they cost is the
work per node. Compiling is from the file to the first request (read and compile), each round in fresh processes that take turns;
inferring is per node, the fastest of some runs, in one thread. What takes longer than the limit is given up and said. Prints Markdown,
and writes it into docs/benchmarks.md when all models were measured.
"""
import argparse
import datetime
import os
import pathlib
import platform
import statistics
import sys
import tempfile

import onnx
import peers
from cpu_peers import HERE, NAMES, Worker
from onnx import TensorProto, helper
from stats import table

OPERATIONS = ["Sigmoid", "Abs", "Tanh", "Neg"]
SHAPE = [1, 64]


def save(folder, name, nodes, output, shape):
    graph = helper.make_graph(
        nodes, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, SHAPE)], [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = folder / f"{name}.onnx"
    onnx.save(model, str(path))
    return path


def chain(count):
    values = ["x"] + [f"v{i}" for i in range(count)]
    return [helper.make_node(OPERATIONS[i % 4], [values[i]], [values[i + 1]], name=f"n{i}") for i in range(count)], values[-1], SHAPE


def residuals(count):
    nodes, last = [], "x"
    for i in range(count // 2):
        nodes.append(helper.make_node("Tanh", [last], [f"t{i}"], name=f"t{i}"))
        nodes.append(helper.make_node("Add", [last, f"t{i}"], [f"a{i}"], name=f"a{i}"))
        last = f"a{i}"
    return nodes, last, SHAPE


def hub(count):
    nodes = [helper.make_node("Sigmoid", ["x"], ["hub"], name="hub")]
    nodes += [helper.make_node(OPERATIONS[i % 4], ["hub"], [f"b{i}"], name=f"b{i}") for i in range(count)]
    nodes.append(helper.make_node("Concat", [f"b{i}" for i in range(count)], ["y"], axis=0, name="join"))
    return nodes, "y", [count * SHAPE[0], SHAPE[1]]


def join(count):
    return [helper.make_node("Concat", ["x"] * count, ["y"], axis=0, name="join")], "y", [count * SHAPE[0], SHAPE[1]]


MODELS = {
    "chain10k": (chain, 10_000),
    "chain100k": (chain, 100_000),
    "residual10k": (residuals, 10_000),
    "residual100k": (residuals, 100_000),
    "hub10k": (hub, 10_000),
    "concat50k": (join, 50_000),
}


def measure(command, path, limit):
    """ms to compile and us to infer; None where it takes too long."""
    worker = Worker(command)
    try:
        compiled = float(worker.ask(f"load {path} 1" + ("" if "onnxruntime" in command[-1] else " f32 latency"), limit).split()[1])
        worker.ask("infer 1", limit)
        inferred = min(worker.ns("infer", 1) for _ in range(7))
        worker.close()
    except (RuntimeError, ValueError, BrokenPipeError):
        worker.process.kill()
        return None
    return compiled, inferred / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-docs", action="store_true")
    parser.add_argument("--limit", type=float, default=120, help="seconds for one compilation")
    options = parser.parse_args()
    commands = {"tenon": [str(options.build / "peers/cpu_worker_tenon")]}
    if (options.build / "peers/cpu_worker_openvino").exists():
        commands["openvino"] = [str(options.build / "peers/cpu_worker_openvino")]
    commands["onnxruntime"] = [sys.executable, str(HERE / "onnxruntime_worker.py")]
    rows = []
    with tempfile.TemporaryDirectory(prefix="tenon_graphs_") as folder:
        for name in options.models.split(","):
            make, count = MODELS[name]
            path = save(pathlib.Path(folder), name, *make(count))
            results = {peer: [] for peer in commands}
            for _ in range(options.rounds):
                for peer, command in commands.items():
                    # What took too long once is not tried again.
                    if None not in results[peer]:
                        results[peer].append(measure(command, path, options.limit))
            row = [name]
            for way in (0, 1):
                for found in results.values():
                    if None in found:
                        row.append(f"more than {options.limit:.0f} s" if way == 0 else "")
                        continue
                    middle = statistics.median(result[way] for result in found)
                    row.append(f"{middle / 1e3:.3f} s" if way == 0 else f"{middle / 1e3:.2f} ms ({middle / count * 1e3:.0f} ns)")
            rows.append(row)
            print(f"{name}: done", file=sys.stderr)
    processor = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo", encoding="utf-8") if line.startswith("model name")), platform.machine())
    title = (f"{datetime.date.today()}, {os.cpu_count()} cores of an {processor}, load {os.getloadavg()[0]:.1f} after; one thread; read and compile, and one "
             f"inference (per node); medians of {options.rounds} rounds, at most {options.limit:.0f} s for a compilation; `./dev bench graphs` makes this table.")
    head = ["model"] + [f"{NAMES[peer]}: compile" for peer in commands] + [f"{NAMES[peer]}: infer" for peer in commands]
    text = "\n".join([title, "", *table(head, rows)])
    print(text)
    if not options.no_docs and options.models == ",".join(MODELS):
        peers.write_table("graphs", text)


if __name__ == "__main__":
    main()
