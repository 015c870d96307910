#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds, follows and counts objects in a video or a camera's stream, draws them, and saves the video."""
import argparse
from collections import Counter

import tenon as tn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("video", help="a file, rtsp://..., /dev/video0, a folder of pictures")
    parser.add_argument("model", help="ONNX, or the .xml of an OpenVINO IR")
    parser.add_argument("--device", default="AUTO")
    parser.add_argument("--threshold", type=float, default=0.5)
    parser.add_argument("--save", help="writes the video with boxes")
    parser.add_argument("--frames", type=int, default=0, help="only so many")
    given = parser.parse_args()

    seen: dict[int, str] = {}

    def count(frame: tn.Frame) -> None:
        for found in frame.detections:
            seen[found.track_id] = found.label

    pipeline = tn.Pipeline(frames=given.frames)
    if given.video.startswith("/dev/video"):
        pipeline.add("camera", device=given.video)
    else:
        pipeline.add("file", path=given.video)
    pipeline.add("infer", model=given.model, device=given.device, confidence=given.threshold).add("track").add(count)
    if given.save:
        pipeline.add("draw").add("write", path=given.save)
    else:
        pipeline.add("null")
    pipeline.run()
    for node in pipeline.stats:
        print(f"{node['name']}: {node['frames_in']} frames in, {node['copied']} bytes copied, {1000 * node['p50']:.1f} ms after reading")
    print("objects:", ", ".join(f"{number} x {label}" for label, number in sorted(Counter(seen.values()).items())))


if __name__ == "__main__":
    main()
