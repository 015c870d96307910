#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What docs/guide/more_than_one_machine.md says in figures: a folder of videos by one process and by Ray's workers, a model in this process and
behind tenon.serve, and messages to brokers. Needs what scripts/check_python.sh installs.

usage: machines.py [--only ray|serve|brokers] [--docs] [--clips N] [--frames N] [--seconds S] [--rounds N]
       --docs writes the tables into the page
"""
import argparse
import datetime
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "bindings/python/tests/slow")]
PAGE = ROOT / "docs/guide/more_than_one_machine.md"

import tenon as tn  # noqa: E402
from tenon.__main__ import tool  # noqa: E402

MODEL = ROOT / "models/demo.onnx"


def table(head, rows):
    return "\n".join(["| " + " | ".join(head) + " |", "|" + "---|" * len(head)] + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def middle(values):
    return statistics.median(values)


def clips_in(folder, count, frames):
    made = []
    for i in range(count):
        made.append(folder / f"clip{i}.mp4")
        subprocess.run(["ffmpeg", "-v", "error", "-ss", str(i % 4 * 3), "-i", str(ROOT / "models/demo.mp4"), "-frames:v", str(frames), "-c:v", "libx264", "-preset",
                        "veryfast", str(made[-1])], check=True)
    return made


def seconds_together(clips, folder, total):
    """All clips as streams of one pipeline."""
    names = [f"clip{i}" for i in range(len(clips))]
    nodes = [{"element": "file", "name": name, "parameters": {"path": str(clip), "threads": 1}} for name, clip in zip(names, clips)]
    nodes += [{"element": "infer", "from": names, "parameters": {"model": str(MODEL)}}, {"element": "track"},
              {"element": "json", "parameters": {"path": str(folder / "together.jsonl")}}]
    (folder / "together.json").write_text(json.dumps({"nodes": nodes}))
    begin = time.perf_counter()
    subprocess.run([str(tool()), "pipeline", str(folder / "together.json"), "--quiet"], check=True, capture_output=True)
    seconds = time.perf_counter() - begin
    assert (folder / "together.jsonl").read_bytes().count(b"\n") == total
    (folder / "together.jsonl").unlink()
    return seconds


class Pinned:
    """A step whose workers have one core each, as machines of one core would: the files of a folder say which cores are taken."""

    device = "CPU"

    def __init__(self, step, folder):
        self._step, self._folder = step, str(folder)

    def identity(self):
        return self._step.identity()

    def start(self):
        for core in sorted(os.sched_getaffinity(0)):
            try:
                os.close(os.open(f"{self._folder}/core{core}", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            os.sched_setaffinity(0, {core})
            break
        self._step.start()

    def run(self, source):
        return self._step.run(source)


def measure_ray(given):
    """Frames per second: the tool alone, one pipeline of all, and workers of Ray that run the tool, in turn."""
    import ray

    import tenon.ray as tr

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=200 << 20)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        clips = clips_in(folder, given.clips, given.frames)
        step = tr.PipelineStep(MODEL, infer={"properties": "INFERENCE_NUM_THREADS=1", "requests": 1}, file={"threads": 1})
        step.start()
        total = given.clips * given.frames
        speeds = {}

        def note(name, seconds):
            speeds.setdefault(name, []).append(total / seconds)

        for each in range(given.rounds):
            begin = time.perf_counter()
            assert sum(1 for clip in clips for _ in step.run(str(clip))) == total
            note("the tool, one clip after the other", time.perf_counter() - begin)
            note("one pipeline of all clips, in one process", seconds_together(clips, folder, total))
            for workers, pinned in ((1, True), (2, True), (2, False)):
                out = folder / f"out{workers}-{pinned}-{each}"
                out.mkdir()
                report = tr.to_parquet(clips, out, Pinned(step, out) if pinned else step, workers=workers)
                assert report.frames == total and not report.failed, report
                name = f"Ray, {workers} worker{'s' * (workers > 1)}" + (" of one core" + " each" * (workers > 1) if pinned else "")
                note(name, sum(row["seconds"] for row in report.sources) / workers)
                note(name + ", with the start of Ray's workers", report.seconds)
    ray.shutdown()
    alone, one, two = (middle(speeds[name]) for name in ("the tool, one clip after the other", "Ray, 1 worker of one core", "Ray, 2 workers of one core each"))
    rows = [[name, f"{middle(values):.0f}", f"{middle(values) / alone:.2f}"] for name, values in speeds.items()]
    rows.append(["2 workers beside 1, of one core each", "", f"{two / one:.2f}"])
    return table([f"{given.clips} clips of {given.frames} frames, 1280x720, detector and tracker, to Parquet by Ray", "frames/s", "beside the tool"], rows)


def hammer(clients, seconds, make):
    """Requests per second and latencies in milliseconds of so many clients; `make()` gives each a function that makes one request."""
    latencies, stop = [], threading.Event()
    ready = threading.Barrier(clients + 1)
    errors = []

    def work():
        try:
            ask = make()
            ask()
            ready.wait(60)
            while not stop.is_set():
                begin = time.perf_counter()
                ask()
                latencies.append((time.perf_counter() - begin) * 1e3)
        except Exception as error:
            errors.append(error)
            ready.abort()

    threads = [threading.Thread(target=work) for _ in range(clients)]
    for thread in threads:
        thread.start()
    ready.wait(60)
    begin = time.perf_counter()
    time.sleep(seconds)
    stop.set()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return len(latencies) / (time.perf_counter() - begin), middle(latencies)


def small_model(folder):
    """A chain of matrix products whose batches are worth their while: [rows, 256]."""
    x = tn.Parameter("f32", [-1, 256])
    x.output(0).set_names({"x"})
    last = x
    for seed in range(8):
        weights = tn.Constant((numpy.random.default_rng(seed).standard_normal((256, 256)) / 16).astype(numpy.float32))
        last = tn.make_node("Relu", [tn.make_node("MatMul", [last, weights], {"transpose_a": False, "transpose_b": False})])
    last.output(0).set_names({"y"})
    tn.save_model(tn.Model([last], [x], "products"), folder / "products.xml")
    return folder / "products.xml"


class Served:
    def __init__(self, model, *arguments):
        self.process = subprocess.Popen([sys.executable, "-m", "tenon.serve", str(model), "--http-port", "0", "--grpc-port", "0", *map(str, arguments)],
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        self.http, self.grpc = re.search(r"http://([^/]+)/.*gRPC at (\S+)", line).groups()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(30)


def asker(module, address, name, port, array):
    def make():
        client = module.InferenceServerClient(address)
        wanted = module.InferInput(port, list(array.shape), "FP32")
        wanted.set_data_from_numpy(array)
        return lambda: client.infer(name, [wanted])

    return make


def measure_serve(given):
    import tritonclient.grpc as grpc
    import tritonclient.http as http

    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        small = small_model(Path(temporary))
        for name, model, port, shape, batches in (("demo.onnx, 1.8 MB of input", MODEL, "image", (1, 3, 288, 512), (1,)),
                                                  ("eight products of [rows, 256]", small, "x", (1, 256), (1, 16))):
            array = numpy.random.default_rng(0).random(shape, numpy.float32)
            compiled = tn.compile_model(str(model), "CPU")

            def own():
                request = compiled.create_infer_request()
                return lambda: request.infer(array, share_inputs=True)

            speed, latency = hammer(1, given.seconds, own)
            rows.append([name, "in this process", 1, f"{speed:.0f}", f"{latency:.2f} ms"])
            for batch in batches:
                with Served(model, "--batch", batch) as served:
                    stem = Path(model).stem
                    kind = f", batches of up to {batch}" if batch > 1 else ""
                    for clients in (1, 16):
                        speed, latency = hammer(clients, given.seconds, asker(grpc, served.grpc, stem, port, array))
                        rows.append([name, "gRPC" + kind, clients, f"{speed:.0f}", f"{latency:.2f} ms"])
                    if batch == 1:
                        speed, latency = hammer(1, given.seconds, asker(http, served.http, stem, port, array))
                        rows.append([name, "REST, binary", 1, f"{speed:.0f}", f"{latency:.2f} ms"])
    body = body_figures()
    return table(["model", "way", "clients", "requests/s", "median latency"], rows) + "\n\n" + body


def body_figures():
    """What a body of the demo's input costs before the inference: kserve's own data plane beside ours. In a process of its own, since kserve
    and tritonclient.grpc cannot be imported together."""
    code = """
import json, time, numpy
from tenon import _kserve
from tenon._open_inference import array_from
from kserve.protocol.infer_type import InferRequest
x = numpy.zeros((1, 3, 288, 512), numpy.float32)
head = json.dumps({"inputs": [{"name": "image", "datatype": "FP32", "shape": list(x.shape), "parameters": {"binary_data_size": x.nbytes}}]}).encode()
body = head + x.tobytes()
def ours():
    request = _kserve._DataPlane.decode_inference_request(None, body, {"inference-header-content-length": str(len(head))}, "m")
    return array_from("image", "FP32", list(x.shape), None, request.inputs[0]._raw_data)
def theirs():
    return InferRequest.from_bytes(body, len(head), "m").inputs[0].as_numpy()
for decode, count in ((ours, 2000), (theirs, 5)):
    decode()
    begin = time.perf_counter()
    for _ in range(count): decode()
    print((time.perf_counter() - begin) / count * 1e3)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    return f"Decoding a REST body of 1.8 MB with a binary tensor: {float(done[0]) * 1e3:.0f} us, and {float(done[1]):.0f} ms by kserve's own data plane."


def measure_brokers(given):
    from test_brokers import Mosquitto, Tansu, pipeline

    count, rows = 40000, []
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        mosquitto, tansu = Mosquitto(folder), Tansu(folder)
        try:
            sinks = [("a file (json)", {"element": "json", "path": str(folder / "lines.jsonl")})]
            for full in ("drop", "wait"):
                rest = {"when_full": full, "queue": 50000 if full == "drop" else 1000, "wait_s": 60}
                sinks.append((f"MQTT, qos 1, when_full={full}", {"element": "mqtt", "topic": "results/{stream}", "host": "127.0.0.1", "port": mosquitto.port, **rest}))
                sinks.append((f"Kafka's protocol, partition=stream, when_full={full}", {"element": "kafka", "topic": "results", "brokers": tansu.address,
                                                                                       "partition": "stream", **rest}))
            for name, sink in sinks:
                speeds = []
                for _ in range(given.rounds):
                    begin = time.perf_counter()
                    process = pipeline(tool(), dict(sink), frames=count // 4, env=tansu.environment() if sink["element"] == "kafka" else None)
                    assert process.wait(120) == 0, process.stderr.read()
                    speeds.append(count / (time.perf_counter() - begin))
                rows.append([name, f"{middle(speeds):,.0f}"])
        finally:
            mosquitto.stop()
            tansu.stop()
    return table([f"{count} messages of 4 streams, each acknowledged before the run ends", "messages/s"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["ray", "serve", "brokers"])
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--clips", type=int, default=8)
    parser.add_argument("--frames", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    measures = {"ray": measure_ray, "serve": measure_serve, "brokers": measure_brokers}
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    for name, measure in measures.items():
        if given.only not in (None, name):
            continue
        note = f"Measured {datetime.date.today()}, {os.cpu_count()} cores ({cpu}), load {os.getloadavg()[0]:.1f} before the run; medians of {given.rounds if name != 'serve' else 1}."
        text = note + "\n\n" + measure(given)
        print(text, flush=True)
        if given.docs:
            import tables

            PAGE.write_text(tables.replaced(PAGE.read_text(), f"machines-{name}", text))


if __name__ == "__main__":
    main()
