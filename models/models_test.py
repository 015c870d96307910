# SPDX-License-Identifier: Apache-2.0
"""Tests of the scene generator and of the metrics; needs NumPy only: python3 -m unittest models_test."""

import unittest

import numpy as np

import detector
import metrics
import scenes


def ranges_overlap(a, b):
    return max(a.start, b.start) < min(a.stop, b.stop)


class ScenesTest(unittest.TestCase):
    view = scenes.View(0, 0, 0.4, 512, 288)

    def test_same_seed_and_time_give_the_same_picture_and_truth(self):
        first, second = (scenes.Scene(77).render(1.5, self.view) for _ in range(2))
        np.testing.assert_array_equal(first[0], second[0])
        self.assertEqual(first[1], second[1])

    def test_seeds_and_times_differ(self):
        scene = scenes.Scene(77)
        self.assertGreater(np.abs(scene.render(0.0, self.view)[0] - scene.render(1.0, self.view)[0]).mean(), 1)
        self.assertGreater(np.abs(scene.render(0.0, self.view)[0] - scenes.Scene(78).render(0.0, self.view)[0]).mean(), 1)

    def test_the_clip_shares_no_seed_with_training_or_validation(self):
        self.assertFalse(ranges_overlap(scenes.CLIP_SEEDS, scenes.TRAIN_SEEDS))
        self.assertFalse(ranges_overlap(scenes.CLIP_SEEDS, scenes.VALIDATION_SEEDS))
        self.assertFalse(ranges_overlap(scenes.VALIDATION_SEEDS, scenes.TRAIN_SEEDS))

    def test_box_is_tight_around_the_pixels_that_the_object_changes(self):
        for seed in range(40):
            scene = scenes.Scene(seed, things=(1, 1), sizes=(60, 220))
            scene.bars, thing = [], scene.things[0]
            with_thing, truths = scene.render(0.5)
            scene.things = []
            changed = np.abs(with_thing - scene.render(0.5)[0]).max(2) > 0
            self.assertEqual([t.label for t in truths], [thing.label])
            self.assertTrue(np.allclose(truths[0].box, scenes._edges(changed), atol=3.5), (seed, truths[0].box))

    def test_an_occluded_object_is_boxed_by_what_shows(self):
        scene = scenes.Scene(5, things=(1, 1), sizes=(200, 200))
        thing = scene.things[0]
        thing.label, thing.start, thing.velocity, thing.pulse, thing.aspect = 0, (640, 360), (0, 0), 0.0, 1.0
        bar = {"vertical": True, "slope": 0.0, "offset": 0.5, "speed": 0.0, "width": 100.0, "colour": np.zeros(3)}
        bar["offset"] = 590 / scenes.WORLD_W  # covers the left half: x from 540 to 640
        scene.bars = [bar]
        truth = scene.render(0.0)[1][0]
        self.assertTrue(np.allclose(truth.box, (640, 260, 740, 460), atol=1.5), truth.box)
        self.assertAlmostEqual(truth.visible, 0.5, delta=0.02)


class MetricsTest(unittest.TestCase):
    box = np.array([10.0, 10, 50, 50])

    def test_a_perfect_answer_scores_one_and_a_missing_one_its_share(self):
        truth = [[(0, self.box, False)], [(0, self.box, False)]]
        self.assertEqual(metrics.average_precision([[(0, 0.9, self.box)]] * 2, truth, 0, 0.5), 1.0)
        self.assertEqual(metrics.average_precision([[(0, 0.9, self.box)], []], truth, 0, 0.5), 0.5)

    def test_a_second_hit_on_one_object_is_a_false_positive(self):
        found = [[(0, 0.9, self.box), (0, 0.8, self.box)], [(0, 0.7, self.box)]]
        truth = [[(0, self.box, False)], [(0, self.box, False)]]
        self.assertAlmostEqual(metrics.average_precision(found, truth, 0, 0.5), 0.5 + 0.5 * 2 / 3)

    def test_difficult_objects_count_neither_way(self):
        truth = [[(0, self.box, True), (0, self.box + 100, False)]]
        self.assertEqual(metrics.average_precision([[(0, 0.9, self.box), (0, 0.5, self.box + 100)]], truth, 0, 0.5), 1.0)

    def test_suppression_keeps_the_best_of_what_overlaps(self):
        boxes = np.array([[0, 0, 10, 10], [1, 0, 11, 10], [40, 40, 50, 50]], float)
        self.assertEqual(metrics.suppress(boxes, np.array([0.5, 0.9, 0.1]), 0.5), [1, 2])


class DetectorTest(unittest.TestCase):
    def test_it_is_small_and_costs_enough_to_measure(self):
        flops, weights = detector.cost()
        self.assertGreaterEqual(flops, 1e9)
        self.assertLessEqual(weights * 4, 5e6)


if __name__ == "__main__":
    unittest.main()
