#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends pictures of a video to a detector that tenon.serve serves, by tritonclient alone, and prints the best object of each."""
import argparse
import subprocess

import numpy
import tritonclient.grpc as grpc

WIDTH, HEIGHT = 512, 288
LABELS = ("circle", "square", "triangle", "star")


def pictures(path, count):
    """Pictures [1, 3, height, width] with values from 0 to 1."""
    command = ["ffmpeg", "-v", "error", "-i", path, "-frames:v", str(count), "-vf", f"scale={WIDTH}:{HEIGHT}", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    raw = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    frames = numpy.frombuffer(raw, numpy.uint8).reshape(-1, HEIGHT, WIDTH, 3)
    for frame in frames:
        yield numpy.ascontiguousarray(frame.transpose(2, 0, 1)[None], numpy.float32) / 255


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("video")
    parser.add_argument("--address", default="127.0.0.1:8081")
    parser.add_argument("--model", default="demo")
    parser.add_argument("--frames", type=int, default=5)
    given = parser.parse_args()
    client = grpc.InferenceServerClient(given.address)
    for number, picture in enumerate(pictures(given.video, given.frames)):
        image = grpc.InferInput("image", list(picture.shape), "FP32")
        image.set_data_from_numpy(picture)
        found = client.infer(given.model, [image]).as_numpy("output")[0]
        scores = found[:, 4:5] * found[:, 5:]
        place, label = numpy.unravel_index(scores.argmax(), scores.shape)
        print(f"frame {number}: {LABELS[label]} {scores[place, label]:.2f}")


if __name__ == "__main__":
    main()
