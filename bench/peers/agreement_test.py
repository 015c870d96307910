#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The differences that the benchmarks must detect: the speed of a program with other results means nothing."""
import pathlib
import sys
import unittest

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import agreement


class Agreement(unittest.TestCase):
    def setUp(self):
        random = numpy.random.default_rng(1)
        boxes, scores = random.uniform(0, 640, (1, 4, 50)), random.uniform(0, 1, (1, 8, 50))
        self.outputs = [numpy.concatenate([boxes, scores], axis=1), random.normal(0, 1, (1, 100))]

    def judged(self, change):
        changed = [output.copy() for output in self.outputs]
        change(changed)
        try:
            agreement.check("model", "peer", changed, self.outputs, 0.999, 1e-2)
        except SystemExit:
            return False
        return True

    def test_accepts_rounding(self):
        def rounded(outputs):
            for output in outputs:
                output *= 1 + 1e-4
        self.assertTrue(self.judged(rounded))

    def test_sees_scores_beside_large_boxes(self):
        def swapped(outputs):
            outputs[0][:, 4] = outputs[0][:, 5]
        self.assertFalse(self.judged(swapped))

    def test_sees_one_wrong_number(self):
        def one(outputs):
            outputs[1][0, 37] += 0.1
        self.assertFalse(self.judged(one))

    def test_sees_signs_that_sums_of_magnitudes_hide(self):
        def negative(outputs):
            outputs[1] *= -1
        self.assertFalse(self.judged(negative))

    def test_sees_zeros_other_shapes_and_what_is_no_number(self):
        self.assertFalse(self.judged(lambda outputs: outputs[1].fill(0)))
        self.assertFalse(self.judged(lambda outputs: outputs.pop()))
        self.assertFalse(self.judged(lambda outputs: outputs[0].fill(numpy.nan)))


if __name__ == "__main__":
    unittest.main()
