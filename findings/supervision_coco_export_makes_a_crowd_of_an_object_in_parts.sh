#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# supervision 0.31.2: exported by as_coco, an object with two parts or a hole in its mask, such as a car behind a pole, gets iscrowd 1, by
# which COCO's evaluation does not count it as an object to find. A line one pixel high gets a segmentation of nothing and a box without
# height, and has no mask when read back. as_yolo makes two objects of the two parts. An own "iscrowd" of 0 in the detections' data is kept.
# Guess before the run: iscrowd is 0 for one object; it is written as two polygons of one annotation.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check supervision==0.31.2 pillow==13.0.0 numpy==2.4.6
FOLDER=$folder "$folder/venv/bin/python" - <<'PYTHON'
import json
import os
import pathlib
import warnings

import numpy as np
import PIL.Image

warnings.simplefilter("ignore")
import supervision as sv

folder = pathlib.Path(os.environ["FOLDER"])
picture = str(folder / "a.png")
PIL.Image.new("RGB", (40, 40)).save(picture)


def written(mask, name, **extra):
    """The COCO annotations of one object, and the detections of its COCO and YOLO files when read back."""
    one = sv.Detections(xyxy=sv.mask_to_xyxy(mask[None]).astype(float), mask=mask[None], class_id=np.array([0]), data=extra)
    data, out = sv.DetectionDataset(classes=["car"], images=[picture], annotations={picture: one}), folder / name
    images, labels, yaml, coco = (str(out / part) for part in ("images", "labels", "data.yaml", "coco.json"))
    data.as_yolo(images_directory_path=images, annotations_directory_path=labels, data_yaml_path=yaml)
    data.as_coco(images_directory_path=images, annotations_path=coco)
    annotations = json.loads(pathlib.Path(coco).read_text())["annotations"]
    back = (sv.DetectionDataset.from_coco(images, coco, force_masks=True),
            sv.DetectionDataset.from_yolo(images, labels, yaml, force_masks=True))
    return annotations, *(next(iter(each.annotations.values())) for each in back)


whole, parts, hole, line = (np.zeros((40, 40), bool) for _ in range(4))
whole[2:10, 2:10] = parts[2:10, 2:10] = parts[20:30, 20:30] = hole[2:30, 2:30] = line[5, 2:30] = True
hole[8:20, 8:20] = False
seen = {"whole": (whole, 0, 1), "parts": (parts, 1, 2), "hole": (hole, 1, 1), "line": (line, 0, 1)}
for name, (mask, crowd, objects) in seen.items():
    annotations, coco, yolo = written(mask, name)
    print(f"{name}: {mask.sum()} pixels, iscrowd {annotations[0]['iscrowd']}, box {annotations[0]['bbox']},",
          f"back from COCO {coco.mask.sum()} pixels, from YOLO {len(yolo)} objects")
    assert len(annotations) == len(coco) == 1 and annotations[0]["iscrowd"] == crowd and len(yolo) == objects
    assert coco.mask.sum() == (0 if name == "line" else mask.sum())
    assert name != "line" or annotations[0]["segmentation"] == [] and annotations[0]["bbox"] == [2, 5, 27, 0]
annotations = written(parts, "own", iscrowd=np.array([0]))[0]
print("parts with an own iscrowd of 0:", annotations[0]["iscrowd"], "and", len(annotations[0]["segmentation"]), "polygons")
assert annotations[0]["iscrowd"] == 0 and len(annotations[0]["segmentation"]) == 2
PYTHON
