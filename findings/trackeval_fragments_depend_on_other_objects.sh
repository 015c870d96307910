#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# TrackEval 1.3.0 and motmetrics 1.4.0, the two programs that score trackers by CLEAR MOT, disagree on fragmentations, and TrackEval's number
# of one track depends on other objects. An object that the tracker lost for three frames counts as a fragmentation only if the tracker
# reported anything else in these frames. One that left the picture for three frames counts, too, if there was another object to find.
# motmetrics counts the first and never the second. An object found in exactly four of five frames is mostly tracked by motmetrics alone.
# MOTA and switches agree.
# Guess before the run: the counts are equal, and a lost track is a fragmentation whatever else is in the picture.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check trackeval==1.3.0 motmetrics==1.4.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import motmetrics
import numpy as np
from trackeval.metrics import CLEAR


def scores(frames):
    """Fragmentations, mostly tracked objects, switches and MOTA by TrackEval and by motmetrics. A frame is a dictionary of the objects in the
    picture, each with the track that covers it or None, and a list of false tracks."""
    truth, found, overlap, accumulator = [], [], [], motmetrics.MOTAccumulator(auto_id=True)
    for objects, false in frames:
        tracks = [track for track in objects.values() if track is not None] + false
        same = np.array([[objects[each] == track for track in tracks] for each in objects], float).reshape(len(objects), len(tracks))
        accumulator.update(list(objects), tracks, np.where(same > 0, 0, np.nan))
        truth.append(np.array(list(objects), int))
        found.append(np.array(tracks, int))
        overlap.append(same)
    data = {"num_timesteps": len(frames), "num_gt_ids": len(set(np.concatenate(truth))), "num_tracker_ids": 10,
            "num_gt_dets": sum(map(len, truth)), "num_tracker_dets": sum(map(len, found)),
            "gt_ids": truth, "tracker_ids": found, "similarity_scores": overlap}
    one = CLEAR({"PRINT_CONFIG": False}).eval_sequence(data)
    names = ["num_fragmentations", "mostly_tracked", "num_switches", "mota"]
    other = motmetrics.metrics.create().compute(accumulator, metrics=names)
    return [round(float(one[key]), 3) for key in ("Frag", "MT", "IDSW", "MOTA")], other.values[0].round(3).tolist()


tracked, lost, away = {0: 0}, {0: None}, {}
cases = {
    "lost for three frames, nothing else": [(tracked, [])] * 3 + [(lost, [])] * 3 + [(tracked, [])] * 3,
    "lost for three frames, a false track elsewhere": [(tracked, [])] * 3 + [(lost, [5])] * 3 + [(tracked, [])] * 3,
    "out of the picture, nothing else": [(tracked, [])] * 3 + [(away, [])] * 3 + [(tracked, [])] * 3,
    "out of the picture, another one is in it": [(tracked | {1: 1}, [])] * 3 + [({1: 1}, [])] * 3 + [(tracked | {1: 1}, [])] * 3,
    "found in four of five frames": [(tracked, [])] * 4 + [(lost, [])],
}
seen = {}
for name, frames in cases.items():
    one, other = scores(frames)
    print(f"{name}: TrackEval {one}, motmetrics {other}")
    assert one[2:] == other[2:], "switches and MOTA were equal"
    seen[name] = one[0], int(other[0]), one[1], int(other[1])
assert list(seen.values()) == [(0, 1, 0, 0), (1, 1, 0, 0), (0, 0, 1, 1), (1, 0, 2, 2), (0, 0, 0, 1)], seen
PYTHON
