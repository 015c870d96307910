#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A pipeline of many streams that come, go, change their size, lose packets and fail, with clients of its page that come, go and hang: what
the process has must not grow.

    soak.py --tenon TOOL --models FOLDER [--seconds S] [--streams N] [--out FOLDER] [--short]

Beside it cancelled_requests.py runs inferences on the CPU and on the software NPU in a process of its own: requests are cancelled at any moment, and
executions of the NPU are made to fail, its device to hang or to be lost. The pipeline sends its results to a broker that goes away, or takes
nothing, every few seconds. What all of them have must not grow, either, and each must go on after each disturbance.

Each second it notes the process's memory, descriptors and threads, and the latency of the model's node. Three times a minute all sources and
clients go for five seconds, and requests are let go: what is there then must not grow. It writes soak.svg and soak.json, and fails where a slope of these moments
(Theil-Sen, over the last two thirds) is above its bound, the pipeline ends by itself or does not stop, or no source came. Needs ffmpeg for
its clips. --short is a test of seconds: each disturbance comes, all goes on, and no slope is judged.
"""
import argparse
import contextlib
import itertools
import json
import os
import pathlib
import random
import re
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

# What may be added in a minute. Memory: arenas of malloc settle slowly, and a page more or less is no leak.
BOUNDS = {"memory_kib": 1024.0, "descriptors": 0.5, "threads": 0.5, "requests_memory_kib": 1024.0, "requests_descriptors": 0.5, "requests_threads": 0.5}
NAMES = {"memory_kib": "memory, KiB", "descriptors": "descriptors", "threads": "threads", "p50_ms": "latency p50, ms", "p99_ms": "latency p99, ms",
         "requests_memory_kib": "memory of the requests' process, KiB", "requests_descriptors": "its descriptors", "requests_threads": "its threads"}


def make_clips(folder: pathlib.Path):
    """Small videos: two sizes, one whose size changes, one that lost packets, one that is cut."""
    def encode(name, *inputs):
        subprocess.run(["ffmpeg", "-v", "error", "-y", *inputs, "-c:v", "mpeg2video", "-g", "10", "-f", "mpegts", str(folder / name)], check=True, timeout=120)
        return folder / name
    clips = [encode(f"{size}.ts", "-f", "lavfi", "-i", f"testsrc=size={size}:rate=10:duration=6") for size in ("160x120", "320x240")]
    changes = folder / "changes.ts"
    changes.write_bytes(clips[0].read_bytes() + clips[1].read_bytes())
    packets = [clips[1].read_bytes()[at:at + 188] for at in range(0, clips[1].stat().st_size, 188)]
    chance = random.Random(1)
    (folder / "lossy.ts").write_bytes(b"".join(packet for i, packet in enumerate(packets) if i < 20 or chance.random() > 0.02))
    (folder / "cut.ts").write_bytes(clips[1].read_bytes()[:20_000])
    return [*clips, changes, folder / "lossy.ts", folder / "cut.ts", folder / "there_is_none.ts"]


class Tool:
    """tenon pipeline, and its page."""

    def __init__(self, program, file, log):
        # With an arena for each thread of the past malloc keeps more and more, which is no leak.
        self.process = subprocess.Popen([program, "pipeline", str(file), "--web", "0", "--quiet"], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, "MALLOC_ARENA_MAX": "1"})
        self.address, self.log = None, log
        threading.Thread(target=self._read, daemon=True).start()
        end = time.monotonic() + 30
        while not self.address and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.05)
        if not self.address:
            raise SystemExit(f"the tool served no page (it ended with {self.process.poll()})")

    def _read(self):
        for line in self.process.stderr:
            found = re.match(r"(http://127\.0\.0\.1:(\d+))/\?(token=\w+)", line)
            if found:
                self.port, self.token, self.address = int(found[2]), found[3], found[1]
            else:
                self.log.write(line)

    def ask(self, method, path, body=None):
        """@return the status and the answer; 0 where there was none."""
        request = urllib.request.Request(f"{self.address}{path}?{self.token}", data=json.dumps(body).encode() if body else None, method=method)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()
        except OSError:
            return 0, b""

    def sample(self):
        base = pathlib.Path(f"/proc/{self.process.pid}")
        status = dict(line.split(":", 1) for line in (base / "status").read_text().splitlines() if ":" in line)
        taken = {"memory_kib": int(status["RssAnon"].split()[0]), "descriptors": len(list((base / "fd").iterdir())), "threads": int(status["Threads"])}
        code, text = self.ask("GET", "/state.json")
        for node in json.loads(text).get("nodes", []) if code == 200 else []:
            if node.get("element") == "infer":
                taken["p50_ms"], taken["p99_ms"] = node["latency_ms"]["p50"], node["latency_ms"]["p99"]
        return taken


class Broker(threading.Thread):
    """As much of a broker of MQTT 3.1.1 as a client that publishes needs, which goes away or takes nothing when it is told to."""

    def __init__(self):
        super().__init__(daemon=True)
        self.state, self.messages, self.after_return, self.clients = "up", 0, 0, []
        self.listener, self.port = None, 0
        self.listen()

    def listen(self):
        self.listener = socket.create_server(("127.0.0.1", self.port))
        self.port = self.listener.getsockname()[1]
        self.listener.settimeout(0.2)

    def go(self, state):
        """"up"; "away": no one listens, and connections end; "deaf": connections stay, and nothing is read."""
        before, self.state = self.state, state
        if state == "away":
            self.listener.close()
            for one in self.clients:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
            self.clients = []
        elif before == "away":
            self.listen()
        if state == "up":
            self.after_return = 0

    def run(self):
        while True:
            try:
                one, _ = self.listener.accept()
            except OSError:
                time.sleep(0.02)
                continue
            self.clients.append(one)
            threading.Thread(target=self.serve, args=(one,), daemon=True).start()

    def serve(self, one):
        file = one.makefile("rb")
        with contextlib.suppress(OSError, ValueError, IndexError):
            while kind := file.read(1):
                while self.state == "deaf":
                    time.sleep(0.05)
                size, shift = 0, 0
                while True:
                    byte = file.read(1)[0]
                    size |= (byte & 127) << shift
                    shift += 7
                    if byte < 128:
                        break
                body = file.read(size)
                if kind[0] >> 4 == 1:
                    one.sendall(b"\x20\x02\0\0")
                elif kind[0] >> 4 == 3:
                    self.messages += 1
                    self.after_return += 1
                    at = 2 + int.from_bytes(body[:2], "big")
                    if kind[0] & 6:
                        one.sendall(b"\x40\x02" + body[at:at + 2])
                elif kind[0] >> 4 == 12:
                    one.sendall(b"\xd0\0")
        one.close()


class Requests:
    """cancelled_requests.py under `tenon npu-env`, whose device it disturbs."""

    def __init__(self, program, models, out, log, seed=11):
        self.control = str(out.resolve() / "npu")
        self.process = subprocess.Popen([program, "npu-env", "--control", self.control, "--", sys.executable, str(pathlib.Path(__file__).with_name("cancelled_requests.py")),
                                         str((models / "colour.xml").resolve()), "CPU", "NPU"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                                        env={**os.environ, "MALLOC_ARENA_MAX": "1", "TENON_NPU_RESET_MS": "300"})
        self.counts, self.wrong, self.chance, self.injected = {}, "", random.Random(seed), {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            told = json.loads(line)
            self.wrong = told.get("wrong", self.wrong)
            self.counts = told if "wrong" not in told else self.counts

    def say(self, word):
        with contextlib.suppress(OSError, ValueError):
            self.process.stdin.write(word + "\n")
            self.process.stdin.flush()

    def command(self, text):
        try:
            with socket.socket(socket.AF_UNIX) as to:
                to.settimeout(5)
                to.connect(self.control)
                to.sendall((text + "\n").encode())
                return to.makefile().readline().startswith("ok")
        except OSError:
            return False

    def disturb(self):
        what = self.chance.choice(["fail execution:1=ZE_RESULT_ERROR_DEVICE_LOST", "fail zeCommandQueueExecuteCommandLists:1=ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY",
                                   "fail pfnCreate*:1=ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY", "fail execution:1=hang", "lost"])
        if self.command(what):
            self.injected[what] = self.injected.get(what, 0) + 1

    def recover(self):
        self.command("clear")
        self.command("recover")

    def sample(self):
        base = pathlib.Path(f"/proc/{self.process.pid}")
        status = dict(line.split(":", 1) for line in (base / "status").read_text().splitlines() if ":" in line)
        return {"requests_memory_kib": int(status["RssAnon"].split()[0]), "requests_descriptors": len(list((base / "fd").iterdir())),
                "requests_threads": int(status["Threads"])}


class Disturbances(threading.Thread):
    """The broker and the device of the requests, in turn; all is well while the sources rest."""

    def __init__(self, broker, requests, chaos, every_s):
        super().__init__(daemon=True)
        self.broker, self.requests, self.chaos, self.every_s = broker, requests, chaos, every_s
        self.counts, self.bad, self.ends = {}, [], threading.Event()

    def run(self):
        state, rests = itertools.cycle(["away", "up", "deaf", "up"]), False
        while not self.ends.wait(self.every_s):
            if (self.chaos.rests_since is not None) != rests:
                rests = not rests
                self.requests.say("rest" if rests else "go")
            if rests:
                self.requests.recover()
                if self.broker.state != "up":
                    self.broker.go("up")
                continue
            if self.broker.state == "up" and self.broker.after_return == 0 and self.counts:
                self.bad.append("no message came after the broker was back")
            self.broker.go(next(state))
            self.counts["broker " + self.broker.state] = self.counts.get("broker " + self.broker.state, 0) + 1
            if self.requests.chance.random() < 0.5:
                self.requests.disturb()
            else:
                self.requests.recover()


class Chaos(threading.Thread):
    """Sources and clients that come and go. At most `streams` sources; the same chances in each run of a seed."""

    def __init__(self, tool, clips, streams, seed=7):
        super().__init__(daemon=True)
        self.tool, self.clips, self.streams, self.chance = tool, clips, streams, random.Random(seed)
        self.live, self.hanging, self.counts, self.ends = [], [], {}, threading.Event()
        self.rests_since = None  # Since when nothing is there.
        self.round_s = 20  # The last quarter is rest.

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1

    def add(self):
        clip, name = self.chance.choice(self.clips), f"s{self.counts.get('added', 0)}"
        loops = clip.name in ("160x120.ts", "320x240.ts")
        body = {"element": "file", "name": name, "parameters": {"path": str(clip), "loop": loops, "realtime": True}}
        code, _ = self.tool.ask("POST", "/sources", body)
        self.count("added")
        self.count(f"POST {code}")
        if code == 201:
            self.live.append(name)

    def remove(self):
        name = self.live.pop(self.chance.randrange(len(self.live)))
        self.count(f"DELETE {self.tool.ask('DELETE', '/sources/' + name)[0]}")

    def client(self):
        """Half of them ask; the others send a part of a request, and hang or go."""
        if self.chance.random() < 0.5:
            path = self.chance.choice(["/", "/state.json", "/metrics", "/pictures.json", "/sources.json", "/no_such_page"])
            self.count(f"GET {self.tool.ask('GET', path)[0]}")
            return
        try:
            one = socket.create_connection(("127.0.0.1", self.tool.port), timeout=5)
            one.sendall(b"GET /state.json HT")
        except OSError:
            self.count("refused clients")
            return
        self.count("hanging clients")
        self.hanging.append(one)
        if len(self.hanging) > 20:
            self.hanging.pop(0).close()

    def rest(self):
        while self.live:
            self.remove()
        for one in self.hanging:
            one.close()
        self.hanging.clear()
        self.rests_since = self.rests_since or time.monotonic()

    def run(self):
        begin = time.monotonic()
        while not self.ends.wait(0.15):
            if (time.monotonic() - begin) % self.round_s > 0.75 * self.round_s:
                self.rest()
                continue
            self.rests_since = None
            act = self.chance.random()
            if act < 0.4 and len(self.live) < self.streams:
                self.add()
            elif act < 0.6 and self.live:
                self.remove()
            else:
                self.client()


def slope_per_minute(times, values):
    """The median of the slopes between all pairs (Theil-Sen): single jumps do not count."""
    pairs = [(values[j] - values[i]) / (times[j] - times[i]) for i in range(len(times)) for j in range(i + 1, len(times))]
    return 60 * statistics.median(pairs) if pairs else 0.0


def plot(path, times, samples):
    """A row of curves for each quantity, as SVG."""
    width, height, left, rows = 900, 150, 90, [name for name in NAMES if any(name in sample for sample in samples)]
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height * len(rows)}" font-family="sans-serif" font-size="12">'
             '<rect width="100%" height="100%" fill="white"/>']
    for row, name in enumerate(rows):
        points = [(at, sample[name]) for at, sample in zip(times, samples) if name in sample]
        top, most = row * height + 24, max(value for _, value in points) or 1
        x = lambda at: left + (width - left - 20) * at / max(times[-1], 1e-9)
        y = lambda value: top + (height - 40) * (1 - value / most)
        line = " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in points)
        parts.append(f'<text x="{left}" y="{top - 8}">{NAMES[name]}</text><text x="{left - 6}" y="{y(most) + 4}" text-anchor="end">{most:g}</text>'
                     f'<text x="{left - 6}" y="{y(0)}" text-anchor="end">0</text><line x1="{left}" x2="{width - 20}" y1="{y(0)}" y2="{y(0)}" stroke="#999"/>'
                     f'<polyline points="{line}" fill="none" stroke="#06c" stroke-width="1.5"/>')
    path.write_text("\n".join(parts) + "\n</svg>\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tenon", required=True)
    parser.add_argument("--models", required=True, type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=1800)
    parser.add_argument("--streams", type=int, default=16)
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/soak"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    clips = make_clips(given.out.resolve())
    broker = Broker()
    broker.start()
    file = given.out / "pipeline.json"
    file.write_text(json.dumps({"more_sources": 2 * given.streams, "nodes": [
        {"element": "test", "name": "base", "parameters": {"live": True, "fps": 10, "width": 160, "height": 120}},
        {"element": "infer", "parameters": {"model": str((given.models / "colour.xml").resolve())}},
        {"element": "publish", "parameters": {"method": "mqtt", "address": f"127.0.0.1:{broker.port}", "topic": "soak", "options": "queue=100;wait_s=1"}},
        {"element": "json", "parameters": {"path": "-"}}]}))
    times, samples = [], []
    with open(given.out / "soak.log", "w", encoding="utf-8") as log, open("/dev/null", "w", encoding="utf-8") as nothing:
        tool = Tool(given.tenon, file, nothing)
        tool.log = log
        chaos = Chaos(tool, clips, given.streams)
        chaos.round_s = 8 if given.short else chaos.round_s
        requests = Requests(given.tenon, given.models, given.out, log)
        disturbances = Disturbances(broker, requests, chaos, 0.7 if given.short else 2.5)
        chaos.start()
        disturbances.start()
        begin = time.monotonic()
        while (at := time.monotonic() - begin) < given.seconds and tool.process.poll() is None and requests.process.poll() is None:
            since = chaos.rests_since
            times.append(at)
            samples.append({**tool.sample(), **requests.sample(), "rests": since is not None and chaos.rests_since == since and time.monotonic() - since > 2})
            time.sleep(max(0.0, 1 - (time.monotonic() - begin - at)))
        ended, is_complete, requests_ended = tool.process.poll(), chaos.is_alive() and disturbances.is_alive(), requests.process.poll()
        disturbances.ends.set()
        disturbances.join(timeout=30)
        requests.recover()
        broker.go("up")
        requests.say("go")
        time.sleep(1)
        with contextlib.suppress(OSError):
            requests.process.stdin.close()
        try:
            requests.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            disturbances.bad.append("cancelled_requests.py did not end")
            requests.process.kill()
        chaos.ends.set()
        chaos.join(timeout=30)
        stop_begin = time.monotonic()
        tool.process.terminate()
        try:
            tool.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            tool.process.kill()
            tool.process.wait()
        stop_s = time.monotonic() - stop_begin
    plot(given.out / "soak.svg", times, samples)
    resting = [(at, sample) for at, sample in zip(times, samples) if sample["rests"] and at > times[-1] / 3]
    if len(resting) < 3 and not given.short:
        raise SystemExit(f"{len(resting)} moments of rest are too few for a slope; let it run for a minute at least")
    slopes = {name: slope_per_minute([at for at, _ in resting], [sample[name] for _, sample in resting]) for name in BOUNDS}
    bad = [f"{name}: {slopes[name]:+.2f} a minute, at most {bound:g}" for name, bound in BOUNDS.items() if slopes[name] > bound and not given.short]
    bad += disturbances.bad + ([requests.wrong] if requests.wrong else [])
    if requests_ended is not None or requests.process.returncode != 0:
        bad.append(f"cancelled_requests.py ended with {requests.process.returncode}")
    missing = [f"{device} {what}" for device in ("CPU", "NPU") for what in ("done", "cancelled") if not requests.counts.get(f"{device} {what}")]
    missing += [what for what in ("broker away", "broker deaf") if not disturbances.counts.get(what)]
    if not requests.injected or not requests.counts.get("NPU failed", 0) + requests.counts.get("NPU not compiled", 0):
        missing.append("failures of the device")
    if missing:
        bad.append(f"never came: {', '.join(missing)}")
    if ended is not None:
        bad.append(f"the pipeline ended by itself with {ended}")
    elif tool.process.returncode < 0:
        bad.append(f"the stop took {stop_s:.0f} s and ended by signal {-tool.process.returncode}")
    if not is_complete or "POST 201" not in chaos.counts:
        bad.append("sources did not come and go until the end: nothing was tested")
    told = {"seconds": round(times[-1], 1), "slopes_per_minute": {name: round(value, 3) for name, value in slopes.items()}, "counts": chaos.counts,
            "requests": requests.counts, "injected": requests.injected, "disturbances": disturbances.counts, "messages": broker.messages,
            "at_rest": [{name: sample[name] for name in BOUNDS} for _, sample in (resting[:1] + resting[-1:])], "seconds_to_stop": round(stop_s, 2), "bad": bad}
    (given.out / "soak.json").write_text(json.dumps({**told, "times": times, "samples": samples}))
    print(json.dumps(told, indent=1))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
