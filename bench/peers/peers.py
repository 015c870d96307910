#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures Tenon beside its peers, paired and interleaved, and writes tables into docs/benchmarks.md. Started by ./dev bench peers.

usage: peers.py --build build/release [--only demo|models|calls]... [--rounds N] [--models resnet50,...] [--no-docs]

What is missing (a program that was not built, a package) is said and left out. Parts that are not measured now keep their last
figures, with their date, from out/peers/peers.json.
"""
import argparse
import datetime
import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys

import cpu_peers
import demo_peers

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = ("demo", "models", "calls")


def say(text):
    print(text, flush=True)


def machine():
    names = re.findall(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text()) or ["unknown CPU"]
    packed = pathlib.Path(__file__).resolve().parent / "versions.json"  # Of what pack.py brought along.
    known = json.loads(packed.read_text()) if packed.exists() else {}
    for package in ("openvino", "onnxruntime"):
        try:
            known.setdefault(package, importlib.metadata.version(package))
        except importlib.metadata.PackageNotFoundError:
            pass
    versions = [f"{package} {version}" for package, version in known.items()]
    cores = len(os.sched_getaffinity(0))
    return {"cpu": names[0], "cores": cores, "load": os.getloadavg()[0], "date": str(datetime.date.today()), "versions": ", ".join(versions)}


def write_table(name, text):
    # Imported here: where pack.py's archive is unpacked there are no docs to write to.
    sys.path.insert(0, str(ROOT / "scripts"))
    import tables
    tables.write(name, text)


def zoo(build, names):
    folder = build / "zoo"
    made = subprocess.run([sys.executable, str(ROOT / "models/zoo/generate.py"), "--out", str(folder), "--missing", "--onnx-only", *names],
                          check=False)
    if made.returncode != 0:
        raise SystemExit("cpu: the models cannot be generated (see above): ./dev setup test installs what that needs")
    return folder


def measured(part, build, options):
    if part == "demo":
        return demo_peers.measure(build, ROOT, options.rounds or 5, say)
    if part == "models":
        return cpu_peers.measure_models(build, zoo(build, options.models), options.rounds or 15, say, options.models)
    return cpu_peers.measure_calls(build, zoo(build, ["relu1"]), options.rounds or 31, say)


def text_of(result):
    lines = []
    for part in PARTS:
        if part not in result:
            continue
        on = result[part]["machine"]
        lines += [f"{on['date']}, {on['cores']} cores of an {on['cpu']}, load {on['load']:.1f} before; {on['versions']}.", ""]
        found = result[part]["found"]
        lines += {"demo": demo_peers.rows, "models": cpu_peers.model_rows, "calls": cpu_peers.call_rows}[part](found) + [""]
    return "\n".join(lines).rstrip()


def main():
    parser = argparse.ArgumentParser(description="Tenon beside its peers.")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--only", action="append", choices=PARTS)
    parser.add_argument("--rounds", type=int, default=0, help="0: 5 of the demo, 15 of models, 31 of calls")
    parser.add_argument("--models", type=lambda text: text.split(","), default=cpu_peers.MODELS)
    parser.add_argument("--no-docs", action="store_true")
    options = parser.parse_args()
    build = options.build.resolve()
    # The same processors for everybody, and as many as there are threads.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: cpu_peers.THREADS])
    store = ROOT / "out/peers/peers.json"
    store.parent.mkdir(parents=True, exist_ok=True)
    result = json.loads(store.read_text()) if store.exists() else {}
    failures = []
    for part in options.only or PARTS:
        here = machine()
        try:
            found = measured(part, build, options)
        except (SystemExit, RuntimeError, subprocess.SubprocessError) as error:
            failures.append(part)
            say(f"{part}: not measured: {error}")
            continue
        result[part] = {"machine": here, "found": found}
        store.write_text(json.dumps(result, indent=1))
    text = text_of(result)
    print("\n" + text)
    if not options.no_docs:
        write_table("peers", text)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
