# SPDX-License-Identifier: Apache-2.0
"""Independent judge of the demo: ffmpeg decodes, ONNX Runtime infers, NumPy decodes boxes and computes mAP@0.5.

Needs ffmpeg and the PyPI package onnxruntime. Shares no code with the C++ tool.
"""

import argparse
import json
import subprocess
import sys
import time

import numpy as np
import onnxruntime

import metrics


def decoded_frames(path, width, height):
    """RGB frames; colour converted with the matrix and range that the stream declares."""
    command = ["ffmpeg", "-v", "error", "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24"]
    command += ["-sws_flags", "bilinear+accurate_rnd+full_chroma_int", "-"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    size = width * height * 3
    while len(data := process.stdout.read(size)) == size:
        yield np.frombuffer(data, np.uint8).reshape(height, width, 3)
    if process.wait() != 0:
        raise SystemExit(f"ffmpeg could not decode {path}")


def _taps(source, target):
    """Plain bilinear sampling with pixel centres aligned (half-pixel), two taps, no antialiasing."""
    where = np.clip((np.arange(target) + 0.5) * source / target - 0.5, 0, source - 1)
    low = np.floor(where).astype(int)
    return low, np.minimum(low + 1, source - 1), (where - low).astype(np.float32)


def resize(picture, width, height):
    y0, y1, fy = _taps(picture.shape[0], height)
    x0, x1, fx = _taps(picture.shape[1], width)
    top, bottom = picture[y0].astype(np.float32), picture[y1].astype(np.float32)
    rows = top + (bottom - top) * fy[:, None, None]
    return rows[:, x0] + (rows[:, x1] - rows[:, x0]) * fx[:, None]


class Judge:
    """The model with what its metadata says of its input and labels."""

    def __init__(self, path, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        properties = self.session.get_modelmeta().custom_metadata_map
        self.info = {key.split(" ", 1)[1]: value for key, value in properties.items() if key.startswith("model_info ")}
        assert self.info["model_type"] == "YOLOX" and self.info["reverse_input_channels"] == "YES", self.info
        self.labels = self.info["labels"].split()
        self.mean = np.array(self.info["mean_values"].split(), np.float32)
        self.scale = np.array(self.info["scale_values"].split(), np.float32)
        _, _, self.height, self.width = self.session.get_inputs()[0].shape
        self.grid = self._grid()

    def _grid(self):
        cells = []
        for stride in (8, 16, 32):
            y, x = np.mgrid[: self.height // stride, : self.width // stride]
            cells.append(np.stack([x.ravel(), y.ravel(), np.full(x.size, stride)], 1))
        return np.concatenate(cells).astype(np.float32)

    def detect(self, picture, confidence, overlap):
        """Detections (label, score, box) in pixels of the picture."""
        x = (resize(picture, self.width, self.height) - self.mean) / self.scale
        rows = self.session.run(["output"], {"image": np.ascontiguousarray(x.transpose(2, 0, 1)[None])})[0][0]
        stride = self.grid[:, 2:]
        centre, half = (rows[:, :2] + self.grid[:, :2]) * stride, np.exp(rows[:, 2:4]) * stride / 2
        ratio = np.array([picture.shape[1] / self.width, picture.shape[0] / self.height] * 2, np.float32)
        boxes = np.clip(np.concatenate([centre - half, centre + half], 1) * ratio, 0, (picture.shape[1::-1] * 2))
        return metrics.select(boxes, rows[:, 4:5] * rows[:, 5:], confidence, overlap)


def evaluate(options):
    with open(options.truth, encoding="utf-8") as file:
        truth = json.load(file)
    judge = Judge(options.model, options.threads)
    assert truth["labels"] == judge.labels, "ground truth and model disagree on labels"
    video, found, started = truth["video"], [], time.time()
    for picture in decoded_frames(options.video, video["width"], video["height"]):
        found.append(judge.detect(picture, options.confidence, float(judge.info["iou_threshold"])))
    assert len(found) == video["frames"], f"{len(found)} frames decoded, {video['frames']} described"
    wanted = [
        [(judge.labels.index(o["label"]), np.array(o["box"]), o.get("difficult", False)) for o in frame["objects"]]
        for frame in truth["frames"]
    ]
    print(f"{len(found)} frames in {time.time() - started:.1f} s")
    return judge, found, wanted


def report(judge, found, wanted):
    values = []
    for k, label in enumerate(judge.labels):
        value = metrics.average_precision(found, wanted, k, 0.5)
        count = sum(kind == k and not hard for frame in wanted for kind, _, hard in frame)
        print(f"{label:10s} AP@0.5 {value if value is not None else float('nan'):.4f}  ({count} objects)")
        values.append(value)
    return float(np.mean([value for value in values if value is not None]))


def operating_point(judge, found, wanted):
    """Precision and recall of what a user sees: detections above the model's own confidence threshold."""
    threshold, right, wrong = float(judge.info["confidence_threshold"]), 0, 0
    for frame, objects in zip(found, wanted):
        taken = set()
        for label, score, box in frame:
            if score < threshold:
                continue
            hits = [(metrics.iou(box, o[1][None])[0], k) for k, o in enumerate(objects) if o[0] == label]
            overlap, best = max(hits, default=(0.0, None))
            if overlap >= 0.5 and objects[best][2]:
                continue
            if overlap >= 0.5 and best not in taken:
                taken.add(best)
                right += 1
            else:
                wrong += 1
    total = sum(not o[2] for objects in wanted for o in objects)
    print(f"at confidence {threshold}: precision {right / max(right + wrong, 1):.4f}, recall {right / total:.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="demo.onnx")
    parser.add_argument("--video", default="demo.mp4")
    parser.add_argument("--truth", default="demo.json")
    parser.add_argument("--confidence", type=float, default=0.01, help="0.01 shows the whole curve; mAP needs it low")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--require", type=float, default=0.0, help="exit with 1 below this mAP@0.5")
    options = parser.parse_args()
    results = evaluate(options)
    operating_point(*results)
    value = report(*results)
    print(f"mAP@0.5 {value:.4f} at confidence >= {options.confidence}")
    sys.exit(value < options.require)


if __name__ == "__main__":
    main()
