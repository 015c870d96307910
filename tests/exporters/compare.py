#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what Tenon makes of real exports against what the exporters' own programs made of them: compare.py TENON FOLDER, where exports.py
wrote FOLDER. Nothing is given by hand: labels, preparation and decoder come from what the exporters wrote. Prints a line for each model."""
import json
import math
import pathlib
import subprocess
import sys


def known(tenon, model):
    return json.loads(subprocess.run([tenon, "query", model, "--json"], check=True, capture_output=True, text=True, timeout=120).stdout)["known"]


def results(tenon, model, photo, folder, **parameters):
    """The metadata of one picture."""
    pipeline = {"nodes": [{"element": "file", "parameters": {"path": photo}},
                          {"element": "infer", "parameters": {"model": model, "top_k": "5000", **parameters}},
                          {"element": "json", "parameters": {"path": str(folder / "found.json")}}]}
    (folder / "pipeline.json").write_text(json.dumps(pipeline))
    subprocess.run([tenon, "pipeline", str(folder / "pipeline.json")], check=True, capture_output=True, timeout=300)
    return json.loads((folder / "found.json").read_text().splitlines()[0])["metadata"]


def iou(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    area = lambda box: (box[2] - box[0]) * (box[3] - box[1])
    return width * height / (area(a) + area(b) - width * height)


def around(corners):
    return [min(corners[0::2]), min(corners[1::2]), max(corners[0::2]), max(corners[1::2])]


def compare_classes(own, found):
    """The largest difference of a probability, as a part of the largest probability."""
    by_label = {one["label_id"]: one["score"] for one in found if one["kind"] == "classification"}
    return max(abs(p - by_label.get(i, 0.0)) for i, p in enumerate(own["probabilities"])) / max(own["probabilities"])


def is_compared(box, width, height):
    """Boxes beside the picture, which the exporter keeps as lines at its edge, are left out here, and its edge cuts turned boxes."""
    x1, y1, x2, y2 = around(box) if len(box) == 8 else box
    is_inside = x1 >= 0 and y1 >= 0 and x2 <= width and y2 <= height
    return x2 - x1 > 1 and y2 - y1 > 1 and (len(box) == 4 or is_inside)


def compare_boxes(own, found, size):
    """The part of the exporter's 20 best objects that are found with the same class at the same place and score."""
    boxes = [one for one in found if one["kind"] == "detection"]
    best = [one for one in zip(own["boxes"], own["scores"], own["classes"]) if is_compared(one[0], *size)][:20]
    if not best:
        raise SystemExit("the exporter's program found nothing, which is no reference")
    same = 0
    for box, score, label in best:
        place = around(box) if len(box) == 8 else box
        same += any(one["label_id"] == label and abs(one["score"] - score) < 0.03 and iou(one["box"], place) > 0.85
                    for one in boxes)
    return same / len(best)


def compare_input(own, found):
    """The largest difference of a block of the model's input, as a part of the values' range. The probe's values are read as logits."""
    by_label = {one["label_id"]: one["score"] for one in found if one["kind"] == "classification"}
    wanted = own["prepared"]
    zero = by_label[len(wanted)]
    worst = max(abs(math.log(by_label[i] / zero) - value) for i, value in enumerate(wanted))
    return worst / (max(wanted) - min(wanted))


def main(tenon, folder):
    folder = pathlib.Path(folder)
    exports = json.loads((folder / "exports.json").read_text())
    failed = 0
    for name, own in sorted(exports["models"].items()):
        said = known(tenon, own["model"])
        labels = [label.replace("_", " ") for label in said["labels"]]
        right = labels == own["names"]
        text = f"{len(labels)} labels" if right else f"labels {labels[:3]}, not {own['names'][:3]}"
        names = ",".join(f"v{i}" for i in range(len(own["prepared"]) + 1))
        fed = results(tenon, own["probe"], exports["photo"], folder, decode="Classification", model_labels=names, confidence="0")
        off = compare_input(own, fed)
        right &= off < 0.02
        text += f", input within {off:.1%} of its range"
        found = results(tenon, own["model"], exports["photo"], folder, confidence="0.01" if "boxes" in own else "0")
        if "probabilities" in own:
            off = compare_classes(own, found)
            right &= off < 0.05
            text += f", probabilities within {off:.1%} of the largest"
        if "boxes" in own:
            part = compare_boxes(own, found, exports["size"])
            right &= part >= 0.9
            text += f", {part:.0%} of the best objects the same"
        for remark in said["remarks"]:
            text += f"; {remark}"
        failed += not right
        print(f"{'same' if right else 'DIFFERS':8}{name}: {said['decoder']}, {text}")
    print(f"{len(exports['models']) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
