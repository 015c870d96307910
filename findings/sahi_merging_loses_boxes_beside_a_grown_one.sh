#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sahi 0.12.8, NumPy: GreedyNMMPostprocess and NMMPostprocess with IOU drop boxes and cover nothing for them. A box that overlaps the kept one
# is marked to be merged; if the kept one has grown by an earlier merge, the overlap is tested anew against the grown box, is too small now,
# and the marked box is neither merged nor kept. Of three boxes in a row, each over its neighbour, the best in the middle, 40 of 180
# columns end up in no box, at either end by the scores. NMM, documented to merge A, B and C where C meets only B, loses C so, too.
# Guess before the run: each box is merged or kept, so that the results cover what the boxes covered.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check sahi==0.12.8 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
from sahi.postprocess.combine import GreedyNMMPostprocess, NMMPostprocess
from sahi.prediction import ObjectPrediction


def merged(strategy, metric, scores):
    """First and last column, and score, of what becomes of boxes 0..100, 40..140 and 80..180 with these scores."""
    boxes = [ObjectPrediction(bbox=[first, 0, first + 100, 100], score=score, category_id=0, category_name="ship",
                              shift_amount=[0, 0], full_shape=[100, 200]) for first, score in zip((0, 40, 80), scores)]
    kept = strategy(match_threshold=0.4, match_metric=metric)(boxes)
    return [(round(float(box.bbox.minx)), round(float(box.bbox.maxx)), round(box.score.value, 2)) for box in kept]


seen = {(0.8, 0.9, 0.7): ([(0, 140, 0.9)], [(0, 140, 0.9)]),
        (0.7, 0.9, 0.8): ([(40, 180, 0.9)], [(0, 140, 0.9)]),
        (0.9, 0.8, 0.7): ([(0, 140, 0.9), (80, 180, 0.7)], [(0, 140, 0.9)])}
for scores, expected in seen.items():
    for strategy, result in zip((GreedyNMMPostprocess, NMMPostprocess), expected):
        found, inside = merged(strategy, "IOU", scores), merged(strategy, "IOS", scores)
        lost = 180 - len({column for first, last, _ in found for column in range(first, last)})
        print(f"{strategy.__name__}, scores {scores}: IOU {found}, {lost} columns in no box; IOS {inside}")
        assert found == result and lost == (0 if len(result) > 1 else 40)
        assert len({column for first, last, _ in inside for column in range(first, last)}) == 180
PYTHON
