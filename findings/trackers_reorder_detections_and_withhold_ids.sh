#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# trackers 2.6.1: of its trackers SORTTracker alone answers in the order of the detections it was given. ByteTrackTracker, OCSORTTracker and
# CBIoUTracker put those of high confidence first, so that tracker_id read beside the caller's own boxes, masks or classes names others.
# CBIoUTracker leaves out a detection of 0.05, and the arrays differ in length. After one frame without the object, OCSORTTracker gives a
# settled object -1 for two frames and then its old number; the others give the number at once.
# Guess before the run: there is one answer for each detection, in its place, and a settled object keeps its number over one missed frame.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check trackers==2.6.1 supervision==0.31.2 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import numpy as np
import supervision as sv
import trackers

boxes = np.array([[0, 0, 50, 50], [100, 0, 150, 50], [200, 0, 250, 50]], float)
kinds = {trackers.SORTTracker: (True, 3, [0]), trackers.ByteTrackTracker: (False, 3, [0]),
         trackers.OCSORTTracker: (False, 3, [-1, -1, 0]), trackers.CBIoUTracker: (False, 2, [0])}


def detections(chosen, scores):
    """Detections of the chosen boxes."""
    return sv.Detections(xyxy=boxes[chosen], confidence=np.array(scores, float), class_id=np.zeros(len(chosen), int))


for kind, (ordered, count, after) in kinds.items():
    tracker = kind()
    for _ in range(6):
        result = tracker.update(detections([0, 1, 2], [0.3, 0.9, 0.75]))
    print(f"{kind.__name__}: boxes from {boxes[:, 0].tolist()} come back as {result.xyxy[:, 0].tolist()} with {result.tracker_id.tolist()}")
    assert np.array_equal(result.xyxy, boxes) == ordered
    tracker = kind()
    for _ in range(6):
        result = tracker.update(detections([0, 1, 2], [0.9, 0.05, 0.75]))
    print(f"  with one of 0.05: {len(result)} of 3 come back")
    assert len(result) == count
    tracker = kind()
    before = [tracker.update(detections([0], [0.9])).tracker_id.tolist() for _ in range(5)]
    tracker.update(sv.Detections.empty())
    later = [tracker.update(detections([0], [0.9])).tracker_id.tolist() for _ in range(3)]
    print(f"  an object seen five times {before}, missed once, seen again {later}")
    assert before[-1] == [0] and [number for (number,) in later] == (after if len(after) == 3 else [0, 0, 0])
PYTHON
