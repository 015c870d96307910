# SPDX-License-Identifier: Apache-2.0
"""What the cases of oracle.py and oracle_model_api.py are made with."""
import numpy

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def made(kind, outputs, expected, size, **more):
    """One case. @param outputs  Arrays by name, in the model's order."""
    return {"type": kind, "outputs": outputs, "expected": expected, "input": list(size), **more}


def labels(count):
    return [f"c{i}" for i in range(count)]


def detection(box, score, label, children=None):
    entry = {"kind": "detection", "box": [float(v) for v in box], "score": float(score), "label_id": int(label)}
    if children:
        entry["children"] = children
    return entry


def points(values, score=None):
    rows = [[float(v) for v in row] + ([float(score)] if score is not None else []) for row in numpy.asarray(values).tolist()]
    return {"kind": "tensor", "format": "keypoints", "points": rows}


def clip(boxes, size):
    boxes = numpy.array(boxes, numpy.float64).reshape(-1, 4)
    return numpy.clip(boxes, 0, [size[0], size[1], size[0], size[1]])


def sizes(small):
    """Input, and what keeps small cases small."""
    return ((64, 32) if small else (640, 384))


def random_scores(rng, rows, classes, share):
    """Scores of background, and some objects."""
    scores = rng.uniform(0.001, 0.1, (rows, classes))
    chosen = rng.random(rows) < share
    scores[chosen, rng.integers(0, classes, chosen.sum())] = rng.uniform(0.3, 0.99, chosen.sum())
    return scores.astype(numpy.float32)


def random_boxes(rng, rows, size):
    """Centre and size in pixels."""
    w, h = size
    return numpy.stack([rng.uniform(0, w, rows), rng.uniform(0, h, rows), rng.uniform(w / 20, w / 3, rows), rng.uniform(h / 20, h / 3, rows)], 1).astype(numpy.float32)


def classification(label, score, index, **more):
    return {"kind": "classification", "label": label, "score": float(score), "label_id": index, **more}
