#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package beside OpenVINO's, PyAV, torchcodec and the tool: ./dev bench python [--rounds N] [--no-docs].

Each side is a process of its own; rounds take turns, and a ratio is the median of the rounds' ratios. A peer that is not installed in
build/venv, torchcodec in the interpreter of --torch, has no row. Prints a Markdown table and writes it into docs/guide/python_video.md.
"""
import argparse
import datetime
import importlib.util
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import matrix  # noqa: E402
import tables  # noqa: E402

# A measurement: what it is, the peer, the least ratio of speeds that is wanted.
ROWS = [
    ("call", "compiled(array)[0] of a tiny model", "openvino", 2.0),
    ("infer", "request.infer(array)[0] of it, the array copied", "openvino", 2.0),
    ("set_and_infer", "set_input_tensor and infer", "openvino", 2.0),
    ("queue", "AsyncInferQueue over the demo's model", "openvino", 1.1),
    ("frames_rgb", "frames of the demo's clip as RGB arrays", "pyav", 1.2),
    ("frames_yuv", "frames as decoded (yuv420p)", "pyav", 1.2),
    ("frames_rgb", "frames of the demo's clip as RGB arrays", "torchcodec", 1.2),
]
PEERS = {"openvino": "openvino", "pyav": "av"}


class Side:
    """A worker of bench/python/worker.py."""

    def __init__(self, name, options):
        python = options.torch if name == "torchcodec" else sys.executable
        env = dict(os.environ, PYTHONPATH=str(options.build / "python"), TENON_DEVICE_PATH=str(options.build / "lib"))
        self.process = subprocess.Popen([python, str(Path(__file__).with_name("worker.py")), name, str(options.clip), str(options.model), str(options.pipeline)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        assert self.process.stdout.readline() == "ready\n", f"{name}: the worker did not start"

    def measure(self, name):
        """Seconds per call, and those of all processors together."""
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"python.py: the worker ended in {name}")
        return tuple(float(part) for part in line.split())

    def close(self):
        """Ends the worker."""
        self.process.stdin.close()
        self.process.wait(30)


def is_there(peer, options):
    """Whether its interpreter has the package."""
    if peer == "torchcodec":
        return options.torch and subprocess.run([options.torch, "-c", "import torchcodec.decoders"], check=False, capture_output=True).returncode == 0
    return importlib.util.find_spec(PEERS[peer]) is not None


def shown(seconds):
    """A time in a suitable unit."""
    return f"{seconds * 1e6:.2f} us" if seconds < 1e-3 else f"{seconds * 1e3:.2f} ms"


def tool_seconds(options):
    """Seconds per frame of `tenon pipeline` over the same file, the process's start not counted."""
    begin = time.perf_counter()
    subprocess.run([options.build / "bin/tenon", "pipeline", "-q", options.pipeline], check=True, capture_output=True, env=dict(os.environ, TENON_DEVICE_PATH=str(options.build / "lib")))
    return (time.perf_counter() - begin) / options.frames


def import_seconds(options):
    """`import tenon` in a fresh process."""
    code = "import time; b = time.perf_counter(); import tenon; print(time.perf_counter() - b)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=dict(os.environ, PYTHONPATH=str(options.build / "python")))
    return float(done.stdout)


def main():
    """Measures all rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--clip", type=Path, default=ROOT / "models/demo.mp4")
    parser.add_argument("--model", type=Path, required=True, help="the demo's detector")
    parser.add_argument("--torch", help="an interpreter that has torch and torchcodec")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--no-docs", action="store_true")
    options = parser.parse_args()
    options.frames = 600
    options.pipeline = options.build / "python_bench.json"
    options.pipeline.write_text('{"nodes": [{"element": "file", "parameters": {"path": "%s"}}, {"element": "infer", "parameters": {"model": "%s", "device": "CPU"}}, {"element": "null"}]}'
                                % (options.clip, options.model))
    lines = ["| what | Tenon | beside it | Tenon is faster by | wanted |", "|---|---|---|---|---|"]
    tenon = Side("tenon", options)
    sides = {}
    for name, title, peer, wanted in ROWS:
        if not is_there(peer, options):
            continue
        if peer not in sides:
            sides[peer] = Side(peer, options)
        pairs = [(tenon.measure(name), sides[peer].measure(name)) for _ in range(options.rounds)]
        ratio = statistics.median(theirs[0] / ours[0] for ours, theirs in pairs)
        cells = [shown(statistics.median(pair[side][0] for pair in pairs)) +
                 (f", {shown(statistics.median(pair[side][1] for pair in pairs))} of processors" if name.startswith("frames") else "") for side in (0, 1)]
        lines.append(f"| {title} | {cells[0]} | {peer} {cells[1]} | {ratio:.2f} | {wanted} |")
    pairs = [(tenon.measure("pipeline")[0], tool_seconds(options)) for _ in range(max(3, options.rounds // 2))]
    ratio = statistics.median(theirs / ours for ours, theirs in pairs)
    lines.append(f"| a pipeline with the demo's model, per frame | {shown(statistics.median(p[0] for p in pairs))} | tenon pipeline {shown(statistics.median(p[1] for p in pairs))} | {ratio:.2f} | 0.97 |")
    lines.append(f"| from_dlpack, set_tensor and back | {shown(statistics.median(tenon.measure('from_dlpack')[0] for _ in range(options.rounds)))} | | | 2 us |")
    lines.append(f"| import tenon | {shown(statistics.median(import_seconds(options) for _ in range(options.rounds)))} | | | 150 ms |")
    for side in (tenon, *sides.values()):
        side.close()
    head = f"{datetime.date.today()}, {matrix.machine()}, load {os.getloadavg()[0]:.1f}; medians of {options.rounds} rounds that take turns; {sys.version.split()[0]}."
    text = head + "\n\n" + "\n".join(lines)
    print(text)
    if not options.no_docs:
        tables.write("python", text, ROOT / "docs/guide/python_video.md")


if __name__ == "__main__":
    main()
