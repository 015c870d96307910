# SPDX-License-Identifier: Apache-2.0
"""Objects of frames as the package supervision has them, and progress by the package tqdm itself."""
import sys
from pathlib import Path

import numpy
import pytest

import tenon as tn

supervision = pytest.importorskip("supervision", reason="PyPI package supervision is missing")
sys.path.append(str(Path(__file__).resolve().parents[1]))
from test_detections import Picture, masks_model  # noqa: E402
from slow_fixtures import root  # noqa: E402, F401


def frame_with(*objects):
    frame = tn.Frame(numpy.zeros((48, 64, 3), numpy.uint8))
    for each in objects:
        frame.add_detection(*each)
    return frame


def test_boxes_scores_and_class_names():
    frame = frame_with(((1.5, 2, 30, 40), "cat", 3, 0.75), ((0, 0, 64, 48), "dog", 5, 0.5))
    made = frame.detections.to_supervision()
    assert isinstance(made, supervision.Detections) and len(made) == 2
    assert made.xyxy.dtype == numpy.float32 and made.xyxy.tolist() == [[1.5, 2, 30, 40], [0, 0, 64, 48]]
    assert made.confidence.tolist() == [0.75, 0.5] and made.class_id.tolist() == [3, 5] and made["class_name"].tolist() == ["cat", "dog"]
    assert made.mask is None and made.tracker_id is None
    dogs = made[made["class_name"] == "dog"]
    assert len(dogs) == 1 and dogs.area.tolist() == [64 * 48]


def test_tracks_where_all_objects_have_one():
    tracked = frame_with(((1, 2, 3, 4), "cat", 3, 0.75, 11), ((5, 6, 7, 8), "cat", 3, 0.5, 12)).detections.to_supervision()
    assert tracked.tracker_id.tolist() == [11, 12]
    half = frame_with(((1, 2, 3, 4), "cat", 3, 0.75, 11), ((5, 6, 7, 8), "cat", 3, 0.5)).detections.to_supervision()
    assert half.tracker_id is None


def test_no_object():
    made = frame_with().detections.to_supervision()
    assert isinstance(made, supervision.Detections) and len(made) == 0 and made.is_empty() and made.xyxy.shape == (0, 4)


def test_masks_and_their_boxes(tmp_path):
    """supervision finds the boxes of our masks where our boxes are, and draws all of it."""
    model = masks_model(tmp_path / "masks.xml", [[8, 8, 24, 20, 0.9], [0, 0, 32, 32, 0.8]], [0, 1], numpy.ones((2, 4, 4)))
    frame, = tn.Pipeline().add(Picture).add("infer", model=model, device="CPU", decode="MaskRCNN", model_labels="none,cat,dog", resize="standard")
    found = frame.detections
    made = found.to_supervision()
    assert made.mask.dtype == bool and made.mask.shape == (2, frame.height, frame.width) and made["class_name"].tolist() == found.labels
    boxes = supervision.mask_to_xyxy(made.mask)  # Numbers of the first and the last pixel.
    assert numpy.abs(boxes[:, :2] - found.xyxy[:, :2]).max() <= 1 and numpy.abs(boxes[:, 2:] + 1 - found.xyxy[:, 2:]).max() <= 1
    picture = frame.to("bgr24").numpy().copy()
    drawn = supervision.LabelAnnotator().annotate(supervision.MaskAnnotator().annotate(picture.copy(), made), made)
    assert drawn.shape == picture.shape and (drawn != picture).any()


def test_a_detector_and_a_tracker_beside_supervision(root):
    """The demo's model: what Tenon's tracker follows, supervision counts by its numbers."""
    pipeline = tn.Pipeline(frames=30).add("file", path=root / "models/demo.mp4").add("infer", model=str(root / "models/demo.onnx"), device="CPU").add("track")
    seen = set()
    for frame in pipeline:
        made = frame.detections.to_supervision()
        assert len(made) == len(frame.detections)
        if made.tracker_id is not None:
            seen.update(made.tracker_id.tolist())
    assert seen


def test_bars_of_tqdm_reach_the_end(root, capsys):
    tqdm = pytest.importorskip("tqdm.auto", reason="PyPI package tqdm is missing").tqdm
    bars = []

    class Kept(tqdm):
        """tqdm's own, which the test keeps."""

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            bars.append(self)

    module = sys.modules["tqdm.auto"]
    module.tqdm = Kept
    try:
        with tn.open(root / "models/demo.mp4", progress=True) as video:
            count = len(list(video))
        tn.Pipeline(frames=40).add("file", path=root / "models/demo.mp4").add("null").run(progress=True)
    finally:
        module.tqdm = tqdm
    assert [(bar.n, bar.total) for bar in bars] == [(count, count), (40, 40)]
    shown = capsys.readouterr().err
    assert f"{count}/{count}" in shown and "40/40" in shown and "demo.mp4" in shown and "frames/s" in shown
