# SPDX-License-Identifier: Apache-2.0
"""Prints the numbers that zones_test.cpp expects, by the package supervision (PyPI, 0.31.2; with numpy and opencv-python-headless) on the
test's own walks. Places lie away from the edges of zones, since supervision compares whole pixels."""

import numpy as np
import supervision as sv

OBJECTS, PICTURES = 120, 400
state = 11


def following():
    global state
    state = (state * 1664525 + 1013904223) % 2**32
    return (state >> 16) % 1000


places = [[following() % 60, following() % 40] for _ in range(OBJECTS)]
ZONES = [[[100, 100], [300, 100], [300, 200], [200, 200], [200, 300], [100, 300]], [[305, 100], [405, 200], [305, 300], [205, 200]]]
zones = [sv.PolygonZone(np.array(zone)) for zone in ZONES]
LINES = [((100, 200), (500, 200)), ((451, 52), (148, 353))]
CORNERS = [sv.Position.TOP_LEFT, sv.Position.TOP_RIGHT, sv.Position.BOTTOM_LEFT, sv.Position.BOTTOM_RIGHT]
lines = [
    sv.LineZone(sv.Point(*start), sv.Point(*end), triggering_anchors=anchors, minimum_crossing_threshold=confirm)
    for start, end in LINES
    for anchors in ([sv.Position.BOTTOM_CENTER], CORNERS)
    for confirm in (1, 3)
]
inside = [0] * len(zones)
for picture in range(PICTURES):
    boxes, classes, ids = [], [], []
    for i, place in enumerate(places):
        for axis, most in ((0, 60), (1, 40)):
            place[axis] = min(max(place[axis] + following() % 7 - 3, 0), most - 1)
        if (picture + i) % 7 == 3:
            continue  # A picture in which it is not found.
        x, y = place[0] * 10 + 5, place[1] * 10 + 5
        boxes.append([x - 4, y - 24, x + 4, y])
        classes.append(i % 3)
        ids.append(i)
    found = sv.Detections(xyxy=np.array(boxes, float), class_id=np.array(classes), tracker_id=np.array(ids))
    for k, zone in enumerate(zones):
        inside[k] += int(zone.trigger(found).sum())
    for line in lines:
        line.trigger(found)

print("inside", inside)
for line in lines:
    print("in", [line.in_count_per_class.get(k, 0) for k in range(3)], "out", [line.out_count_per_class.get(k, 0) for k in range(3)])
