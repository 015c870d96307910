#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Four 1080p streams of H.264 through decoding, detection and tracking to lines of JSON: a pipeline of elements beside GStreamer's stock
elements with OpenVINO behind appsinks, and beside a program written by hand with threads, libavcodec and OpenVINO.

All compute in f32 and decode with one thread a stream. Runs take turns; a ratio is of neighbours."""
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

PROGRAMS = {
    "elements": ("file, infer, track and a sink: Tenon's elements", None),
    "appsink": ("GStreamer's stock elements, OpenVINO behind appsinks", 1.3),
    "by_hand": ("libavcodec, threads and OpenVINO, by hand", 1.0),
}


def clip(folder, frames):
    """The demo's clip in 1920x1080."""
    made = folder / f"demo_1080p_{frames}.mp4"
    if not made.exists():
        part = made.with_suffix(".part.mp4")
        subprocess.run(["ffmpeg", "-v", "error", "-y", "-i", str(ROOT / "models/demo.mp4"), "-frames:v", str(frames), "-vf", "scale=1920:1080",
                        "-c:v", "libx264", "-preset", "veryfast", "-crf", "20", "-pix_fmt", "yuv420p", "-movflags", "+faststart", str(part)],
                       check=True, stderr=subprocess.DEVNULL)
        part.rename(made)
    return made


def run(build, name, clips, cores):
    with tempfile.NamedTemporaryFile(suffix=".json") as lines:
        command = [str(build / f"peers/streams_{name}"), str(ROOT / "models/demo.onnx"), lines.name, *map(str, clips)]
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--frames", type=int, default=150)
    parser.add_argument("--streams", type=int, default=4)
    parser.add_argument("--cores", default="0,1")
    parser.add_argument("--no-docs", action="store_true")
    options = parser.parse_args()
    folder = options.build / "elements_bench"
    folder.mkdir(exist_ok=True)
    clips = [clip(folder, options.frames)] * options.streams
    names = [name for name in PROGRAMS if (options.build / f"peers/streams_{name}").exists()]
    found = {name: [] for name in names}
    for name in names:
        run(options.build, name, clips, options.cores)  # Pages and caches.
    for turn in range(options.rounds):
        for name in names[turn % len(names):] + names[: turn % len(names)]:
            found[name].append(run(options.build, name, clips, options.cores))
            print(f"round {turn + 1}: {name} {found[name][-1]['frames'] / found[name][-1]['seconds']:.1f} frames/s", flush=True)
    wanted = found["elements"][0]
    rows = []
    for name in names:
        runs = found[name]
        if any(one["frames"] != wanted["frames"] for one in runs) or abs(runs[0]["detections"] / wanted["detections"] - 1) > 0.05:
            raise SystemExit(f"{name} finds {runs[0]['detections']:.0f} objects in {runs[0]['frames']:.0f} frames; elements find "
                             f"{wanted['detections']:.0f} in {wanted['frames']:.0f}")
        title, aim = PROGRAMS[name]
        ratio = ""
        if aim:
            value = stats.ratio([one["seconds"] for one in runs], [one["seconds"] for one in found["elements"]])
            ratio = stats.shown(value, aim) + f", aim {aim}"
        copied = runs[0]["copied"]
        rows.append([title, f"{statistics.median(one['frames'] / one['seconds'] for one in runs):.1f}", ratio,
                     f"{statistics.median(one['processor'] / one['frames'] for one in runs) * 1e3:.1f} ms",
                     stats.bytes_shown(copied) if copied >= 0 else "", f"{runs[0]['detections']:.0f}"])
    head = [f"{options.streams} streams of 1920x1080 h264", "frames/s", "elements are faster by", "processor time per frame",
            "copied per frame, by the ledger", "objects"]
    text = "\n".join([f"{datetime.date.today()}, {len(options.cores.split(','))} cores, load {os.getloadavg()[0]:.1f} after; {options.frames} frames "
                      f"a stream, {options.rounds} rounds; `./dev bench elements` makes this table.", "", *stats.table(head, rows)])
    print(text)
    if not options.no_docs:
        tables.write("elements", text)


if __name__ == "__main__":
    main()
