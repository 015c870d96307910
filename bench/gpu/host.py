#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The GPU device on CPUs under OpenCL: PoCL, and Intel's runtime where build/venv has it. Writes docs/benchmarks.md.

What the host pays (set_tensor of a known buffer, start_async of 60 kernels: gpu_bench), how long ResNet-50 takes to compile in fresh
processes, with no programs kept anywhere and with all of them, and models beside the CPU device, in turns in one process; those whose shapes
move in two.

  host.py --build build/release --zoo build/data/zoo [--models resnet50,mobilenetv2] [--moving decoder] [--seconds 3] [--rounds 3] [--no-docs]
"""
import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "bench/moving")]
import matrix  # noqa: E402
import moving  # noqa: E402
import tables  # noqa: E402

INTEL = ROOT / "build/venv/lib/libintelocl.so"
# The measurements of gpu_bench, and their targets.
HOST = [("`set_tensor` of a known buffer", "SetTensor", "at most 200 ns"),
        ("`start_async` of a model of 60 kernels", "Start/tried/60", "at most 40 us"),
        ("60 bare calls of `clEnqueueNDRangeKernel`", "BareLaunches/60", "")]
MOVING = ["bert_lengths", "segformer_sizes", "decoder", "decoder_llama", "decoder_whisper"]


def platforms(intel):
    """{name: environment}"""
    found = {"PoCL": {}}
    if intel.exists():
        # The runtime uses the CPU's newest instructions, and miscompiles for some CPUs of other vendors.
        found["Intel's runtime"] = {"OCL_ICD_VENDORS": str(intel), "CL_CONFIG_CPU_TARGET_ARCH": "core-avx2"}
    return found


def run(command, environment):
    return subprocess.run([str(word) for word in command], env=os.environ | environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def host_costs(options, environment):
    names = "|".join(f"^{name}$" for _, name, _ in HOST)
    out = json.loads(run([options.build / "bench/gpu_bench", f"--benchmark_filter={names}", "--benchmark_format=json",
                          "--benchmark_repetitions=5", "--benchmark_report_aggregates_only=true"], environment))
    scale = {"ns": 1, "us": 1e3, "ms": 1e6}
    return {each["run_name"]: each["cpu_time"] * scale[each["time_unit"]] for each in out["benchmarks"]
            if each.get("aggregate_name") == "median"}


def compile_times(options, environment):
    """Milliseconds, cold and warm: PoCL keeps programs of its own, which do not count as cold."""
    cold, warm = [], []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory(prefix="tenon_gpu_host_") as folder:
            own = environment | {"POCL_CACHE_DIR": f"{folder}/pocl", "POCL_KERNEL_CACHE": "1"}
            pathlib.Path(own["POCL_CACHE_DIR"]).mkdir()
            command = [options.build / "peers/first_inference", options.zoo / "resnet50.onnx", "GPU", f"{folder}/tenon"]
            for times in (cold, warm):
                times.append(json.loads(run(command, own))["load_ms"])
    return statistics.median(cold), statistics.median(warm)


def moving_speeds(name, options, environment):
    """The speed of the GPU device beside the CPU device's, for sizes that are new and known, and the ms of these."""
    path = moving.model_in(options.build / "moving", name)
    team = {device: moving.Worker(str(options.build / "peers/moving_tenon"), os.environ | environment) for device in ("GPU", "CPU")}
    for device, worker in team.items():
        worker.ask(f"device {device}")
    found = moving.measure(name, path, team, os.cpu_count(), "f32", options.rounds, 48)
    for worker in team.values():
        worker.close()
    if "wrong" in found:
        raise SystemExit(f"{name}: the GPU device's results differ from the CPU device's: {found}")
    return f"{found['speed_new']:.2f}, {found['speed_known']:.2f} ({found['GPU']['known_ms']:.1f} ms)"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--zoo", type=pathlib.Path, required=True)
    parser.add_argument("--intel", type=pathlib.Path, default=INTEL)
    parser.add_argument("--models", default="resnet50,mobilenetv2,unet,yolov8,vit")
    parser.add_argument("--moving", default=",".join(MOVING), help="models whose shapes move")
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-docs", action="store_true")
    options = parser.parse_args()
    os.environ.setdefault("TENON_DEVICE_PATH", str((options.build / "lib").resolve()))
    names = [name for name in options.models.split(",") if (options.zoo / f"{name}.onnx").exists()]
    columns = platforms(options.intel)
    rows = {}
    lines = [f"{datetime.date.today()}, {matrix.machine()}, load {os.getloadavg()[0]:.1f} before; f32, batch 1, medians; "
             "`./dev bench gpu-host` makes this table.", "", "| what | " + " | ".join(columns) + " | aim |", "|---" * (len(columns) + 2) + "|"]
    for environment in columns.values():
        costs = host_costs(options, environment)
        for title, name, aim in HOST:
            text = f"{costs[name]:.0f} ns" if costs[name] < 1e4 else f"{costs[name] / 1e3:.1f} us"
            rows.setdefault((title, aim), []).append(text)
        cold, warm = compile_times(options, environment)
        rows.setdefault(("compiling ResNet-50, nothing kept", "at most 10 s"), []).append(f"{cold / 1e3:.1f} s")
        rows.setdefault(("the same, with its programs in `CACHE_DIR`", "at most 0.3 s"), []).append(f"{warm / 1e3:.2f} s")
        for name in names:
            found = json.loads(run([options.build / "peers/host_worker", options.seconds, options.zoo / f"{name}.onnx"], environment))
            rows.setdefault((f"{name}: speed beside the CPU device", "at least 0.5"), []).append(
                f"{found['cpu_ms'] / found['gpu_ms']:.2f} ({found['gpu_ms']:.1f} ms)")
        for name in filter(None, options.moving.split(",")):
            rows.setdefault((f"{name}: the same, for new sizes and known ones", "at least 0.4"), []).append(moving_speeds(name, options, environment))
    lines += [f"| {title} | {' | '.join(cells)} | {aim} |" for (title, aim), cells in rows.items()]
    text = "\n".join(lines)
    print(text)
    if not options.no_docs:
        tables.write("gpu-host", text)


if __name__ == "__main__":
    main()
