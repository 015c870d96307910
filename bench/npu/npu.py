#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The software NPU beside the CPU device, and Tenon's NPU device beside OpenVINO's NPU plugin on the same driver.

usage: npu.py --build build/release --zoo DIR [--models a,b] [--only latency|set|turbo|compile]... [--rounds N] [--no-docs]

All take turns on the same cores with the same number of threads (NPU_TILES on the NPU), one inference in flight; a ratio is
the median over rounds of pairs measured at the same time, with its quartiles. Started by ./dev bench npu.
"""
import argparse
import datetime
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/peers"))
import agreement  # noqa: E402
import cpu_peers  # noqa: E402
import peers  # noqa: E402
import stats  # noqa: E402

PARTS = ("latency", "set", "turbo", "compile")
PAUSES_US = (20, 500)
THREADS = 2
LARGE = ["resnet50", "yolo", "unet", "vit_b16"]
MODELS = ["relu1", "mobilenetv2"] + LARGE
# What the software NPU may cost beside the CPU device, which computes the same: a share of the time, or time where an inference takes less than this.
LEAST_NS, SHARE, COST_NS = 1e6, 0.03, 300
# Speed, NPU device / CPU device, of an inference that takes next to no time.
SMALL_AIM = 0.9
# The NPU plugins have no threads setting; ours and theirs get the same NPU_TILES. OpenVINO's refuses f32, so beside it both leave
# the precision to the driver's compiler, which takes bf16 if that is accurate enough; beside the CPU device ours is set to f32.
TEAM = {"cpu": ("tenon", "CPU", "f32"), "npu_f32": ("tenon", "NPU", "f32"), "npu": ("tenon", "NPU", "own"),
        "ov_cpu": ("openvino", "CPU", "f32"), "ov_npu": ("openvino", "NPU", "own")}
NAMES = {"cpu": "CPU device", "npu_f32": "NPU device in f32", "npu": "NPU device", "ov_cpu": "OpenVINO's CPU plugin",
         "ov_npu": "OpenVINO's NPU plugin"}


# The least cosine of an output, and the largest difference relative to its channel.
F32, OWN_PRECISION = (0.9999, 1e-2), (0.999, 0.1)


def say(text):
    print(text, flush=True)


def with_npu(build, command):
    return [str(build / "bin/tenon"), "npu-env", "--", *command]


def team_of(build, members):
    team = {}
    for member in members:
        program, device, _ = TEAM[member]
        path = build / f"peers/cpu_worker_{program}"
        if not path.exists():
            say(f"npu: left out: {NAMES[member]}: {path.name} was not built")
            continue
        team[member] = cpu_peers.Worker(with_npu(build, [str(path)]))
        team[member].ask(f"device {device}")
    return team


def close(team):
    for worker in team.values():
        worker.close()


def agree(model, team):
    """All outputs, compared with the CPU device's: in f32, or in the precision that the driver's compiler chose."""
    found = {name: agreement.outputs_of(worker) for name, worker in team.items()}
    for name, outputs in found.items():
        agreement.check(f"npu: {model}", NAMES[name], outputs, found["cpu"], *(OWN_PRECISION if TEAM[name][2] == "own" else F32))


def cost_of(times):
    """What an inference on the software NPU takes more than on the CPU device, in ns, and as a share: the median over rounds, and the quartiles."""
    pairs = list(zip(times["cpu"], times["npu_f32"]))
    found = {}
    for what, each in (("ns", [ours - theirs for theirs, ours in pairs]), ("share", [ours / theirs - 1 for theirs, ours in pairs])):
        low, middle, high = statistics.quantiles(each, n=4) if len(each) > 1 else each * 3
        found[what] = {"median": middle, "low": low, "high": high}
    return found


def ratios(times):
    pairs = {"npu_f32 against cpu": ("cpu", "npu_f32"), "npu against ov_npu": ("ov_npu", "npu"), "ov_npu against ov_cpu": ("ov_cpu", "ov_npu"),
             "npu against ov_cpu": ("ov_cpu", "npu")}
    return {name: stats.ratio(times[theirs], times[ours]) for name, (theirs, ours) in pairs.items() if theirs in times and ours in times}


def measure_latency(build, zoo, models, rounds):
    found = {}
    team = team_of(build, TEAM)
    for model in models:
        threads = 1 if model == "relu1" else THREADS
        compile_ms = {name: float(worker.ask(f"load {zoo / model}.onnx {threads} {TEAM[name][2]}").split()[1]) for name, worker in team.items()}
        agree(model, team)
        for verb, row in (("infer", model), ("async", f"{model}, asynchronous")):
            if verb == "async" and model != "relu1":
                continue
            times = cpu_peers.rounds_of(team, verb, rounds, 0.05 if model == "relu1" else 0.3)
            found[row] = {"ns": {name: statistics.median(values) for name, values in times.items()}, "ratio": ratios(times), "cost": cost_of(times),
                          "compile_ms": compile_ms}
            say(f"npu: {row}: " + ", ".join(f"{NAMES[n]} {ns / 1e6:.6f} ms" for n, ns in found[row]["ns"].items()) + "; "
                + ", ".join(f"{name} {stats.shown(r)}" for name, r in found[row]["ratio"].items()) + f"; cost {cost_shown(found[row])}")
    close(team)
    return found


def measure_set(build, zoo, rounds):
    """set_tensor in turn with four buffers that were set before, in ordinary memory and in the device's host memory; alone, and with
    the inference that may have to do the work it deferred."""
    found = {}
    for memory in ("plain", "host"):
        team = team_of(build, ("npu", "ov_npu", "ov_cpu"))
        for name, worker in team.items():
            worker.ask(f"memory {memory if name != 'ov_cpu' else 'plain'}")
            worker.ask(f"load {zoo / 'relu1.onnx'} 1 {TEAM[name][2]}")
            worker.ask("set 8")
        for verb, what in (("set", f"{memory} memory"), ("set_infer", f"{memory} memory, and infer()")):
            times = cpu_peers.rounds_of(team, verb, rounds, 0.05)
            found[what] = {"ns": {name: statistics.median(values) for name, values in times.items()}, "ratio": ratios(times)}
            say(f"npu: set_tensor, {what}: " + ", ".join(f"{NAMES[n]} {ns:.0f} ns" for n, ns in found[what]["ns"].items()) + "; "
                + ", ".join(f"{name} {stats.shown(r)}" for name, r in found[what]["ratio"].items()))
        close(team)
    return found


def measure_turbo(build, rounds):
    """The effect of a queue's NPU_TURBO: a list that fills 1 MiB, from its submission after a pause to its fence."""
    done = subprocess.run(with_npu(build, [str(build / "bench/npu_submit_bench"), "--benchmark_filter=filled:1048576", "--benchmark_format=json",
                                           f"--benchmark_repetitions={rounds}", "--benchmark_enable_random_interleaving=true",
                                           "--benchmark_min_time=0.05"]),
                          capture_output=True, text=True, check=False, timeout=600)
    if done.returncode != 0:
        raise SystemExit(f"npu: npu_submit_bench: {done.stderr.strip()}")
    runs = [run for run in json.loads(done.stdout)["benchmarks"] if run["run_type"] == "iteration"]
    found = {}
    for pause in PAUSES_US:
        times = {turbo: [run["real_time"] for run in runs if f"/pause_us:{pause}/turbo:{turbo}/" in run["name"]] for turbo in (0, 1)}
        found[pause] = {"us": {turbo: statistics.median(values) for turbo, values in times.items()}, "ratio": stats.ratio(times[0], times[1])}
        say(f"npu: a submission {pause} us after the last: {found[pause]['us'][0]:.1f} us, with turbo {found[pause]['us'][1]:.1f} us")
    return found


def first(build, program, model, home, *words):
    """One fresh process; the driver's own cache lies below `home`."""
    command = with_npu(build, [str(build / f"peers/{program}"), model, "NPU", *words, f"NPU_TILES={THREADS}"])
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300,
                          env=os.environ | {"TENON_NPU_CACHE_DIR": str(home / "driver")})
    if done.returncode != 0:
        raise SystemExit(f"npu: {' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def measure_compile(build, zoo, models, rounds):
    """From the file to the first result in fresh processes: no cache (FEIL), through the driver's cache, through cache_dir (FIL)."""
    found = {}
    programs = {"npu": "first_inference", "ov_npu": "first_inference_openvino"}
    programs = {name: program for name, program in programs.items() if (build / f"peers/{program}").exists()}
    for model in models:
        ways = {name: {"cold": [], "driver": [], "cache_dir": []} for name in programs}
        for _ in range(rounds):
            for name, program in programs.items():
                with tempfile.TemporaryDirectory(prefix="tenon_npu_") as folder:
                    home, path = pathlib.Path(folder), str(zoo / f"{model}.onnx")
                    ways[name]["cold"].append(first(build, program, path, home, "NPU_BYPASS_UMD_CACHING=YES"))
                    first(build, program, path, home)
                    ways[name]["driver"].append(first(build, program, path, home))
                    first(build, program, path, home, str(home / "blobs"))
                    ways[name]["cache_dir"].append(first(build, program, path, home, str(home / "blobs")))
                    shutil.rmtree(home / "blobs", ignore_errors=True)
        found[model] = {"ways": ways}
        for name, each in ways.items():
            say(f"npu: {model}, {NAMES[name]}: " + ", ".join(
                f"{way} {statistics.median(r['load_ms'] for r in results):.1f} ms to load, {statistics.median(r['first_ms'] for r in results):.1f} ms to the first result"
                for way, results in each.items()))
    return found


def of_way(ways, name, way, key):
    return [result[key] for result in ways[name][way]]


def time_shown(ns):
    return f"{ns:.0f} ns" if ns < 1e5 else f"{ns / 1e6:.3f} ms"


def cost_shown(entry):
    """'1.2 % (0.8 to 2.0), aim 3 %', or in ns for what takes next to no time."""
    is_large = entry["ns"]["cpu"] >= LEAST_NS
    cost, unit, aim, scale = (entry["cost"]["share"], "%", 100 * SHARE, 100) if is_large else (entry["cost"]["ns"], "ns", COST_NS, 1)
    digits = 1 if is_large else 0
    low, middle, high = (scale * cost[name] for name in ("low", "median", "high"))
    return f"{middle:.{digits}f} {unit} ({low:.{digits}f} to {high:.{digits}f}){', missed' if middle > aim else ''}, aim {aim:.0f} {unit}"


def latency_rows(found):
    head = ["one inference in flight", "CPU device, f32", "NPU device, f32", "NPU device, the compiler's precision", "OpenVINO's NPU plugin, the same",
            "NPU device / CPU device in f32, speed", "what the NPU device takes more, in f32", "NPU device / OpenVINO's plugin, speed"]
    body = []
    for model, entry in found.items():
        aim = SMALL_AIM if entry["ns"]["cpu"] < LEAST_NS else None
        times = [time_shown(entry["ns"][n]) if n in entry["ns"] else "" for n in ("cpu", "npu_f32", "npu", "ov_npu")]
        body.append([model, *times, stats.shown(entry["ratio"]["npu_f32 against cpu"], aim) + (f", aim {aim}" if aim else ""), cost_shown(entry),
                     stats.shown(entry["ratio"]["npu against ov_npu"], 1.0) + ", aim 1.0" if "npu against ov_npu" in entry["ratio"] else ""])
    return stats.table(head, body)


def set_rows(found):
    head = ["set_tensor, in turn with 4 tensors set before", "NPU device", "OpenVINO's NPU plugin", "OpenVINO's CPU plugin",
            "NPU device / OpenVINO's CPU plugin, speed"]
    body = [[what] + [f"{entry['ns'][n]:.0f} ns" if n in entry["ns"] else "" for n in ("npu", "ov_npu", "ov_cpu")]
            + [stats.shown(entry["ratio"]["npu against ov_cpu"], 1.0) + ", aim 1.0" if "npu against ov_cpu" in entry["ratio"] else ""]
            for what, entry in found.items()]
    return stats.table(head, body)


def turbo_rows(found):
    head = ["a list that fills 1 MiB, from its submission to its fence", "queue", "queue with NPU_TURBO", "turbo / none, speed"]
    return stats.table(head, [[f"{pause} us after the one before", f"{entry['us'][0]:.1f} us", f"{entry['us'][1]:.1f} us", stats.shown(entry["ratio"])]
                              for pause, entry in found.items()])


def compile_rows(found):
    head = ["from the file, a fresh process each", "no cache (FEIL)", "driver's cache (FIL)", "cache_dir (FIL)", "load, driver's cache / no cache",
            "load, cache_dir / no cache", "load / OpenVINO's plugin, speed", "first result / OpenVINO's plugin, speed"]
    body = []
    for model, entry in found.items():
        ways = entry["ways"]
        row = [model] + [f"{statistics.median(of_way(ways, 'npu', w, 'first_ms')):.1f} ms" for w in ("cold", "driver", "cache_dir")]
        for way in ("driver", "cache_dir"):
            share = statistics.median(a / b for a, b in zip(of_way(ways, "npu", way, "load_ms"), of_way(ways, "npu", "cold", "load_ms")))
            row.append(f"{share:.2f}" + (", aim 0.2" if share <= 0.2 else ", missed, aim 0.2"))
        for key in ("load_ms", "first_ms"):
            row.append(stats.shown(stats.ratio(of_way(ways, "ov_npu", "cold", key), of_way(ways, "npu", "cold", key)), 1.0) + ", aim 1.0"
                       if "ov_npu" in ways else "")
        body.append(row)
    return stats.table(head, body)


def report(found):
    load = os.getloadavg()[0]
    lines = [f"{datetime.date.today()}, {os.cpu_count()} cores of an {peers.machine()['cpu']}, load {load:.1f} after; {THREADS} threads (relu1: 1); `./dev bench npu` makes these tables."]
    for part, rows in (("latency", latency_rows), ("set", set_rows), ("turbo", turbo_rows),
                       ("compile", compile_rows)):
        if part in found:
            lines += ["", *rows(found[part])]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--zoo", type=pathlib.Path, required=True)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--only", action="append", choices=PARTS)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--no-docs", action="store_true")
    options = parser.parse_args()
    build, zoo, models = options.build.resolve(), options.zoo.resolve(), options.models.split(",")
    found, parts = {}, options.only or PARTS
    if "latency" in parts:
        found["latency"] = measure_latency(build, zoo, models, options.rounds)
    if "set" in parts:
        found["set"] = measure_set(build, zoo, options.rounds)
    if "turbo" in parts:
        found["turbo"] = measure_turbo(build, options.rounds)
    if "compile" in parts:
        found["compile"] = measure_compile(build, zoo, models, max(3, options.rounds // 3))
    out = ROOT / "out/npu"
    out.mkdir(parents=True, exist_ok=True)
    (out / "npu.json").write_text(json.dumps(found, indent=1))
    text = report(found)
    print(text)
    if not options.no_docs and not options.only:
        peers.write_table("npu", text)


if __name__ == "__main__":
    main()
