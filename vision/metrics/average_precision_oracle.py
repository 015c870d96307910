# SPDX-License-Identifier: Apache-2.0
"""Prints the numbers that average_precision_test.cpp expects, by models/metrics.py (numpy) on the test's own random boxes."""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models"))
import metrics  # noqa: E402

state = 11


def following():
    global state
    state = (state * 1664525 + 1013904223) % 2**32
    return (state >> 16) % 1000


found, truth = [], []
for _ in range(40):
    objects, guesses = [], []
    for _ in range(6):
        # Odd fractions keep overlaps away from the thresholds.
        x, y, w, h = following(), following(), 20.37 + following() % 80, 20.61 + following() % 80
        label = following() % 3
        difficult = following() < 150
        objects.append((label, np.array([x, y, x + w, y + h], float), difficult))
        for _ in range(2):
            dx, dy = following() % 40 - 20, following() % 40 - 20
            score = np.float32(following()) / np.float32(1000)
            guess = label if following() < 850 else following() % 3
            if following() < 700:
                guesses.append((guess, float(score), np.array([x + dx, y + dy, x + w + dx, y + h + dy], float)))
    found.append(guesses)
    truth.append(objects)

print("map50", metrics.mean_average_precision(found, truth, 3, 0.5))
print("map", np.mean([metrics.mean_average_precision(found, truth, 3, 0.5 + 0.05 * k) for k in range(10)]))
