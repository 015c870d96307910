#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# torchvision 0.29.2: transforms of KeyPoints disagree on what a coordinate means. Flips take it as a pixel's index (x becomes width - 1 - x),
# but rotations, resizing and all transforms of boxes as a place (width - x). So a picture flipped both ways has its keypoints one pixel off
# from the same picture rotated by 180 degrees; its pixels and boxes are equal. A corner of a box, given as a keypoint, leaves the box by a
# flip. A flip before halving the picture and one after it are half a pixel apart. Installs torch, 3 GB with CUDA's libraries.
# Guess before the run: two flips are a rotation by 180 degrees, and the corner of a box stays its corner.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-cache-dir torch==2.15.0 torchvision==0.29.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import torch
from torchvision import tv_tensors
from torchvision.transforms.v2 import functional as F

size = 100, 200
picture = tv_tensors.Image(torch.arange(size[0] * size[1]).reshape(1, *size).float())
box = tv_tensors.BoundingBoxes([[10.0, 20, 30, 40]], format="XYXY", canvas_size=size)
corners = tv_tensors.KeyPoints([[10.0, 20], [30, 40]], canvas_size=size)


def flipped(x):
    return F.horizontal_flip(F.vertical_flip(x))


def rotated(x):
    return F.rotate(x, 180)


assert torch.equal(flipped(picture), rotated(picture))
print("flipped both ways: box", flipped(box).tolist(), "its corners", flipped(corners).tolist())
print("rotated by 180:    box", rotated(box).tolist(), "its corners", rotated(corners).tolist())
assert flipped(box).tolist() == rotated(box).tolist() == [[170, 60, 190, 80]]
assert flipped(corners).tolist() == [[189, 79], [169, 59]]
assert torch.allclose(rotated(corners), torch.tensor([[190.0, 80], [170, 60]]))
quarters = F.rotate(F.rotate(corners, 90, expand=True), 90, expand=True)
print("rotated by 90 twice:", quarters.tolist())
assert torch.allclose(quarters, rotated(corners))
halved, then_flipped = (F.resize(x, [50, 100]) for x in (corners, F.horizontal_flip(corners)))
print("halved, then flipped:", F.horizontal_flip(halved).tolist(), "flipped, then halved:", then_flipped.tolist())
assert F.horizontal_flip(halved)[0, 0] == 94 and then_flipped[0, 0] == 94.5
PYTHON
