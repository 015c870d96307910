#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Streams of H.264 through decoding, detection and tracking to lines of JSON: a pipeline of elements beside GStreamer's stock elements with
OpenVINO behind appsinks, and beside a program written by hand with threads, libavcodec and OpenVINO.

All compute in f32 and decode with one thread a stream. Runs take turns; a ratio is of neighbours. The cases, which all run unless --case names one:

streams  four of 1080p
zones    eight of 720p, and objects are counted in zones and at a line
places   the same, and the model looks at every third frame; objects are at the places where they are expected in those between
turns    sixteen of 720p as in `zones`, that are started and stopped at random, beside the sixteen that run all the time
"""
import argparse
import datetime
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT / "bench/peers")]
import stats  # noqa: E402
import tables  # noqa: E402

TITLES = {
    "elements": "file, infer, track and a sink: Tenon's elements",
    "appsink": "GStreamer's stock elements, OpenVINO behind appsinks",
    "by_hand": "libavcodec, threads and OpenVINO, by hand",
}
LARGE, SMALL = (1920, 1080), (1280, 720)
# block: the table in docs/benchmarks.md. aims: how many times faster elements are to be than these; None: it is only shown.
CASES = {
    "streams": {"block": "elements", "size": LARGE, "streams": 4, "flags": [], "aims": {"appsink": 1.3, "by_hand": 1.0}},
    "zones": {"block": "elements_zones", "size": SMALL, "streams": 8, "flags": ["--zones"], "aims": {"appsink": 1.6, "by_hand": 1.0}},
    "places": {"block": "elements_places", "size": SMALL, "streams": 8, "flags": ["--zones", "--interval=3"], "aims": {"appsink": 2.2, "by_hand": None}},
    "turns": {"block": "elements_turns", "size": SMALL, "streams": 16, "flags": ["--zones"], "aims": {}},
}
TURNS_AIM = 0.95


def clip(folder, frames, size):
    """The demo's clip in this size."""
    made = folder / f"demo_{size[1]}p_{frames}.mp4"
    if not made.exists():
        part = made.with_suffix(".part.mp4")
        subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", str(ROOT / "models/demo.mp4"), "-frames:v", str(frames), "-vf", f"scale={size[0]}:{size[1]}",
                        "-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-pix_fmt", "yuv420p", "-movflags", "+faststart", str(part)],
                       check=True, stderr=subprocess.DEVNULL)
        part.rename(made)
    return made


def run(build, name, flags, clips, cores):
    with tempfile.NamedTemporaryFile(suffix=".json") as lines:
        command = [str(build / f"peers/streams_{name}"), *flags, str(ROOT / "models/demo.onnx"), lines.name, *map(str, clips)]
        command = ["taskset", "-c", cores] + command
        done = subprocess.run(command, capture_output=True, text=True, timeout=900)
        if done.returncode != 0:
            raise SystemExit(f"{name}: {done.stderr}")
        words = next(line for line in done.stdout.splitlines() if line.startswith("frames")).split()
        result = dict(zip(words[::2], map(float, words[1::2])))
        written = sum(1 for _ in open(lines.name, encoding="utf-8"))
        if written != result["frames"]:
            raise SystemExit(f"{name}: {written} lines for {result['frames']:.0f} frames")
    return result


def check_same(found, wanted, name):
    """All programs find the same, but for the decoders' and scalers' last bits."""
    if any(one["frames"] != wanted["frames"] for one in found) or abs(found[0]["detections"] / wanted["detections"] - 1) > 0.05:
        raise SystemExit(f"{name} finds {found[0]['detections']:.0f} objects in {found[0]['frames']:.0f} frames; elements find "
                         f"{wanted['detections']:.0f} in {wanted['frames']:.0f}")


def measure(case, options):
    """The table of one case."""
    streams = options.streams or case["streams"]
    folder = options.build / "elements_bench"
    folder.mkdir(exist_ok=True)
    clips = [clip(folder, options.frames, case["size"])] * streams
    # Rows: a title, a program, its flags, and the aim of the ratio.
    rows = [(TITLES[name], name, case["flags"], case["aims"].get(name)) for name in TITLES if name == "elements" or name in case["aims"]]
    takes_turns = not case["aims"]
    if takes_turns:
        rows = [(f"{streams} streams that run all the time", "elements", case["flags"], None),
                (f"started and stopped at random, {max(1, streams // 4)} to {streams} at a time", "elements",
                 [*case["flags"], f"--turns={streams * options.frames}"], TURNS_AIM)]
    rows = [row for row in rows if (options.build / f"peers/streams_{row[1]}").exists()]
    found = [[] for _ in rows]
    for _, name, flags, _ in rows:
        run(options.build, name, flags, clips, options.cores)  # Pages and caches.
    for turn in range(options.rounds):
        for at in [(turn + i) % len(rows) for i in range(len(rows))]:
            title, name, flags, _ = rows[at]
            found[at].append(run(options.build, name, flags, clips, options.cores))
            print(f"round {turn + 1}: {title} {found[at][-1]['frames'] / found[at][-1]['seconds']:.1f} frames/s", flush=True)
    seconds = [[one["seconds"] / one["frames"] for one in runs] for runs in found]
    lines = []
    for at, (title, name, _, aim) in enumerate(rows):
        runs = found[at]
        if not takes_turns:
            check_same(runs, found[0][0], name)
        ratio = ""
        if at > 0:
            value = stats.ratio(seconds[0], seconds[at]) if takes_turns else stats.ratio(seconds[at], seconds[0])
            ratio = stats.shown(value, aim) + (f", aim {aim}" if aim else "")
        copied = runs[0]["copied"]
        lines.append([title, f"{statistics.median(1 / each for each in seconds[at]):.1f}", ratio,
                      f"{statistics.median(one['processor'] / one['frames'] for one in runs) * 1e3:.1f} ms",
                      stats.bytes_shown(copied) if copied >= 0 else "", f"{runs[0]['detections']:.0f}"])
    width, height = case["size"]
    head = [f"{streams} streams of {width}x{height} h264", "frames/s", "speed beside the first" if takes_turns else "elements are faster by",
            "processor time per frame", "copied per frame, by the ledger", "objects"]
    return "\n".join([f"{datetime.date.today()}, {len(options.cores.split(','))} cores, load {os.getloadavg()[0]:.1f} after; {options.frames} frames "
                      f"a stream, {options.rounds} rounds; `./dev bench elements` makes this table.", "", *stats.table(head, lines)])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--case", action="append", choices=list(CASES))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--frames", type=int, default=150, help="of each stream")
    parser.add_argument("--streams", type=int, help="instead of the case's own number")
    parser.add_argument("--cores", default="0,1")
    parser.add_argument("--no-docs", action="store_true")
    options = parser.parse_args()
    for name in options.case or CASES:
        text = measure(CASES[name], options)
        print(text)
        if not options.no_docs:
            tables.write(CASES[name]["block"], text)


if __name__ == "__main__":
    main()
