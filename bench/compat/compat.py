#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compat/openvino (OpenVINO's API over Tenon) beside OpenVINO's wheel, and beside Tenon's own API.

usage: compat.py --build build/release --zoo DIR [--models a,b] [--only gpu|cpu|compile|models]... [--rounds N] [--no-docs]

The same sources are compiled for each, and the programs take turns in short rounds; a ratio is the median over rounds of pairs
measured at the same time, with its quartiles. OpenVINO's GPU plugin and Tenon's GPU device run on the same runtime, by `tenon
gpu-env`. Started by ./dev bench compat.
"""
import argparse
import datetime
import json
import os
import pathlib
import resource
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

PARTS = ("gpu", "cpu", "compile", "models")
TEAM = ("openvino", "compat", "tenon")
MODELS = ["relu1", "mobilenetv2", "resnet50"]
INTEL = ROOT / "build/venv/lib/libintelocl.so"
# Verbs of calls.cpp and their rows.
COPIES = {"copy_from": "copy_from, 4 MB of the host's", "copy_to": "copy_to, 4 MB to the host", "copy_remote": "copy_to, 4 MB from remote to remote"}
GPU = {"request": "create_infer_request", "async": "start_async + wait of 16 floats, on the program's queue", "create": "create_tensor over a buffer"}
CPU = {"set": "set_tensor by name", "set_port": "set_tensor by port", "infer": "infer of 16 floats", "async": "start_async + wait of 16 floats",
       "get": "get_tensor by name", "get_index": "get_output_tensor(0)", "create": "ov::Tensor(f32, {16})", "wrap": "ov::Tensor(f32, {16}, pointer)"}
COMPILE = {"-O0 -fsyntax-only": ["-O0", "-fsyntax-only"], "-O2 -c": ["-O2", "-c", "-o", os.devnull]}
MORE_NS, SPEED = 20, 1.0  # Aims: beside Tenon's own calls, and beside the original.


def say(text):
    print(text, flush=True)


def team_of(build, program, before=()):
    team = {}
    for name in TEAM:
        path = build / f"peers/{program}_{name}"
        if path.exists():
            team[name] = cpu_peers.Worker([*before, str(path)])
        else:
            say(f"compat: left out: {path.name} was not built")
    return team


def close(team):
    for worker in team.values():
        worker.close()


def compared(times):
    """Medians in ns; how much faster compat is than the original; how many ns more than Tenon's own call it takes."""
    found = {"ns": {name: statistics.median(values) for name, values in times.items()}}
    if "openvino" in times:
        found["ratio"] = stats.ratio(times["openvino"], times["compat"])
    if "tenon" in times:
        found["share"] = stats.ratio(times["tenon"], times["compat"])
        low, middle, high = statistics.quantiles((ours - own for own, ours in zip(times["tenon"], times["compat"])), n=4)
        found["more"] = {"median": middle, "low": low, "high": high}
    return found


def measure_calls(team, verbs, rounds, seconds, title):
    found = {}
    for verb, row in verbs.items():
        found[row] = compared(cpu_peers.rounds_of(team, verb, rounds, seconds))
        say(f"compat: {title}: {row}: " + ", ".join(f"{name} {ns:.0f} ns" for name, ns in found[row]["ns"].items()))
    return found


def measure_gpu(build, zoo, rounds, runtime):
    found = {}
    for memory, words in (("own", "the device's memory"), ("buffers", "the program's cl_mem")):
        team = team_of(build, "calls", [str(build / "bin/tenon"), "gpu-env", "--runtime", str(runtime), "--"])
        for worker in team.values():
            worker.ask(f"gpu {zoo / 'relu1.onnx'} {memory}")
        verbs = {verb: f"{row}, {words}" for verb, row in COPIES.items()}
        found |= measure_calls(team, verbs if memory == "own" else verbs | GPU, rounds, 0.1, "GPU")
        close(team)
    return found


def measure_cpu(build, zoo, rounds):
    team = team_of(build, "calls")
    for worker in team.values():
        worker.ask(f"cpu {zoo / 'relu1.onnx'}")
    found = measure_calls(team, CPU, rounds, 0.03, "CPU")
    close(team)
    return found


def compile_seconds(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, timeout=300)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_compile(build, runs):
    wheels = sorted((ROOT / "build/venv/lib").glob("python3*/site-packages/openvino/include"))
    includes = {"compat": ["-Dov=tenon_ov", f"-I{ROOT / 'compat/openvino/include'}", f"-I{build / 'generated/compat_openvino'}"]}
    if wheels:
        includes["openvino"] = ["-isystem", str(wheels[0])]
    else:
        say("compat: left out: no OpenVINO in build/venv")
    found = {}
    with tempfile.TemporaryDirectory(prefix="tenon_compat_") as folder:
        source = pathlib.Path(folder) / "program.cpp"
        source.write_text("#include <openvino/openvino.hpp>\n")
        for words, options in COMPILE.items():
            commands = {name: ["g++", "-std=c++17", *each, *options, str(source)] for name, each in includes.items()}
            for command in commands.values():
                compile_seconds(command)  # The files are read.
            times = {name: [] for name in commands}
            for turn in range(runs):
                for name in list(commands)[::-1 if turn % 2 else 1]:
                    times[name].append(compile_seconds(commands[name]))
            found[words] = {"s": {name: statistics.median(each) for name, each in times.items()}}
            if "openvino" in times:
                found[words]["share"] = stats.ratio(times["compat"], times["openvino"])
            say(f"compat: g++ {words}: " + ", ".join(f"{name} {s:.2f} s" for name, s in found[words]["s"].items()))
    return found


def measure_models(build, zoo, models, rounds):
    team, found = team_of(build, "cpu_worker"), {}
    for model in models:
        small = model == "relu1"
        for worker in team.values():
            worker.ask(f"load {zoo / model}.onnx {1 if small else cpu_peers.THREADS}")
        outputs = {name: agreement.outputs_of(worker) for name, worker in team.items()}
        for name in outputs:
            agreement.check(f"compat: {model}", name, outputs[name], outputs["tenon"], 0.9999, 1e-2)
        found[model] = compared(cpu_peers.rounds_of(team, "infer", rounds, 0.03 if small else 0.25))
        say(f"compat: {model}: " + ", ".join(f"{name} {ns / 1e6:.4f} ms" for name, ns in found[model]["ns"].items()))
    close(team)
    return found


def length(ns):
    return f"{ns:.0f} ns" if ns < 1e4 else f"{ns / 1e3:.1f} us" if ns < 1e6 else f"{ns / 1e6:.2f} ms"


def columns(entry):
    return [length(entry["ns"][name]) if name in entry["ns"] else "" for name in TEAM]


def speed(entry, key, aim):
    return stats.shown(entry[key], aim) + (f", aim {aim}" if aim else "") if key in entry else ""


def more(entry):
    if "more" not in entry:
        return ""
    each = entry["more"]
    text = f"{each['median']:.0f} ns ({each['low']:.0f} to {each['high']:.0f})"
    return text + (", missed" if each["median"] > MORE_NS else "") + f", aim {MORE_NS} ns"


def gpu_rows(found):
    head = ["GPU, on Intel's runtime for CPUs", "OpenVINO", "compat", "Tenon's own API", "compat / OpenVINO, speed"]
    return stats.table(head, [[row, *columns(entry), speed(entry, "ratio", SPEED)] for row, entry in found.items()])


def cpu_rows(found):
    head = ["CPU, one thread", "OpenVINO", "compat", "Tenon's own API", "compat / OpenVINO, speed", "compat more than Tenon's own API"]
    return stats.table(head, [[row, *columns(entry), speed(entry, "ratio", None), more(entry)] for row, entry in found.items()])


def compile_rows(found):
    head = ["`#include <openvino/openvino.hpp>`, C++17, processor time", "OpenVINO", "compat", "compat / OpenVINO, time"]
    body = []
    for words, entry in found.items():
        share = entry.get("share")
        body.append([f"g++ {words}", *(f"{entry['s'][name]:.2f} s" if name in entry["s"] else "" for name in TEAM[:2]),
                     stats.shown(share) + (", missed" if share["median"] > 1 else "") + ", aim 1.0" if share else ""])
    return stats.table(head, body)


def models_rows(found):
    head = ["CPU, 2 threads (relu1: 1), f32, batch 1", "OpenVINO", "compat", "Tenon's own API", "compat / Tenon's own API, speed",
            "compat / OpenVINO, speed"]
    body = [[model, *columns(entry), speed(entry, "share", None), speed(entry, "ratio", None)] for model, entry in found.items()]
    return stats.table(head, body)


def report(found, before):
    machine = peers.machine()
    lines = [f"{datetime.date.today()}, {machine['cores']} cores of {machine['cpu']}, load {before:.1f} before and {machine['load']:.1f} after; "
             f"{machine['versions']}; medians; `./dev bench compat` makes these tables."]
    for part, rows in (("gpu", gpu_rows), ("cpu", cpu_rows), ("compile", compile_rows), ("models", models_rows)):
        if part in found:
            lines += ["", *rows(found[part])]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--zoo", type=pathlib.Path, required=True)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--only", action="append", choices=PARTS)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--intel", type=pathlib.Path, default=INTEL)
    parser.add_argument("--no-docs", action="store_true")
    options = parser.parse_args()
    before = os.getloadavg()[0]
    build, zoo = options.build.resolve(), options.zoo.resolve()
    os.environ.setdefault("TENON_DEVICE_PATH", str(build / "lib"))
    found, parts = {}, options.only or PARTS
    if "gpu" in parts and options.intel.exists():
        found["gpu"] = measure_gpu(build, zoo, options.rounds, options.intel)
    elif "gpu" in parts:
        say(f"compat: left out: the GPU: no {options.intel} (pip install intel-opencl-rt)")
    if "cpu" in parts:
        found["cpu"] = measure_cpu(build, zoo, options.rounds)
    if "compile" in parts:
        found["compile"] = measure_compile(build, 5)
    if "models" in parts:
        found["models"] = measure_models(build, zoo, options.models.split(","), max(3, options.rounds // 2))
    out = ROOT / "out/compat"
    out.mkdir(parents=True, exist_ok=True)
    (out / "compat.json").write_text(json.dumps(found, indent=1))
    text = report(found, before)
    print(text)
    if not options.no_docs and not options.only:
        peers.write_table("compat", text)


if __name__ == "__main__":
    main()
