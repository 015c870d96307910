#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# supervision 0.31.2: LineZone counts an object that changes sides by walking round an end of the line, as soon as it is beside the line
# again; it remembers the last side on which it saw the object beside the line, and no path. With one triggering anchor, such as
# BOTTOM_CENTER, an object that comes up to the line's own row of pixels from one side and goes back counts twice, as one in and one out;
# from the other side not at all.
# Guess before the run: only a step that crosses the line between its two ends counts, and touching it does not, from either side.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check supervision==0.31.2 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import numpy as np
import supervision as sv


def counted(path, **anchors):
    """In and out of a line from (0, 50) to (100, 50) for an object of 8 x 8 whose centre takes that path."""
    line = sv.LineZone(sv.Point(0, 50), sv.Point(100, 50), **anchors)
    for x, y in path:
        line.trigger(sv.Detections(xyxy=np.array([[x - 4, y - 4, x + 4, y + 4]], float), tracker_id=np.array([1]), class_id=np.array([0])))
    return line.in_count, line.out_count


foot = {"triggering_anchors": [sv.Position.BOTTOM_CENTER]}
cases = {
    "straight across": (counted([(50, 30), (50, 70)]), (0, 1)),
    "past its end": (counted([(150, 30), (150, 70)]), (0, 0)),
    "round its end and away": (counted([(50, 30), (150, 40), (150, 60)]), (0, 0)),
    "round its end and back beside it": (counted([(50, 30), (150, 40), (150, 60), (50, 70)]), (0, 1)),
    "the same by its foot": (counted([(50, 30), (150, 40), (150, 60), (50, 70)], **foot), (0, 1)),
    "touches it from above": (counted([(50, 30), (50, 46), (50, 30)], **foot), (1, 1)),
    "touches it from below": (counted([(50, 70), (50, 46), (50, 70)], **foot), (0, 0)),
}
for name, (found, seen) in cases.items():
    print(f"{name}: {found[0]} in, {found[1]} out")
    assert found == seen
PYTHON
