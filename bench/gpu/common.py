# SPDX-License-Identifier: Apache-2.0
"""What the parts of ./dev bench gpu share: reports, the worker for shapes that move, and whether torch is there."""
import datetime
import functools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN = time.monotonic()


def say(text):
    """Progress: a machine that stops a run after some minutes leaves it on record how far it came."""
    print(f"[{time.monotonic() - BEGIN:6.1f} s] {text}", file=sys.stderr, flush=True)


def why_no_torch():
    """Empty where torch can run on a CUDA device."""
    try:
        import torch
    except ImportError:
        return "no torch here"
    return "" if torch.cuda.is_available() else "torch has no CUDA device"


def device_used():
    """Bytes of the GPU's memory that all processes have, where torch can say it."""
    if why_no_torch():
        return None
    import torch
    free, total = torch.cuda.mem_get_info()
    return total - free


@functools.cache
def nvidia_library():
    for folder in ("/usr/local/nvidia", "/usr/lib"):
        for found in sorted(pathlib.Path(folder).rglob("libnvidia-opencl.so.1")):
            return found
    return None


def environment(build, folder):
    """For workers: the libraries that travelled with a packed bench, and NVIDIA's OpenCL alone where it is."""
    found = dict(os.environ, TENON_DEVICE_PATH=str(build / "lib"))
    if (build / "packed").exists():
        found["LD_LIBRARY_PATH"] = ":".join([str(build / "packed"), *filter(None, [found.get("LD_LIBRARY_PATH")])])
    library = nvidia_library()
    if library:
        (folder / "nvidia.icd").write_text(f"{library}\n")
        found["OCL_ICD_VENDORS"] = str(folder / "nvidia.icd")
        found.pop("OCL_ICD_FILENAMES", None)
    return found


class Session:
    """The worker for shapes that move, in a process of its own, which keeps its programs for itself."""

    def __init__(self, options, folder, limit=300):
        self.limit, self.errors = limit, folder / "errors.txt"
        self.used_before = device_used()
        kept = folder / "driver"
        kept.mkdir(exist_ok=True)
        own = environment(options.build, folder) | {"CUDA_CACHE_PATH": str(kept)}
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen([str(options.build / "peers/gpu_moving_worker")], env=own, stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors, text=True)

    def ask(self, line):
        """@errors RuntimeError: with the worker's words, or that it gave none in time."""
        late = threading.Timer(self.limit, self.process.kill)
        late.start()
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().strip()
        except BrokenPipeError:
            answer = ""
        late.cancel()
        if not answer.startswith("{"):
            raise RuntimeError(f"{line[:60]}: {answer or self.errors.read_text().strip()[-300:] or f'no answer in {self.limit} s'}")
        return json.loads(answer)

    def process_bytes(self):
        """What this process has of the GPU's memory, the driver's own included."""
        return None if self.used_before is None else device_used() - self.used_before

    def infer(self, extents):
        return self.ask("infer " + " ".join(map(str, extents)))

    def settle(self, extents):
        """Until the way of launching is found that stays. Milliseconds."""
        return self.ask("settle " + " ".join(map(str, extents)))["ms"]

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.close()
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self.process.kill()


def profiled(session, path, precision, extents):
    """The last inference's launches, the sum of their times, and the kinds that take longest."""
    session.ask(f"profile {path} {precision}")
    session.infer(extents)
    found = session.ask("kernels")
    kinds = ", ".join(f"{count} {kind} {ms:.2f}" for kind, count, ms in found["kinds"][:4])
    return {"launches": found["launches"], "kernels_ms": found["ms"], "kinds": kinds}


def spans(session, path, extents):
    """Where the time of inferences goes on the host: the median of each inference's spans of a name, in us. `find` is what comes before
    `replay`, of which `launch` is a part; `ahead` makes the next inference ready, as a part of `wait`."""
    session.ask(f"trace {path} " + " ".join(map(str, extents)))
    events = json.loads(path.read_text())["traceEvents"]
    path.unlink()
    tokens = [event for event in events if event["name"] == "token"]
    found = {}
    for token in tokens:
        sums = {}
        for event in events:
            if event["tid"] == token["tid"] and token["ts"] <= event["ts"] < token["ts"] + token["dur"]:
                sums[event["name"]] = sums.get(event["name"], 0) + event["dur"]
        for name, us in sums.items():
            found.setdefault(name, []).append(us)
    return {name: median(all_us) for name, all_us in sorted(found.items(), key=lambda item: -median(item[1]))}


def median(values):
    return statistics.median(values)


class Report:
    """A table that grows row by row, printed, and kept in a folder as NAME.json and NAME.md."""

    def __init__(self, options, name, head, columns):
        self.folder, self.name, self.columns = options.out, name, columns
        self.head = f"{datetime.date.today()}, {head}"
        self.rows, self.lines = [], []
        print(f"{self.head}\n\n" + "\n".join(title_of(columns)), flush=True)

    def add(self, row, cells):
        self.rows.append(row)
        self.lines.append([str(cell) for cell in cells])
        print(line_of(self.lines[-1]), flush=True)
        self.keep()

    def keep(self):
        if self.folder:
            found = {"part": self.name, "head": self.head, "columns": self.columns, "lines": self.lines, "rows": self.rows}
            (self.folder / f"{self.name}.json").write_text(json.dumps(found, indent=1))
            (self.folder / f"{self.name}.md").write_text(text_of([found]))

    def failed(self):
        return any("error" in row for row in self.rows)


def line_of(cells):
    return "| " + " | ".join(cells) + " |"


def title_of(columns):
    return [line_of(columns), "|" + "---|" * len(columns)]


def text_of(reports):
    """One table of several runs of a part."""
    heads = "\n".join(dict.fromkeys(report["head"] for report in reports))
    return "\n".join([heads, "", *title_of(reports[0]["columns"]), *(line_of(line) for report in reports for line in report["lines"])])


def figure(value, digits=2):
    return "" if value is None else f"{value:.{digits}f}"


def ratio(peer, ours):
    return "" if peer is None or not ours else f"{peer / ours:.2f}"


def differing(row):
    """A word behind a ratio of results that are not the same: f16 rounds, and no two libraries in the same places."""
    error = row.get("error_of_largest", 0)
    return "" if error < 0.05 else f" (results differ by {error:.2f} of the largest)"


def peer_head(what):
    why = why_no_torch()
    if why:
        return f"no peer: {why}"
    import torch
    return f"beside torch {torch.__version__} ({what})"
