#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds what Tenon makes of real exports against what the exporters' own programs made of them: compare.py TENON FOLDER [EXPORT...], where
exports.py wrote FOLDER. Labels, preparation and decoder come from what the exporters wrote, and by hand where they write nothing. Needs the
Python package of Tenon. Prints a line for each export, and a count by family."""
import collections
import json
import math
import pathlib
import subprocess
import sys

import numpy as np
import tenon as tn

TOP_K = 5000
# As the exporters' programs compute. Where a CPU has bf16, devices compute in it by default, and random weights make other objects of its digits.
IN_F32 = "INFERENCE_PRECISION_HINT=f32"


def facts_as_options(own):
    return [part for key, value in facts_of(own).items() for part in ("--fact", f"{key}={value}")]


def known(tenon, own):
    told = subprocess.run([tenon, "query", own["model"], "--json", *facts_as_options(own)], check=True, capture_output=True, text=True, timeout=120)
    return json.loads(told.stdout)["known"]


def judge_run(judge, tenon, own, found, confidence):
    """The command that people begin with finds as many objects and classes in the picture as the pipeline, whose results are compared."""
    report = pathlib.Path(own["model"]).with_name("report.json")
    labels = ["--fact", "labels=" + ",".join(own["facts_labels"])] if "facts_labels" in own else []
    run = subprocess.run([tenon, "run", own["photo"], "-m", own["model"], "-q", "--no-compare", "--report", report, "--confidence", str(confidence),
                          "--top-k", str(TOP_K), "--set", IN_F32, *facts_as_options(own), *labels], capture_output=True, text=True, timeout=300)
    if run.returncode != 0:
        raise RuntimeError(f"tenon run: {(run.stderr or run.stdout).strip()[-600:]}")
    count, wanted = json.loads(report.read_text())["detections"], len(found.boxes) + len(found.by_label)
    judge.say(count == wanted, f"{count} by tenon run" if count == wanted else f"{count} by tenon run, not {wanted}")


def facts_of(own):
    return own.get("facts", {})


class Found:
    """What a pipeline found in one picture."""

    def __init__(self, model, photo, **parameters):
        pipeline = tn.Pipeline().add("file", path=photo).add("infer", model=model, top_k=TOP_K, timeout_ms=120000,
                                                                 properties=IN_F32, **parameters)
        frames = list(pipeline)
        if len(frames) != 1:
            raise RuntimeError(f"{len(frames)} pictures came: {pipeline.failures}")
        self.entries = json.loads(frames[0].json())["metadata"]
        self.masks = [dict(one, mask=np.from_dlpack(one["mask"])) for one in frames[0].masks]
        self.tensors = frames[0].tensors
        self.boxes = [one for one in self.entries if one["kind"] == "detection"]
        self.by_label = {one["label_id"]: one["score"] for one in self.entries if one["kind"] == "classification"}

    def same(self, box, score, label):
        """The object of that class at that place with that score, or None."""
        near = [one for one in self.boxes if one["label_id"] == label and abs(one["score"] - score) < 0.03 and iou(one["box"], box) > 0.85]
        return max(near, key=lambda one: iou(one["box"], box), default=None)

    def mask_of(self, parent, height, width):
        """The mask of an object, or of the picture, in the cells of a picture of that size."""
        made, frame = np.zeros((height, width), np.uint8), (self.size[1], self.size[0])
        for one in self.masks:
            if one["parent"] != parent:
                continue
            x1, y1, x2, y2 = one["box"]
            rows = ((np.arange(height) + 0.5) * frame[0] / height - y1) / (y2 - y1) * one["mask"].shape[0]
            columns = ((np.arange(width) + 0.5) * frame[1] / width - x1) / (x2 - x1) * one["mask"].shape[1]
            in_rows, in_columns = (rows >= 0) & (rows < one["mask"].shape[0]), (columns >= 0) & (columns < one["mask"].shape[1])
            made[np.ix_(in_rows, in_columns)] = one["mask"][np.ix_(rows[in_rows].astype(int), columns[in_columns].astype(int))]
        return made


def iou(a, b):
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    area = lambda box: (box[2] - box[0]) * (box[3] - box[1])
    return width * height / (area(a) + area(b) - width * height)


def around(corners):
    return [min(corners[0::2]), min(corners[1::2]), max(corners[0::2]), max(corners[1::2])]


def is_compared(box, width, height):
    """Boxes beside the picture, which the exporter keeps as lines at its edge, are left out here, and its edge cuts turned boxes."""
    x1, y1, x2, y2 = around(box) if len(box) == 8 else box
    is_inside = x1 >= 0 and y1 >= 0 and x2 <= width and y2 <= height
    x1, y1, x2, y2 = max(x1, 0), max(y1, 0), min(x2, width), min(y2, height)
    return x2 - x1 > 1 and y2 - y1 > 1 and (len(box) == 4 or is_inside)


def clipped(box, width, height):
    return around(box) if len(box) == 8 else [max(box[0], 0), max(box[1], 0), min(box[2], width), min(box[3], height)]


class Judge:
    def __init__(self):
        self.is_right, self.texts = True, []

    def say(self, is_right, text):
        self.is_right &= bool(is_right)
        self.texts.append(text if is_right else text.upper())


def judge_objects(judge, own, found, size):
    """The exporter's 20 best objects are found with the same class at the same place and score, and have the same masks and points."""
    best = [i for i, box in enumerate(own["boxes"]) if is_compared(box, *size)][:20]
    if not best:
        raise RuntimeError("the exporter's program found nothing, which is no reference")
    pairs = [(i, found.same(clipped(own["boxes"][i], *size), own["scores"][i], own["classes"][i])) for i in best]
    same = [(i, one) for i, one in pairs if one]
    judge.say(len(same) >= 0.9 * len(best), f"{len(same)} of the best {len(best)} objects the same")
    if "points" in own and same:
        marks = {one["parent"]: one["points"] for one in found.entries if one.get("format") == "keypoints"}
        # Exporters move points into the picture, or leave them where they are.
        inside = lambda point: [min(max(value, 0), end) for value, end in zip(point, size)]
        away = [math.dist(inside(a), inside(b)) for i, one in same for a, b in zip(own["points"][i], marks.get(one["id"], [[math.nan] * 2] * 99))]
        judge.say(np.median(away) < 2 and np.mean(np.array(away) < 8) > 0.9, f"points within {np.median(away):.2f} pixels (median)")
    if "maps" in own and same:
        masks = np.load(own["maps"])["masks"]
        shares = []
        for i, one in same:
            if i < len(masks):
                height, width = masks[i].shape
                x1, y1, x2, y2 = np.round(np.array(one["box"]) * np.tile([width / size[0], height / size[1]], 2)).astype(int)
                # Random weights put pixels of an object outside its box, where programs may cut them off.
                mine, theirs = (mask[y1:y2, x1:x2].astype(bool) for mask in (found.mask_of(one["id"], height, width), masks[i]))
                if mine.size > 50:
                    shares.append((mine == theirs).mean())
        judge.say(shares and np.mean(shares) > 0.9, f"{np.mean(shares or [0]):.1%} of the pixels of {len(shares)} masks the same")


def judge_maps(judge, own, found):
    maps = np.load(own["maps"])
    if "classes" in maps:
        classes = maps["classes"]
        mine = found.mask_of(0, *classes.shape)
        judge.say((mine == classes).mean() > 0.97, f"{(mine == classes).mean():.1%} of the pixels of {len(np.unique(classes))} classes the same")
    if "depth" in maps:
        depth = maps["depth"]
        mine = np.from_dlpack(next(one["tensor"] for one in found.tensors if one["format"] == "depth"))
        off = np.abs(mine - depth).max() / max(depth.max() - depth.min(), 1e-9) if mine.shape == depth.shape else math.inf
        judge.say(off < 0.05, f"depth within {off:.1%} of its range")


def found_rows(wanted, mine):
    """The share of the rows of a list that are in another one of so many, in any order."""
    rows = [array.reshape(-1, array.shape[-1]) if array.ndim == 3 else array.reshape(len(array), -1) for array in (wanted, mine)]
    kept = rows[0][(rows[0] != 0).any(1)].astype(np.float64)  # Lists are filled up with zeros.
    if not len(kept):
        return float(not rows[1].any())
    return np.mean([np.isclose(row, rows[1], rtol=1e-2, atol=1e-2).all(1).any() for row in kept])


def judge_runs(judge, own):
    """The outputs for the exporter's own input, beside those of ONNX Runtime, or of OpenVINO for an IR."""
    runs = np.load(own["runs"])
    compiled = tn.compile_model(own["model"], "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    outputs = compiled([runs["input"]])
    count = sum(name.startswith("output_") for name in runs.files)
    if count != len(outputs):
        return judge.say(False, f"{len(outputs)} outputs, not {count}")
    worst = 0.0
    for i in range(count):
        wanted, mine = runs[f"output_{i}"], outputs[i]
        if wanted.shape != mine.shape:
            return judge.say(False, f"output {i} has the shape {mine.shape}, not {wanted.shape}")
        if wanted.dtype == bool:
            # The last digit decides at a threshold.
            if (wanted == mine.astype(bool)).mean() < 0.99:
                return judge.say(False, f"{(wanted == mine.astype(bool)).mean():.1%} of the flags of output {i} the same")
        elif own.get("is_list") and wanted.ndim > 0 and wanted.size and i not in own.get("no_list", []):
            # Rows of equal scores change places with the last digits.
            share = found_rows(wanted, mine)
            if share < 0.9:
                return judge.say(False, f"{share:.0%} of the rows of output {i} found")
        elif wanted.size:
            off = np.abs(wanted.astype(np.float64) - mine.astype(np.float64))
            part = float(off.max() / max(np.abs(wanted.astype(np.float64)).max(), 1e-6))
            worst = part if np.isnan(part) else max(worst, part)
            if np.isnan(worst):
                break
    judge.say(worst < 0.002, f"outputs within {worst:.1e}")


def judge_export(judge, tenon, own, size):
    said = known(tenon, own)
    if "names" in own:
        labels = [label.replace("_", " ") for label in said["labels"]]
        judge.say(labels == own["names"], f"{len(labels)} labels" if labels == own["names"] else f"labels {labels[:3]}, not {own['names'][:3]}")
    if "runs" in own:
        judge_runs(judge, own)
    facts = {"facts": ";".join(f"{key}={value}" for key, value in facts_of(own).items())} if facts_of(own) else {}
    if "probe" in own:
        names = ",".join(f"v{i}" for i in range(len(own["prepared"]) + 1))
        of_input = {"facts": ";".join(f"{key}={value}" for key, value in facts_of(own).items() if key != "model_type")} if facts else {}
        fed = Found(own["probe"], own["photo"], decode="Classification", model_labels=names, confidence=0, **of_input).by_label
        wanted, zero = own["prepared"], fed[len(own["prepared"])]
        off = max(abs(math.log(fed[i] / zero) - value) for i, value in enumerate(wanted)) / (max(wanted) - min(wanted))
        judge.say(off < 0.02, f"input within {off:.1%} of its range")
    if "facts_labels" in own:
        facts["model_labels"] = ",".join(own["facts_labels"])
    confidence = own.get("confidence", 0.01 if "boxes" in own else 0)
    found = Found(own["model"], own["photo"], confidence=confidence, **facts)
    found.size = size
    judge_run(judge, tenon, own, found, confidence)
    if "probabilities" in own:
        off = max(abs(p - found.by_label.get(i, 0.0)) for i, p in enumerate(own["probabilities"])) / max(own["probabilities"])
        judge.say(off < 0.05, f"probabilities within {off:.1%} of the largest")
    elif "boxes" in own:
        judge_objects(judge, own, found, size)
    elif "anomaly" in own:
        one = next(one for one in found.entries if one["kind"] == "classification")
        judge.say(one["label"] == own["anomaly"]["label"] and abs(one["score"] - own["anomaly"]["score"]) < 0.02,
                  f"{one['label']} {one['score']:.2f} for {own['anomaly']['label']} {own['anomaly']['score']:.2f}")
        if "maps" in own:
            judge_maps(judge, own, found)
    elif "maps" in own:
        judge_maps(judge, own, found)
    elif "points" in own:
        marks = next(one["points"] for one in found.entries if one.get("format") == "keypoints")
        away = float(np.median([math.dist(a, b[:2]) for a, b in zip(own["points"][0], marks)]))
        judge.say(away < size[0] / 32, f"points within {away:.1f} pixels (median)")
    return said


def main(tenon, folder, names):
    exports = json.loads((pathlib.Path(folder) / "exports.json").read_text())
    counts = collections.defaultdict(lambda: [0, 0])
    for name, own in sorted(exports["models"].items()):
        if names and not any(name.startswith(one) for one in names):
            continue
        judge, own["photo"], said = Judge(), exports["photo"], {}
        try:
            said = judge_export(judge, tenon, own, exports["size"])
        except Exception as error:
            judge.say(False, f"{type(error).__name__}: {error}")
        counts[name.split("_")[0]][not judge.is_right] += 1
        print(f"{'same' if judge.is_right else 'DIFFERS':8}{name}: {said.get('decoder', '')}, {'; '.join([*judge.texts, *said.get('remarks', [])])}",
              flush=True)
    for name, why in exports["refused"].items():
        print(f"refused {name}: by its exporter: {why}")
    for name, why in exports["absent"].items():
        print(f"absent  {name}: {why}")
    for family, (right, wrong) in sorted(counts.items()):
        print(f"{family}: {right} of {right + wrong} the same")
    passed, failed = (sum(each[i] for each in counts.values()) for i in range(2))
    print(f"{passed} passed, {failed} failed")
    return failed > 0 or passed == 0  # Where nothing was compared, nothing was shown.


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
