# SPDX-License-Identifier: Apache-2.0
"""The CPU device beside OpenVINO and ONNX Runtime: models of the zoo, and what single calls cost."""
import pathlib
import statistics
import subprocess
import sys
import threading
import time

import agreement
import stats

HERE = pathlib.Path(__file__).resolve().parent
MODELS = ["resnet50", "mobilenetv2", "yolo", "unet", "vit", "bert"]
AIMS = {"openvino": 0.95, "onnxruntime": 1.0}
NAMES = {"tenon": "Tenon", "openvino": "OpenVINO", "onnxruntime": "ONNX Runtime"}
CALLS = {"infer": "one inference of 16 floats (1 thread), infer()", "async": "the same, start_async() + wait()",
         "set": "set_tensor, in turn with 4 tensors set before", "set_infer": "the same, and the infer() that uses it"}
THREADS = 2


class Worker:
    """A process behind cpu_worker.cpp's line protocol."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line, timeout=180):
        watchdog = threading.Timer(timeout, self.process.kill)
        watchdog.start()
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().strip()
        finally:
            watchdog.cancel()
        if not answer or answer.startswith("error"):
            raise RuntimeError(f"{self.process.args[0]}: \"{line}\": {answer or 'no answer'}")
        return answer

    def ns(self, verb, count):
        return int(self.ask(f"{verb} {count}")) / count

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)


def workers(build, say):
    found = {}
    for name in ("tenon", "openvino"):
        path = build / f"peers/cpu_worker_{name}"
        if path.exists():
            found[name] = Worker([str(path)])
        else:
            say(f"cpu: left out: {path.name} was not built")
    if "tenon" not in found:
        raise SystemExit("cpu: nothing to compare: build the target tenon_peers first")
    try:
        import onnxruntime  # noqa: F401  pylint: disable=import-outside-toplevel,unused-import
        found["onnxruntime"] = Worker([sys.executable, str(HERE / "onnxruntime_worker.py")])
    except ImportError:
        say("cpu: left out: no Python package onnxruntime")
    return found


def agree(model, team):
    """All outputs in f32, compared with Tenon's."""
    found = {name: agreement.outputs_of(worker) for name, worker in team.items()}
    for name, outputs in found.items():
        agreement.check(f"cpu: {model}", name, outputs, found["tenon"], 0.9999, 1e-2)


def calls_in(worker, verb, seconds):
    """The number of calls that fill that time; a few calls alone would be measured cold."""
    count, ns = 1, worker.ns(verb, 2)
    while count * ns < seconds * 1e9 / 4:
        count *= 4
        ns = worker.ns(verb, count)
    return max(1, int(seconds * 1e9 / ns))


def rounds_of(team, verb, rounds, seconds):
    """ns per call, by name and round. The order changes from round to round; each has one warm-up call."""
    counts = {name: calls_in(worker, verb, seconds) for name, worker in team.items()}
    times, names = {name: [] for name in team}, list(team)
    for turn in range(rounds):
        for name in names[turn % len(names):] + names[: turn % len(names)]:
            time.sleep(0.01)  # Until the spinning threads of the previous one have stopped.
            team[name].ns(verb, max(1, counts[name] // 20))
            times[name].append(team[name].ns(verb, counts[name]))
    return times


def summary(times):
    return {
        "ns": {name: statistics.median(values) for name, values in times.items()},
        "ratio": {name: stats.ratio(values, times["tenon"]) for name, values in times.items() if name != "tenon"},
    }


def measure_models(build, zoo, rounds, say, models):
    team, found = workers(build, say), {}
    for model in models:
        path = zoo / f"{model}.onnx"
        compile_ms = {name: float(worker.ask(f"load {path} {THREADS}").split()[1]) for name, worker in team.items()}
        agree(model, team)
        found[model] = summary(rounds_of(team, "infer", rounds, 0.25)) | {"compile_ms": compile_ms}
        say(f"cpu: {model}: " + ", ".join(f"{name} {ns / 1e6:.2f} ms" for name, ns in found[model]["ns"].items()) + "; "
            + ", ".join(f"against {name} {stats.shown(r)}" for name, r in found[model]["ratio"].items()))
    for worker in team.values():
        worker.close()
    return found


def measure_calls(build, zoo, rounds, say):
    team, found = workers(build, say), {}
    if "onnxruntime" in team:
        team.pop("onnxruntime").close()  # Its Python binding would be measured.
    for worker in team.values():
        worker.ask(f"load {zoo / 'relu1.onnx'} 1")  # The best for both: there is nothing to parallelise.
    agree("relu1", team)
    for verb in CALLS:
        found[verb] = summary(rounds_of(team, verb, rounds, 0.05))
        say(f"cpu: {verb}: " + ", ".join(f"{name} {ns:.0f} ns" for name, ns in found[verb]["ns"].items()) + "; "
            + ", ".join(f"against {name} {stats.shown(r)}" for name, r in found[verb]["ratio"].items()))
    for worker in team.values():
        worker.close()
    return found


def model_rows(found):
    peers = [name for name in AIMS if any(name in entry["ratio"] for entry in found.values())]
    head = ["f32, batch 1, 2 threads", "Tenon"] + [NAMES[p] for p in peers] + [f"Tenon's speed / {NAMES[p]}'s" for p in peers]
    body = [[model, f"{entry['ns']['tenon'] / 1e6:.2f} ms"] + [f"{entry['ns'][p] / 1e6:.2f} ms" for p in peers]
            + [stats.shown(entry["ratio"][p]) for p in peers] for model, entry in found.items()]
    means = []
    for peer in peers:
        mean = stats.geometric_mean([entry["ratio"][peer]["median"] for entry in found.values()])
        means.append(f"{mean:.2f}, aim {AIMS[peer]}" + ("" if mean >= AIMS[peer] else ", missed"))
    return stats.table(head, body + [["geometric mean", ""] + [""] * len(peers) + means])


def call_rows(found):
    if not any(entry["ratio"] for entry in found.values()):
        return []
    head = ["one call", "Tenon", "OpenVINO", "Tenon's speed / OpenVINO's"]
    body = [[CALLS[verb], f"{entry['ns']['tenon']:.0f} ns", f"{entry['ns']['openvino']:.0f} ns",
             stats.shown(entry["ratio"]["openvino"], 1.0) + ", aim 1.0"] for verb, entry in found.items()]
    return stats.table(head, body)
