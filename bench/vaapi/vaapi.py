#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Decoding by the software VA-API driver beside ffmpeg's own decoders of the same clips, with equal threads.

Both give every frame in plain memory: the driver's come through hwdownload. Runs take turns; a ratio is of two neighbours."""
import argparse
import datetime
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
import tables  # noqa: E402

AIM = 0.9
X264 = "-c:v libx264 -preset veryfast -pix_fmt yuv420p"
# Name: size, ffmpeg's encoder, decoder of ffmpeg's own, decoder for VA-API.
CLIPS = {
    "h264": ("1920x1080", f"{X264} -crf 20", "h264", "h264"),
    "h264, 30 Mbit/s": ("1920x1080", f"{X264} -b:v 30M", "h264", "h264"),
    "h264, 4 slices": ("1920x1080", f"{X264} -crf 20 -x264-params slices=4", "h264", "h264"),
    "h264, 720p": ("1280x720", f"{X264} -crf 20", "h264", "h264"),
    "hevc": ("1920x1080", "-c:v libx265 -preset ultrafast -crf 22 -x265-params log-level=none -pix_fmt yuv420p", "hevc", "hevc"),
    "vp9": ("1920x1080", "-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -b:v 8M -pix_fmt yuv420p", "vp9", "vp9"),
    "av1": ("1920x1080", "-c:v libsvtav1 -preset 11 -crf 30 -pix_fmt yuv420p", "libdav1d", "av1"),
}


def make(folder, name, frames):
    size, encoder, _, _ = CLIPS[name]
    clip = folder / f"{name.replace(' ', '_').replace(',', '').replace('/', '_')}_{frames}.mkv"
    if not clip.exists():
        part = clip.with_suffix(".part.mkv")
        source = f"testsrc2=size={size}:rate=25,noise=alls=14:allf=t"
        subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", source, "-frames:v", str(frames), *encoder.split(), str(part)],
                       check=True, stderr=subprocess.DEVNULL)
        part.rename(clip)
    return clip


def seconds(command, environment):
    start = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def commands(clip, name, threads, frames):
    _, _, own, hardware = CLIPS[name]
    begin = ["ffmpeg", "-v", "error", "-nostdin", "-threads", str(threads)]
    end = ["-frames:v", str(frames), "-f", "null", "-"]
    software = begin + ["-c:v", own, "-i", str(clip)] + end
    driver = begin + ["-c:v", hardware, "-hwaccel", "vaapi", "-hwaccel_output_format", "vaapi", "-i", str(clip),
                      "-vf", "hwdownload,format=nv12"] + end
    return software, driver


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--frames", type=int, default=150)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--only", default=",".join(CLIPS).replace(", ", "+"), help="names of clips, + for a comma and a space")
    parser.add_argument("--no-docs", action="store_true")
    options = parser.parse_args()
    library = options.build / "lib/va"
    folder = options.build / "va_bench"
    folder.mkdir(exist_ok=True)
    plain = {key: value for key, value in os.environ.items() if not key.startswith("LIBVA_")}
    lines = []
    for name in options.only.split(","):
        name = name.replace("+", ", ")
        clip = make(folder, name, options.frames)
        megabits = clip.stat().st_size * 8 * 25 / options.frames / 1e6
        for threads in map(int, options.threads.split(",")):
            ours = plain | {"LIBVA_DRIVERS_PATH": str(library), "LIBVA_DRIVER_NAME": "tenon", "LIBVA_MESSAGING_LEVEL": "0",
                            "TENON_VA_THREADS": str(threads)}
            if not os.path.exists("/dev/dri/renderD128"):
                ours["LD_PRELOAD"] = str(library / "libtenon_render_node.so")
            software, driver = commands(clip, name, threads, options.frames)
            seconds(software, plain), seconds(driver, ours)  # Pages and caches.
            pairs = [(seconds(software, plain), seconds(driver, ours)) for _ in range(options.rounds)]
            ratios = sorted(a / b for a, b in pairs)
            middle = statistics.median(ratios)
            quartiles = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [middle] * 3
            per_second = [options.frames / statistics.median(times) for times in zip(*pairs)]
            lines.append(f"| {name} | {megabits:.1f} | {threads} | {per_second[0]:.0f} | {per_second[1]:.0f} | {middle:.2f} "
                         f"[{quartiles[0]:.2f} to {quartiles[2]:.2f}] | {AIM}{'' if middle >= AIM else ', missed'} |")
            print(lines[-1], flush=True)
    text = "\n".join([
        f"{datetime.date.today()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} after; {options.frames} frames, "
        f"{options.rounds} rounds; `./dev bench vaapi` makes this table.", "",
        "| clip | Mbit/s | threads | ffmpeg's own, frames/s | by the driver | speed | aim |", "|---|---|---|---|---|---|---|", *lines])
    if not options.no_docs:
        tables.write("vaapi", text)


if __name__ == "__main__":
    main()
