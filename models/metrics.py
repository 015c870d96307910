# SPDX-License-Identifier: Apache-2.0
"""Non-maximum suppression and mean average precision (VOC, all points), shared by training and evaluation."""

import numpy as np

# An object that hardly shows, or is too small to tell its shape, is neither demanded nor punished.
MIN_VISIBLE = 0.3
MIN_SIDE = 20.0  # pixels of the 1280x720 picture


def is_difficult(truth):
    x1, y1, x2, y2 = truth.box
    return truth.visible < MIN_VISIBLE or min(x2 - x1, y2 - y1) < MIN_SIDE


def iou(box, boxes):
    low, high = np.maximum(box[:2], boxes[:, :2]), np.minimum(box[2:], boxes[:, 2:])
    inner = np.clip(high - low, 0, None).prod(1)
    return inner / ((box[2:] - box[:2]).prod() + (boxes[:, 2:] - boxes[:, :2]).prod(1) - inner + 1e-9)


def suppress(boxes, scores, threshold):
    """Indices kept by greedy suppression, best first."""
    order, kept = np.argsort(-scores, kind="stable"), []
    while len(order):
        best, order = order[0], order[1:]
        kept.append(best)
        if len(order):
            order = order[iou(boxes[best], boxes[order]) <= threshold]
    return kept


def select(boxes, scores, confidence=0.01, threshold=0.5):
    """Detections (label, score, box) of one picture: suppression per class above a confidence."""
    found = []
    for label in range(scores.shape[1]):
        mask = scores[:, label] >= confidence
        own, value = boxes[mask], scores[mask, label]
        found += [(label, float(value[k]), own[k]) for k in suppress(own, value, threshold)]
    return found


def average_precision(found, truth, label, threshold):
    """found and truth are per picture; a truth is (label, box, difficult). None when there is nothing to find."""
    wanted = [[(box, hard) for kind, box, hard in frame if kind == label] for frame in truth]
    positives = sum(not hard for frame in wanted for _, hard in frame)
    if positives == 0:
        return None
    ranked = [(score, f, box) for f, frame in enumerate(found) for kind, score, box in frame if kind == label]
    ranked.sort(key=lambda item: -item[0])
    taken, hits = [set() for _ in wanted], []
    for _, f, box in ranked:
        boxes = np.array([b for b, _ in wanted[f]], np.float64).reshape(-1, 4)
        overlap = iou(np.asarray(box, np.float64), boxes) if len(boxes) else np.zeros(1)
        best = int(overlap.argmax())
        if len(boxes) == 0 or overlap[best] < threshold:
            hits.append(False)
        elif not wanted[f][best][1]:  # a match with a difficult one counts neither way
            hits.append(best not in taken[f])
            taken[f].add(best)
    return _area(np.array(hits, bool), positives)


def _area(hits, positives):
    """All-point interpolation: the area under the precision envelope."""
    if not len(hits):
        return 0.0
    right = np.cumsum(hits)
    recall, precision = right / positives, right / np.arange(1, len(hits) + 1)
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    return float(np.sum(np.diff(np.concatenate([[0.0], recall])) * envelope))


def mean_average_precision(found, truth, labels, threshold=0.5):
    values = [average_precision(found, truth, label, threshold) for label in range(labels)]
    values = [value for value in values if value is not None]
    return float(np.mean(values)) if values else 0.0
