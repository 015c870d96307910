#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""First inference latency, each in a fresh process: first.py --program FIRST_INFERENCE --zoo DIR [--models a,b] [--rounds N] [--no-docs].

FEIL (first ever): compile the model and infer once. FIL: the same, once the compiled model lies in the cache. Rows are
cold (no cache), the compilation that writes the cache, and loads through it in both cache modes; rounds take turns. The
CPU device has no cache of its own below CACHE_DIR (a GPU's or NPU's driver would), so that there is no row for one.
Prints a Markdown table of medians, with the processor time of loading beside the wall time, and writes it into
docs/benchmarks.md when all models were measured.
"""
import argparse
import datetime
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import matrix  # noqa: E402
import tables  # noqa: E402

MODELS = "resnet50,mobilenetv2,vit"


def run(program, model, device, *more):
    done = subprocess.run([program, model, device, *more], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def median(results, key):
    return statistics.median(result[key] for result in results)


def measure(options, model, folder):
    """Results by way: cold, writing, speed, size."""
    ways = {"cold": [], "writing": [], "speed": [], "size": []}
    bytes_of = {}
    for _ in range(options.rounds):
        ways["cold"].append(run(options.program, model, options.device))
        for way, mode in (("speed", "OPTIMIZE_SPEED"), ("size", "OPTIMIZE_SIZE")):
            cache = folder / way
            shutil.rmtree(cache, ignore_errors=True)
            written = run(options.program, model, options.device, str(cache), mode)
            assert not written["from_cache"], "the cache was empty"
            if way == "speed":
                ways["writing"].append(written)
            loaded = run(options.program, model, options.device, str(cache), mode)
            assert loaded["from_cache"], "the second process must find the entry"
            ways[way].append(loaded)
            bytes_of[way] = sum(path.stat().st_size for path in cache.iterdir())
    return ways, bytes_of


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--zoo", type=Path, required=True)
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--format", default="onnx", choices=("onnx", "xml"))
    parser.add_argument("--device", default="CPU")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--no-docs", action="store_true")
    options = parser.parse_args()
    lines = [f"{datetime.date.today()}, {matrix.machine()}, load {os.getloadavg()[0]:.1f} before; {options.device}, medians of {options.rounds} fresh "
             "processes; `load / cold` is of processor time, paired; `./dev bench first` makes this table.", ""]
    lines.append("| model | way | load, ms | its processor time, ms | load and first inference, ms | peak memory, MB | entry, MB | load / cold |")
    lines.append("|---|---|---|---|---|---|---|---|")
    everything = {}
    with tempfile.TemporaryDirectory(prefix="tenon_first_") as temporary:
        for name in options.models.split(","):
            model = str(options.zoo / f"{name}.{options.format}")
            ways, sizes = measure(options, model, Path(temporary))
            everything[name] = {"ways": ways, "bytes": sizes}
            labels = {
                "cold": "FEIL: no cache",
                "writing": "FEIL: writing the cache",
                "speed": "FIL: OPTIMIZE_SPEED",
                "size": "FIL: OPTIMIZE_SIZE",
            }
            for way, label in labels.items():
                ratio = statistics.median(
                    b["load_cpu_ms"] / a["load_cpu_ms"] for a, b in zip(ways["cold"], ways[way])
                )
                entry = f"{sizes[way] / 1e6:.2f}" if way in sizes else ""
                lines.append(
                    f"| {name} | {label} | {median(ways[way], 'load_ms'):.1f} | {median(ways[way], 'load_cpu_ms'):.1f} "
                    f"| {median(ways[way], 'first_ms'):.1f} | {median(ways[way], 'peak_kb') / 1024:.0f} | {entry} | {ratio:.2f} |"
                )
    print("\n".join(lines))
    if not options.no_docs and options.models == MODELS:
        tables.write("first", "\n".join(lines))
    if options.json:
        options.json.write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
