# SPDX-License-Identifier: Apache-2.0
"""Renders the demo clip (H.264, 1280x720, 20 s) and its ground truth from seeds that training never sees.

Needs python3-numpy and ffmpeg (libx264) of Debian 12.
"""

import argparse
import json
import os
import subprocess

import numpy as np

import metrics
import scenes

FPS, SECONDS = 30, 20
SHOTS = (7, 18, 20, 12, 2)  # offsets into CLIP_SEEDS, one background and set of objects each; chosen for looks
# World units; noise is moderate, since a codec spends its bits on it.
SIZES, NOISE, THINGS = (24.0, 220.0), (1.0, 3.0), (5, 9)


def frames(first_seed, shots, count):
    """Yields (picture uint8 [720, 1280, 3], truths, shot) for every frame; equal shots with hard cuts."""
    per_shot = -(-count // len(shots))
    scene = None
    for index in range(count):
        shot, inner = divmod(index, per_shot)
        if inner == 0:
            scene = scenes.Scene(first_seed + shots[shot], THINGS, SIZES, NOISE)
        picture, truths = scene.render(inner / FPS)
        picture = scenes.add_sensor_noise(picture, scene.noise, np.random.default_rng((scene.seed, inner)))
        yield np.round(picture).astype(np.uint8), truths, shot


def encoder(path, kilobits):
    """An ffmpeg process that takes RGB frames and writes BT.709 limited range, flagged as such."""
    colour = "scale=in_range=full:out_range=limited:out_color_matrix=bt709:flags=area+accurate_rnd,format=yuv420p"
    command = ["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24"]
    command += ["-s", f"{scenes.WORLD_W}x{scenes.WORLD_H}", "-r", str(FPS), "-i", "-", "-vf", colour]
    command += ["-c:v", "libx264", "-preset", "medium", "-crf", "23", "-bf", "3", "-g", "60"]
    command += ["-maxrate", f"{kilobits}k", "-bufsize", f"{2 * kilobits}k", "-profile:v", "high"]
    command += ["-color_range", "tv", "-colorspace", "bt709", "-color_primaries", "bt709", "-color_trc", "bt709"]
    # One thread and no version string: the same bytes from the same encoder, whatever the machine.
    command += ["-threads", "1", "-fflags", "+bitexact", "-flags:v", "+bitexact", "-map_metadata", "-1"]
    return subprocess.Popen(command + ["-movflags", "+faststart", path], stdin=subprocess.PIPE)


def describe(index, truths, shot):
    """An object's id is the same in all frames, and that of no other object of the clip."""
    objects = []
    for truth in truths:
        entry = {"label": scenes.LABELS[truth.label], "box": [round(v, 1) for v in truth.box], "id": 100 * shot + truth.thing}
        if metrics.is_difficult(truth):
            entry["difficult"] = True
        objects.append(entry)
    return {"index": index, "objects": objects}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--video", default="demo.mp4")
    parser.add_argument("--truth", default="demo.json")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--shots", type=int, nargs="+", default=SHOTS)
    parser.add_argument("--validation", action="store_true", help="use validation seeds: for tuning, not for the demo")
    parser.add_argument("--kilobits", type=int, default=3600)
    options = parser.parse_args()
    seeds = scenes.VALIDATION_SEEDS if options.validation else scenes.CLIP_SEEDS
    assert all(seeds.start + shot in seeds and seeds.start + shot not in scenes.TRAIN_SEEDS for shot in options.shots)
    count, described = int(options.seconds * FPS), []
    process = encoder(options.video, options.kilobits)
    for index, (picture, truths, shot) in enumerate(frames(seeds.start, options.shots, count)):
        process.stdin.write(picture.tobytes())
        described.append(describe(index, truths, shot))
        if (index + 1) % 60 == 0:
            print(f"frame {index + 1}/{count}", flush=True)
    process.stdin.close()
    if process.wait() != 0:
        raise SystemExit(f"ffmpeg could not write {options.video}")
    write_truth(options.truth, described)
    print(f"{options.video}: {os.path.getsize(options.video)} bytes; {options.truth}: {os.path.getsize(options.truth)} bytes")


def write_truth(path, described):
    video = {"width": scenes.WORLD_W, "height": scenes.WORLD_H, "fps": FPS, "frames": len(described)}
    head = json.dumps({"video": video, "labels": list(scenes.LABELS)})[:-1]
    with open(path, "w", encoding="utf-8") as file:
        rows = ",\n".join(json.dumps(frame, separators=(",", ":")) for frame in described)
        file.write(f'{head}, "frames": [\n{rows}\n]}}\n')


if __name__ == "__main__":
    main()
