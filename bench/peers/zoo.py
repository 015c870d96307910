#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The CPU device beside OpenVINO's over the zoo, precision by precision, and writes tables into docs/benchmarks.md. Started by ./dev bench zoo.

usage: zoo.py --build build/release [--only latency|throughput|busy|cores]... [--rounds N] [--models resnet50,...] [--precisions f32,bf16,int8]
              [--threads 1,4,16] [--figures FILE] [--no-docs] [--tables]

Both run the same program (cpu_worker.cpp), at the same precision, on the same two processors, in turn. A case is measured in fresh
processes, so that peak memory is its own. Cases that are not measured now keep their last figures, with their date, from
out/peers/zoo.json. `cores` is for a machine with many: the same at each number of threads on as many processors, and throughput on
all of them; measured only on request. --tables measures nothing and writes the tables from stored figures: with --figures,
those brought from a machine that can't build (pack.py).
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

import agreement
import cpu_peers
import peers
import stats

ROOT = pathlib.Path(__file__).resolve().parents[2]
PARTS = ("latency", "throughput", "busy")
CORES = "cores"
NAMES = ("tenon", "openvino")
REAL = ["resnet50", "mobilenetv2", "yolo", "unet", "vit", "bert", "vit_b16", "mobilenetv3", "efficientnet", "densenet", "convnext", "swin",
        "segformer", "raft", "ssd_lite", "faster_rcnn", "whisper", "lstm", "gru_step", "loop"]
INT8 = ["resnet50_int8", "mobilenetv2_int8", "yolo_int8"]
AIMS = {("latency", "f32"): 0.97, ("latency", "bf16"): 0.97}
OTHER_AIM, LEAST = 0.9, 0.75
LEAST_ON_CORES = 0.7
THREADS = cpu_peers.THREADS


def team_of(build):
    team = {}
    for name in NAMES:
        path = build / f"peers/cpu_worker_{name}"
        if not path.exists():
            raise SystemExit(f"zoo: {path} was not built: the target is tenon_peers, and needs OpenVINO's package")
        team[name] = cpu_peers.Worker([str(path)])
    return team


def close(team):
    for worker in team.values():
        try:
            worker.close()
        except (BrokenPipeError, subprocess.TimeoutExpired):
            worker.process.kill()


def cases_of(options):
    for precision in options.precisions:
        for model in options.models:
            if ("_int8" in model) == (precision == "int8"):
                yield precision, model


def hint(precision):
    return "bf16" if precision == "bf16" else "f32"


def loaded(build, path, precision, mode, batch, threads=THREADS):
    """Both workers with the model loaded, and the ms that compiling took."""
    team = team_of(build)
    try:
        ms = {name: float(worker.ask(f"load {path} {threads} {hint(precision)} {mode} {batch}").split()[1]) for name, worker in team.items()}
    except RuntimeError:
        close(team)
        raise
    return team, ms


def accuracy(build, path, precision, team):
    """Compares the outputs with OpenVINO's at the same precision, and with its f32."""
    found = {name: agreement.outputs_of(worker) for name, worker in team.items()}
    result = {"peer": agreement.nearness(found["tenon"], found["openvino"])}
    if precision == "bf16":
        judge = team_of(build)
        judge["openvino"].ask(f"load {path} {THREADS} f32")
        exact = agreement.outputs_of(judge["openvino"])
        close(judge)
        result |= {f"{name} to f32": agreement.nearness(values, exact) for name, values in found.items()}
    return result


def measure_latency(build, path, precision, batch, rounds):
    team, ms = loaded(build, path, precision, "latency", batch)
    try:
        found = {"compile_ms": ms}
        if batch == 0:
            found["accuracy"] = accuracy(build, path, precision, team)
        found |= cpu_peers.summary(cpu_peers.rounds_of(team, "infer", rounds, 0.25 if batch == 0 else 0.05))
        found["peak_kb"] = {name: int(worker.ask("peak")) for name, worker in team.items()}
        found["allocations"] = {name: int(worker.ask("allocations 5")) / 5 for name, worker in team.items()}
        return found
    finally:
        close(team)


def measure_throughput(build, path, precision, rounds, threads=THREADS):
    team, _ = loaded(build, path, precision, "throughput", 0, threads)
    try:
        ns, requests = {name: [] for name in team}, {}
        for name, worker in team.items():
            worker.ask("throughput 100")
        for turn in range(rounds):
            for name in list(team)[:: 1 if turn % 2 else -1]:
                done, taken, requests[name] = (int(v) for v in team[name].ask("throughput 500").split())
                ns[name].append(taken / done)
        return cpu_peers.summary(ns) | {"requests": requests}
    finally:
        close(team)


def measure_cores(build, path, precision, threads, rounds):
    """One inference at a time on that many processors."""
    team, _ = loaded(build, path, precision, "latency", 0, threads)
    try:
        return cpu_peers.summary(cpu_peers.rounds_of(team, "infer", rounds, 0.2))
    finally:
        close(team)


def measure_busy(build, folder, rounds):
    """Times per inference alone, and beside a process that keeps every processor busy."""
    found = {}
    for model in ("resnet50", "relu1"):
        team, _ = loaded(build, folder / f"{model}.onnx", "f32", "latency", 0)
        alone = cpu_peers.rounds_of(team, "infer", rounds, 0.25)
        others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(THREADS)]
        try:
            beside = cpu_peers.rounds_of(team, "infer", rounds, 0.25)
        finally:
            for other in others:
                other.kill()
                other.wait()
            close(team)
        medians = lambda times: {name: summary for name, summary in cpu_peers.summary(times)["ns"].items()}  # noqa: E731
        found[model] = {"alone": medians(alone), "beside": medians(beside)}
    return found


def percent(value):
    return f"{value:.2f}"


def aim_of(part, precision):
    return AIMS.get((part, precision), OTHER_AIM)


def shortfall(value):
    return " (below 0.75)" if value < LEAST else ""


def mean_row(precision, entries):
    cells = [f"geometric mean, {precision}"]
    for part, key in (("latency", "latency"), ("latency", "latency8"), ("throughput", "throughput")):
        ratios = [e[key]["ratio"]["openvino"]["median"] for e in entries if key in e]
        if not ratios:
            cells.append("")
            continue
        mean, aim = stats.geometric_mean(ratios), aim_of(part, precision)
        cells.append(f"**{mean:.2f}**, aim {aim}" + ("" if mean >= aim else ", missed"))
    for key in ("compile_ms", "peak_kb"):
        ratios = [e["latency"][key]["tenon"] / e["latency"][key]["openvino"] for e in entries if "latency" in e]
        cells.append(f"**{stats.geometric_mean(ratios):.2f}**, aim <= 1" if ratios else "")
    return cells + ["", ""]


def row_of(model, precision, entry):
    cells = [f"{model} {precision}"]
    for key in ("latency", "latency8"):
        part = entry.get(key)
        if not part:
            cells.append("")
            continue
        ratio = part["ratio"]["openvino"]
        cells.append(f"{part['ns']['tenon'] / 1e6:.2f} ms, {stats.shown(ratio)}{shortfall(ratio['median'])}")
    if "throughput" in entry:
        ratio = entry["throughput"]["ratio"]["openvino"]
        cells.append(f"{1e9 / entry['throughput']['ns']['tenon']:.1f}/s, {stats.shown(ratio)}{shortfall(ratio['median'])}")
    else:
        cells.append("")
    latency = entry.get("latency")
    if not latency:
        return cells + [""] * 4
    for key in ("compile_ms", "peak_kb"):
        cells.append(percent(latency[key]["tenon"] / latency[key]["openvino"]))
    cells.append("{tenon:.0f} / {openvino:.0f}".format(**latency["allocations"]))
    accurate = latency["accuracy"]
    text = "{cosine:.5f}, {relative:.1e}".format(**accurate["peer"])
    if "tenon to f32" in accurate:
        text += "; to f32 {tenon to f32[cosine]:.5f}, theirs {openvino to f32[cosine]:.5f}".format(**accurate)
    return cells + [text]


def cores_text(result):
    """A table for each precision: a row a model, a column a number of threads, throughput on all processors last."""
    if CORES not in result:
        return ""
    on, cases = result[CORES]["machine"], result[CORES]["cases"]
    lines = [f"{on['date']}, {on['cores']} cores of an {on['cpu']}, load {on['load']:.1f} before; {on['versions']}.", ""]
    for precision in ("f32", "bf16", "int8"):
        rows = {key.split("/")[1]: entry for key, entry in cases.items() if key.startswith(precision + "/")}
        if not rows:
            continue
        columns = sorted({key for entry in rows.values() for key in entry if key != "throughput"}, key=int)
        head = [f"{precision}: Tenon, its speed / OpenVINO's"] + [f"{n} threads" if n != "1" else "1 thread" for n in columns] + ["throughput, all cores"]
        body = []
        for model, entry in rows.items():
            cells = [model]
            for key in columns + ["throughput"]:
                if key not in entry:
                    cells.append("")
                    continue
                ratio, ns = entry[key]["ratio"]["openvino"], entry[key]["ns"]["tenon"]
                text = f"{1e9 / ns:.0f}/s" if key == "throughput" else f"{ns / 1e6:.2f} ms"
                cells.append(f"{text}, {stats.shown(ratio)}" + (f" (below {LEAST_ON_CORES})" if ratio["median"] < LEAST_ON_CORES else ""))
            body.append(cells)
        means = ["geometric mean"]
        for key in columns + ["throughput"]:
            ratios = [entry[key]["ratio"]["openvino"]["median"] for entry in rows.values() if key in entry]
            mean = stats.geometric_mean(ratios) if ratios else None
            means.append("" if mean is None else f"**{mean:.2f}**, aim {OTHER_AIM}" + ("" if mean >= OTHER_AIM else ", missed"))
        lines += stats.table(head, body + [means]) + [""]
    return "\n".join(lines).rstrip()


def text_of(result):
    lines = []
    if "machine" in result:
        on = result["machine"]
        lines += [f"{on['date']}, {on['cores']} cores of an {on['cpu']}, load {on['load']:.1f} before; {on['versions']}.", ""]
    head = ["model", "latency, batch 1: Tenon, its speed / OpenVINO's", "latency, batch 8", "throughput", "compile time / OpenVINO's",
            "peak memory / OpenVINO's", "allocations per inference, Tenon / OpenVINO", "outputs against OpenVINO's: least cosine, largest difference relative to its channel"]
    rows = []
    for precision in ("f32", "bf16", "int8"):
        entries = {key.split("/")[1]: entry for key, entry in result.get("cases", {}).items() if key.startswith(precision + "/")}
        rows += [row_of(model, precision if precision != "int8" else "", entry) for model, entry in entries.items()]
        if entries:
            rows.append(mean_row(precision, list(entries.values())))
    lines += stats.table(head, rows) + [""]
    if "busy" in result:
        head = ["beside a process that keeps every processor busy", "Tenon", "OpenVINO"]
        rows = []
        for model, found in result["busy"].items():
            cells = [model]
            for name in NAMES:
                alone, beside = found["alone"][name], found["beside"][name]
                cells.append(f"{alone / 1e6:.3f} ms alone, {beside / 1e6:.3f} ms beside: {beside / alone:.1f} times")
            rows.append(cells)
        lines += stats.table(head, rows)
    return "\n".join(lines).rstrip()


def known_models(build, wanted, say):
    """The requested models of the zoo, generated if missing."""
    sys.path.insert(0, str(ROOT / "models/zoo"))
    import architectures  # pylint: disable=import-outside-toplevel,import-error
    folder = build / "zoo"
    makes = [model for model in wanted if model in architectures.MODELS]
    peers.zoo(build, makes + ["relu1"])
    known = [model for model in wanted if (folder / f"{model}.onnx").exists()]
    for model in wanted:
        if model not in known:
            say(f"zoo: left out: {model}: the zoo has no such model")
    return known


def measure(result, options, build, save):
    folder = build / "zoo"
    cases = result.setdefault("cases", {})
    for precision, model in cases_of(options):
        entry = cases.setdefault(f"{precision}/{model}", {})
        path = folder / f"{model}.onnx"
        for key, run in (
            ("latency", lambda p=path, q=precision: measure_latency(build, p, q, 0, options.rounds)),
            ("latency8", lambda p=path, q=precision: measure_latency(build, p, q, 8, max(3, options.rounds // 3))),
            ("throughput", lambda p=path, q=precision: measure_throughput(build, p, q, max(3, options.rounds // 2))),
        ):
            if key.rstrip("8") not in options.only:
                continue
            try:
                entry[key] = run()
            except RuntimeError as error:
                # A model with reshapes that fix the batch size cannot run with another.
                entry.pop(key, None)
                peers.say(f"zoo: {precision} {model}: no {key}: {str(error)[:160]}")
                continue
            peers.say(f"zoo: {precision} {model}: {key}: Tenon's speed / OpenVINO's {stats.shown(entry[key]['ratio']['openvino'])}")
            save()
    if "busy" in options.only:
        result["busy"] = measure_busy(build, folder, max(3, options.rounds // 2))
        save()


def measure_on_cores(result, options, build, save):
    found = result[CORES] = {"machine": peers.machine(), "cases": result.get(CORES, {}).get("cases", {})}
    cpus = sorted(os.sched_getaffinity(0))
    for precision, model in cases_of(options):
        entry = found["cases"].setdefault(f"{precision}/{model}", {})
        path = build / f"zoo/{model}.onnx"
        for threads in [n for n in options.threads if n <= len(cpus)] + ["throughput"]:
            try:
                if threads == "throughput":
                    entry[threads] = measure_throughput(build, path, precision, max(3, options.rounds // 2), len(cpus))
                else:
                    os.sched_setaffinity(0, cpus[:threads])
                    entry[str(threads)] = measure_cores(build, path, precision, threads, options.rounds)
            except RuntimeError as error:
                entry.pop(str(threads), None)
                peers.say(f"zoo: {precision} {model}: not measured at {threads}: {str(error)[:160]}")
                continue
            finally:
                os.sched_setaffinity(0, cpus)
            shown = entry[str(threads)]
            peers.say(f"zoo: {precision} {model}: {threads}: {shown['ns']['tenon'] / 1e6:.2f} / {shown['ns']['openvino'] / 1e6:.2f} ms, Tenon's speed / "
                      f"OpenVINO's {stats.shown(shown['ratio']['openvino'])}")
            save()


def main():
    parser = argparse.ArgumentParser(description="Tenon beside OpenVINO over the zoo.")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--only", action="append", choices=PARTS + (CORES,))
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--models", type=lambda text: text.split(","), default=REAL + INT8)
    parser.add_argument("--precisions", type=lambda text: text.split(","), default=["f32", "bf16", "int8"])
    parser.add_argument("--threads", type=lambda text: [int(n) for n in text.split(",")], default=[1, 4, 16])
    parser.add_argument("--figures", type=pathlib.Path, default=ROOT / "out/peers/zoo.json", help="where figures are kept")
    parser.add_argument("--no-docs", action="store_true")
    parser.add_argument("--tables", action="store_true", help="measure nothing")
    options = parser.parse_args()
    options.only = [] if options.tables else options.only or PARTS
    build, store = options.build.resolve(), options.figures
    store.parent.mkdir(parents=True, exist_ok=True)
    result = json.loads(store.read_text()) if store.exists() else {}
    save = lambda: store.write_text(json.dumps(result, indent=1))  # noqa: E731
    if options.only:
        options.models = known_models(build, options.models, peers.say)
    if CORES in options.only:
        measure_on_cores(result, options, build, save)
    if set(options.only) & set(PARTS):
        # The same processors for all, and as many as there are threads.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])
        result["machine"] = peers.machine()
        measure(result, options, build, save)
    for name, text in (("zoo", text_of(result) if "cases" in result else ""), (CORES, cores_text(result))):
        if text:
            print("\n" + text)
            if not options.no_docs:
                peers.write_table(name, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
