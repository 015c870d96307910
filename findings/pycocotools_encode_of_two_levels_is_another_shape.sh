#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pycocotools 2.0.11 and faster-coco-eval 1.8.0: mask.encode begins a new run wherever a byte differs from the one before it, and takes each
# second run for the object. So a mask of 0 and 255 is right, and one of more levels, of a soft edge, a resized mask or a map of labels,
# becomes another shape: of an object with a soft rim the inside is lost, and of two labels that touch, ground is taken for the second.
# Guess before the run: what is not 0 belongs to the object, or a byte other than 0 and 1 is refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pycocotools==2.0.11 faster-coco-eval==1.8.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import faster_coco_eval
import numpy as np
import pycocotools.mask

size = 24
soft = np.zeros((size, size), np.uint8, order="F")
soft[4:16, 4:16] = 128
soft[5:15, 5:15] = 255
labels = np.zeros((size, size), np.uint8, order="F")
labels[4:10, 4:16], labels[10:16, 4:16] = 1, 2
for name, tool in (("pycocotools", pycocotools.mask), ("faster-coco-eval", faster_coco_eval.mask)):
    for case, mask, seen in (("0 and 1", np.asfortranarray((soft > 0).astype(np.uint8)), 144),
                             ("0 and 255", np.asfortranarray(np.where(soft > 0, 255, 0).astype(np.uint8)), 144),
                             ("soft rim", soft, None), ("two labels", labels, None)):
        found = tool.decode(tool.encode(mask))
        area, equal = int(tool.area(tool.encode(mask))), bool((found == (mask > 0)).all())
        print(f"{name}, {case}: {area} pixels of {(mask > 0).sum()}, {(found != (mask > 0)).sum()} of {mask.size} are wrong")
        assert equal == (seen is not None) and (seen is None or area == seen)
PYTHON
