# SPDX-License-Identifier: Apache-2.0
"""What the outputs of models/demo.onnx mean: models/README.md describes them."""
import numpy

from tenon.ray import Box, picture_input

LABELS = ("circle", "square", "triangle", "star")
WIDTH, HEIGHT = 512, 288  # The model's input, to which pictures are scaled.


def prepare(model):
    """The model wants values from 0 to 1."""
    return picture_input(model, scale=255.0)


def _grid():
    cells = []
    for stride in (8, 16, 32):
        rows, columns = numpy.mgrid[:HEIGHT // stride, :WIDTH // stride]
        cells.append(numpy.stack([columns.ravel(), rows.ravel(), numpy.full(rows.size, stride)], 1))
    return numpy.concatenate(cells).astype(numpy.float32)


GRID = _grid()


def boxes_of(outputs, width, height, least=0.4, most_overlap=0.5):
    """Boxes of one frame: the best first, less those that overlap a better one of their label."""
    raw = outputs[0][0]
    scores = raw[:, 4:5] * raw[:, 5:]
    labels = scores.argmax(1)
    best = scores.max(1)
    chosen = numpy.flatnonzero(best >= least)
    chosen = chosen[numpy.argsort(-best[chosen], kind="stable")]
    centre = (raw[chosen, :2] + GRID[chosen, :2]) * GRID[chosen, 2:]
    half = numpy.exp(raw[chosen, 2:4]) * GRID[chosen, 2:] / 2
    corners = numpy.concatenate([centre - half, centre + half], 1) * numpy.array([width / WIDTH, height / HEIGHT] * 2, numpy.float32)
    kept = []
    for number, index in enumerate(chosen):
        box = Box(LABELS[labels[index]], float(best[index]), *map(float, corners[number]), label_id=int(labels[index]))
        if all(other.label != box.label or _overlap(other, box) < most_overlap for other in kept):
            kept.append(box)
    return kept


def _overlap(a, b):
    width, height = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
    both = max(width, 0) * max(height, 0)
    return both / max((a.x1 - a.x0) * (a.y1 - a.y0) + (b.x1 - b.x0) * (b.y1 - b.y0) - both, 1e-9)
