# SPDX-License-Identifier: Apache-2.0
"""Makes files of ground truth and of results, and what pycocotools (PyPI, 2.0.11) and TrackEval (trackeval, 1.3.0) say of them. metrics_test.cpp
reads the same files and compares. vision/metrics/cases has the cases of seed 0; ./dev check metrics makes more.

metrics_oracle.py --out FOLDER [--seeds N]"""

import argparse
import contextlib
import importlib.metadata
import io
import json
import pathlib
import random
import shutil
import tempfile

import numpy as np
import trackeval
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

VERSIONS = {name: importlib.metadata.version(name) for name in ("pycocotools", "trackeval", "numpy")}


def polygon(random_, x, y, w, h):
    """Corners around a box's middle; some are repeated, some lie outside of it."""
    corners = []
    for step in range(random_.randint(3, 9)):
        angle = 2 * np.pi * (step + random_.random() * 0.8) / 9
        reach = random_.uniform(0.4, 1.1) / 2
        corners += [round(float(x + w / 2 + reach * w * np.cos(angle)), 2), round(float(y + h / 2 + reach * h * np.sin(angle)), 2)]
    if random_.random() < 0.2:
        corners += corners[:2]
    return corners


def runs_of(segmentation, height, width):
    found = coco_mask.frPyObjects(segmentation, height, width)
    return coco_mask.merge(found) if isinstance(found, list) else found


def plain(runs):
    """Runs as a list of numbers."""
    pixels = coco_mask.decode(runs).flatten(order="F")
    edges = np.flatnonzero(np.diff(pixels)) + 1
    counts = np.diff(np.concatenate([[0], edges, [len(pixels)]])).tolist()
    return {"size": list(runs["size"]), "counts": ([0] if pixels[0] else []) + counts}


def coco_case(seed, folder):
    random_ = random.Random(seed)
    folder.mkdir(parents=True)
    images, annotations, results = [], [], []
    # Ids jump, and are in no order. The last category has no objects; pictures without objects and without results come by themselves.
    categories = [{"id": id, "name": name} for id, name in ((7, "car"), (2, "person"), (90, "dog"), (41, "nothing"))]
    image_ids = random_.sample(range(1, 10**9), 12)
    for number, image in enumerate(image_ids):
        width, height = random_.randint(160, 640), random_.randint(160, 640)
        images.append({"id": image, "width": width, "height": height, "file_name": f"{number:03}.jpg"})
        for _ in range(0 if number % 5 == 3 else random_.randint(1, 9)):
            sides = [(9, 40), (30, 110), (140, 330)]
            w, h = random_.choice(sides), random_.choice(sides)
            w, h = round(random_.uniform(*w), 2), round(random_.uniform(*h), 2)
            x, y = round(random_.uniform(0, max(1, width - w)), 2), round(random_.uniform(0, max(1, height - h)), 2)
            category = random_.choice([7, 2, 2, 90])
            crowd = random_.random() < 0.12
            parts = [polygon(random_, x, y, w, h) for _ in range(random_.choice([1, 1, 1, 2]))]
            runs = runs_of(parts, height, width)
            annotations.append({
                "id": 1000 + 13 * len(annotations), "image_id": image, "category_id": category, "bbox": [x, y, w, h], "iscrowd": int(crowd),
                "area": float(coco_mask.area(runs)), "segmentation": plain(runs) if crowd else parts})  # fmt: skip
            for _ in range(0 if number % 7 == 5 else random_.choice([0, 1, 1, 2, 3])):
                spread = random_.choice([0.02, 0.1, 0.3])
                bx, by = x + random_.uniform(-spread, spread) * w, y + random_.uniform(-spread, spread) * h
                bw, bh = w * random_.uniform(1 - spread, 1 + spread), h * random_.uniform(1 - spread, 1 + spread)
                guess = category if random_.random() < 0.85 else random_.choice([7, 2, 90, 41])
                shape = [[round(v + random_.gauss(0, 20 * spread), 2) for v in part] for part in parts]
                results.append((image, guess, [round(v, 2) for v in (bx, by, bw, bh)], round(random_.random(), 2), height, width, shape))
        if number == 4:  # More than the 100 that count.
            for _ in range(130):
                box = [round(random_.uniform(0, v), 1) for v in (width * 0.9, height * 0.9, 60, 60)]
                results.append((image, 2, [box[0], box[1], box[2] + 1, box[3] + 1], round(random_.random(), 2), height, width, None))
    boxes = [{"image_id": i, "category_id": c, "bbox": b, "score": s} for i, c, b, s, *_ in results]
    masks = []
    for image, category, _, score, height, width, shape in results:
        if shape is None:
            continue
        runs = runs_of(shape, height, width)
        masks.append({"image_id": image, "category_id": category, "score": score,
                      "segmentation": {"size": [height, width], "counts": runs["counts"].decode()}})  # fmt: skip
    (folder / "truth.json").write_text(json.dumps({"images": images, "categories": categories, "annotations": annotations}))
    (folder / "boxes.json").write_text(json.dumps(boxes))
    (folder / "masks.json").write_text(json.dumps(masks))
    expected = {"versions": VERSIONS, "mask_areas": []}
    with contextlib.redirect_stdout(io.StringIO()):
        truth = COCO(str(folder / "truth.json"))
        for name, kind in (("boxes", "bbox"), ("masks", "segm")):
            evaluation = COCOeval(truth, truth.loadRes(str(folder / f"{name}.json")), kind)
            evaluation.evaluate()
            evaluation.accumulate()
            evaluation.summarize()
            precision, recall = evaluation.eval["precision"], evaluation.eval["recall"]
            labels = {}
            for k, category in enumerate(sorted(categories, key=lambda c: c["id"])):
                ap, ap50, ar = precision[:, :, k, 0, 2], precision[0, :, k, 0, 2], recall[:, k, 0, 2]
                labels[category["name"]] = {
                    "ap": float(ap.mean()), "ap50": float(ap50.mean()), "ar100": float(ar.mean()), "recall50": float(recall[0, k, 0, 2]),
                    "precision50": [float(v) for v in ap50[::10]]}  # fmt: skip
            expected[name] = {"stats": [float(v) for v in evaluation.stats], "labels": labels}
    expected["mask_areas"] = [int(coco_mask.area(truth.annToRLE(a))) for a in annotations]
    (folder / "expected.json").write_text(json.dumps(expected, indent=1))


def tracks(random_, frames, first_id, with_classes):
    """Lines of ground truth and of results."""
    truth, found = [], []
    next_id = [first_id]

    def new_id():
        next_id[0] += random_.choice([1, 1, 7, 100])
        return next_id[0]

    for _ in range(14):
        identity, track = new_id(), new_id()
        kind = random_.choice([1, 1, 1, 1, 7, 2, 3, 12]) if with_classes else -1
        begin, end = sorted(random_.sample(range(1, frames + 1), 2))
        x, y, w, h = random_.uniform(0, 500), random_.uniform(0, 300), random_.uniform(20, 90), random_.uniform(30, 120)
        speed = random_.uniform(-4, 4), random_.uniform(-3, 3)
        marked = 0 if random_.random() < 0.1 else 1
        for frame in range(begin, end + 1):
            x, y = x + speed[0], y + speed[1]
            if random_.random() < 0.06:
                continue  # Missing in the ground truth.
            truth.append((frame, identity, x, y, w, h, marked, kind, 1))
            if random_.random() < 0.05:
                track = new_id()
            if random_.random() < 0.12:
                continue
            spread = random_.choice([1, 3, 9])
            found.append((frame, track, x + random_.gauss(0, spread), y + random_.gauss(0, spread), max(1.0, w + random_.gauss(0, spread)),
                          max(1.0, h + random_.gauss(0, spread)), random_.random(), -1, -1, -1))  # fmt: skip
    for _ in range(40):
        found.append((random_.randint(1, frames), new_id(), random_.uniform(0, 500), random_.uniform(0, 300), 40, 60, 0.4, -1, -1, -1))
    return truth, found


def lines(rows):
    return "".join(",".join(f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value) for value in row) + "\n" for row in rows)


FIGURES = {
    "HOTA": ("HOTA", "DetA", "AssA", "LocA", "DetRe", "DetPr", "AssRe", "AssPr"),
    "CLEAR": ("MOTA", "MOTP", "IDSW", "Frag", "MT", "PT", "ML", "CLR_TP", "CLR_FN", "CLR_FP"),
    "Identity": ("IDF1", "IDR", "IDP", "IDTP", "IDFN", "IDFP"),
}


def mot_case(seed, folder, benchmark):
    random_ = random.Random(seed * 2 + (benchmark == "MOT15"))
    folder.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as temporary:
        base = pathlib.Path(temporary)
        names = []
        for number, frames in enumerate((60, 40, 20)):
            name = f"{benchmark}-{number:02}"
            names.append(name)
            truth, found = tracks(random_, frames, 1 + 1000 * number, benchmark != "MOT15")
            if number == 1:  # Frames that a side lacks.
                truth = [row for row in truth if not 5 <= row[0] <= 8]
                found = [row for row in found if row[0] > 12 and row[0] != 20]
            if number == 2:
                found = found[:1]
            random_.shuffle(found)
            sequence = folder / name
            (sequence / "gt").mkdir(parents=True)
            (sequence / "gt/gt.txt").write_text(lines(truth))
            (sequence / "seqinfo.ini").write_text(f"[Sequence]\nname={name}\nseqLength={frames}\nimWidth=640\nimHeight=480\n")
            (folder / "found").mkdir(exist_ok=True)
            (folder / "found" / f"{name}.txt").write_text(lines(found))
        shutil.copytree(folder, base / "gt" / f"{benchmark}-train")
        shutil.rmtree(base / "gt" / f"{benchmark}-train" / "found")
        shutil.copytree(folder / "found", base / "trackers" / f"{benchmark}-train" / "t" / "data")
        with contextlib.redirect_stdout(io.StringIO()):
            dataset = trackeval.datasets.MotChallenge2DBox({
                "GT_FOLDER": str(base / "gt"), "TRACKERS_FOLDER": str(base / "trackers"), "BENCHMARK": benchmark, "SPLIT_TO_EVAL": "train",
                "SEQ_INFO": dict.fromkeys(names), "PRINT_CONFIG": False})  # fmt: skip
            evaluator = trackeval.Evaluator({"USE_PARALLEL": False, "PRINT_RESULTS": False, "PRINT_CONFIG": False, "OUTPUT_SUMMARY": False,
                                             "OUTPUT_DETAILED": False, "PLOT_CURVES": False, "TIME_PROGRESS": False,
                                             "BREAK_ON_ERROR": True})  # fmt: skip
            quiet = {"PRINT_CONFIG": False}
            metrics = [trackeval.metrics.HOTA(), trackeval.metrics.CLEAR(quiet), trackeval.metrics.Identity(quiet)]
            answers = evaluator.evaluate([dataset], metrics)[0]["MotChallenge2DBox"]["t"]
    expected = {"versions": VERSIONS, "sequences": {}}
    for name in [*names, "COMBINED_SEQ"]:
        of_class = answers[name]["pedestrian"]
        expected["sequences"][name] = {key: float(np.mean(of_class[metric][key])) for metric, keys in FIGURES.items() for key in keys}
    (folder / "expected.json").write_text(json.dumps(expected, indent=1))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    for seed in range(options.seeds):
        coco_case(seed, options.out / f"coco-{seed}")
        for benchmark in ("MOT17", "MOT15"):
            mot_case(seed, options.out / f"{benchmark.lower()}-{seed}", benchmark)
    print(options.seeds, "of each kind, by", VERSIONS)


if __name__ == "__main__":
    main()
