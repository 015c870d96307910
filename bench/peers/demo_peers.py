# SPDX-License-Identifier: Apache-2.0
"""The demo on Tenon, by the tool and by a program, beside the naive and the tuned program on OpenVINO."""
import json
import pathlib
import re
import statistics
import subprocess
import tempfile

import stats

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = {
    "tenon": "Tenon (tenon.cpp)",
    "tool": "Tenon's tool (`tenon run`, which computes in bf16 here; the others in f32)",
    "naive": "OpenCV + OpenVINO, synchronous (naive.cpp)",
    "tuned": "libavcodec + OpenVINO, wrapped planes, requests in flight (tuned.cpp)",
}
AIMS = {"naive": 1.3, "tuned": 1.0}
# Decoders copy bits of their input and of pictures at edges, all alike: we count what happens to whole pictures afterwards.
DECODER = re.compile(r"libav(codec|format)\.so")
MODEL = re.compile(r"libopenvino|libtenon_device|libdnnl|libtenon_cpu")


def lines_of_code(path):
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith("//"))


class Demo:
    def __init__(self, build, root):
        self.build, self.root = build, root
        self.inputs = [str(root / "models/demo.mp4"), str(root / "models/demo.onnx")]

    def missing(self, name):
        path = self.build / ("bin/tenon" if name == "tool" else f"peers/demo_{name}")
        return None if path.exists() else f"{path.name} was not built"

    def run(self, name, *more, preload=None):
        """The program's output: its last line's words as a dictionary, and the lines before."""
        if name == "tool":
            return self.run_tool(), []
        environment = {"LD_PRELOAD": str(preload)} if preload else {}
        command = ["env", *(f"{k}={v}" for k, v in environment.items()), str(self.build / f"peers/demo_{name}")]
        done = subprocess.run(command + self.inputs + list(more), capture_output=True, text=True, timeout=900, check=True)
        lines = done.stdout.splitlines()
        words = next(line for line in lines if line.startswith("frames")).split()
        return dict(zip(words[::2], map(float, words[1::2]))), lines

    def run_tool(self, *more):
        with tempfile.NamedTemporaryFile(suffix=".json") as report:
            command = [str(self.build / "bin/tenon"), "run", self.inputs[0], "-m", self.inputs[1], "--no-compare", "-q"]
            subprocess.run(command + ["--report", report.name, *more], capture_output=True, timeout=900, check=True)
            found = json.loads(pathlib.Path(report.name).read_text())
        result = {"frames": found["frames"], "seconds": found["seconds"], "detections": found["detections"]}
        if more:
            result["map50"] = found["map50"]
        return result

    def judged(self, name):
        truth = str(self.root / "models/demo.json")
        return self.run_tool("--ground-truth", truth) if name == "tool" else self.run(name, truth)[0]

    def copied(self, name):
        """Bytes per frame through memcpy and similar functions: before the model, and in the library that runs it."""
        counter = self.build / "peers/libtenon_copy_count.so"
        if name == "tool" or not counter.exists():
            return None
        result, lines = self.run(name, preload=counter)
        before = inside = 0
        for line in lines:
            if not line.startswith("copied"):
                continue
            _, size, _, library = line.split(maxsplit=3)
            inside += int(size) if MODEL.search(library) else 0
            before += 0 if MODEL.search(library) or DECODER.search(library) else int(size)
        return {"before_model": before / result["frames"], "in_model": inside / result["frames"]}


def measure(build, root, rounds, say):
    demo, found, names = Demo(build, root), {}, []
    for name in PROGRAMS:
        if reason := demo.missing(name):
            say(f"demo: left out: {reason}")
        else:
            names.append(name)
    for name in names:
        judged = demo.judged(name)
        say(f"demo: {name}: mAP@0.5 {judged['map50']:.4f} on {judged['frames']:.0f} frames")
        found[name] = {"map50": judged["map50"], "copied": demo.copied(name), "seconds": [], "processor": []}
        source = HERE / f"{name}.cpp"
        found[name]["lines"] = lines_of_code(source) if source.exists() else None
    for turn in range(rounds):
        for name in names[turn % len(names):] + names[: turn % len(names)]:
            result, _ = demo.run(name)
            found[name]["seconds"].append(result["seconds"])
            if "processor" in result:
                found[name]["processor"].append(result["processor"])
            found[name]["frames"] = result["frames"]
            found[name]["detections"] = result["detections"]
            say(f"demo: round {turn + 1} of {rounds}: {name} {result['frames'] / result['seconds']:.1f} frames/s")
    best = [found[name]["map50"] for name in names]
    if names and max(best) - min(best) > 0.01:
        raise SystemExit(f"demo: the programs do not find the same: mAP {best}")
    for name in names:
        if name != "tenon" and "tenon" in found:
            found[name]["ratio"] = stats.ratio(found[name]["seconds"], found["tenon"]["seconds"])
    return found


def rows(found):
    head = ["the demo, 1280x720 h264", "frames/s", "Tenon is faster by", "processor time per frame", "copied per frame before the model", "in the model's library",
            "mAP@0.5", "lines of code"]
    body = []
    for name, title in PROGRAMS.items():
        if name not in found:
            continue
        entry = found[name]
        copied = entry.get("copied")
        aim = AIMS.get(name)
        body.append([
            title,
            f"{entry['frames'] / statistics.median(entry['seconds']):.1f}",
            stats.shown(entry["ratio"], aim) + (f", aim {aim}" if aim else "") if "ratio" in entry else "",
            f"{statistics.median(entry['processor']) / entry['frames'] * 1e3:.1f} ms" if entry["processor"] else "",
            stats.bytes_shown(copied["before_model"]) if copied else "",
            stats.bytes_shown(copied["in_model"]) if copied else "",
            f"{entry['map50']:.4f}",
            str(entry["lines"] or ""),
        ])
    return stats.table(head, body)
