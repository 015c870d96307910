#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# torchvision 0.29.2, CPU: batched_nms of up to 1000 boxes keeps other boxes when their class numbers, which should be mere labels, are
# large: it moves the boxes of class c by c times the largest coordinate, and float32 rounds them there. Small boxes in pictures of 4K
# differ at class 5119, as where a label is made of the place in a batch of 64 pictures and one of 80 classes. With one box more,
# 1001, it goes by classes, and is right. Installs torch, 3 GB with CUDA's libraries.
# Guess before the run: labels only tell boxes apart, and so does the count of boxes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-cache-dir torch==2.15.0 torchvision==0.29.2 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import torch
from torchvision.ops import batched_nms, nms

generator = torch.Generator().manual_seed(0)
corner = torch.rand(500, 2, generator=generator) * torch.tensor([3800.0, 2100])
first = torch.cat([corner, corner + 12], 1)
boxes = torch.cat([first, first + torch.randint(0, 9, (500, 1), generator=generator) / 2])
scores = torch.rand(1000, generator=generator)
right = set(nms(boxes, scores, 0.5).tolist())
far, low = torch.tensor([[0.0, 0, 1, 1]]), torch.tensor([0.0])
for label, equal in ((0, True), (79, True), (64 * 80 - 1, False), (64 * 1203 - 1, False)):
    labels = torch.full((1000,), label)
    found = set(batched_nms(boxes, scores, labels, 0.5).tolist())
    more = set(batched_nms(torch.cat([boxes, far]), torch.cat([scores, low]), torch.cat([labels, labels[:1]]), 0.5).tolist()) - {1000}
    print(f"class {label}: of {len(right)} boxes {len(right - found)} are missing and {len(found - right)} too many;",
          f"with one box more {len(more ^ right)} differ")
    assert (found == right) == equal and more == right
PYTHON
