# SPDX-License-Identifier: Apache-2.0
"""Objects of frames as arrays."""
import sys

import numpy
import pytest

import tenon as tn

has_models = "elements inference" not in tn.absent()


def masks_model(path, boxes, labels, masks, size=(32, 32)):
    """A model that finds these objects in each picture: boxes [n, 5] of corners and score, labels [n], masks [n, h, w], as Mask R-CNN has them."""
    x = tn.Parameter("f32", [1, 3, *size])
    axes = tn.Constant(numpy.arange(4))
    nothing = tn.make_node("Multiply", [tn.make_node("ReduceMax", [x, axes], {"keep_dims": False}), tn.Constant(numpy.float32(0))])
    outputs = [tn.make_node("Add", [tn.Constant(numpy.asarray(boxes, numpy.float32)), nothing]),
               tn.make_node("Add", [tn.Constant(numpy.asarray(labels, numpy.int64)), tn.make_node("Convert", [nothing], {"destination_type": "i64"})]),
               tn.make_node("Add", [tn.Constant(numpy.asarray(masks, numpy.float32)), nothing])]
    for name, node in zip(("boxes", "labels", "masks"), outputs):
        node.output(0).set_names({name})
    tn.save_model(tn.Model(outputs, [x], "masks"), path)
    return str(path)


class Picture(tn.Source):
    """One picture."""

    def frames(self):
        yield numpy.zeros((48, 64, 3), numpy.uint8)


@pytest.mark.skipif(not has_models, reason="the element infer does not work here")
def test_masks_lie_over_the_picture(tmp_path):
    """Each pixel has the value of the cell in which its centre lies; a box may reach beyond the picture."""
    random = numpy.random.default_rng(1)
    boxes = [[4, 8, 20, 24, 0.9], [0.3, 1.7, 9.1, 30.2, 0.8], [-6, -4, 40, 50, 0.7]]
    model = masks_model(tmp_path / "masks.xml", boxes, [1, 0, 1], random.integers(0, 2, (3, 5, 7)))
    frame, = tn.Pipeline().add(Picture).add("infer", model=model, device="CPU", decode="MaskRCNN", model_labels="none,cat,dog", resize="standard")
    found = frame.detections
    assert len(found) == 3 and found.masks.shape == (3, 48, 64) and found.masks.dtype == bool
    own = {each["parent"]: each for each in frame.masks}
    for each, mask in zip(found, found.masks):
        (x1, y1, x2, y2), cells = own[each.id]["box"], own[each.id]["mask"].data
        wanted = numpy.zeros((48, 64), bool)
        for y in range(48):
            for x in range(64):
                row, column = (y + 0.5 - y1) / (y2 - y1) * cells.shape[0], (x + 0.5 - x1) / (x2 - x1) * cells.shape[1]
                wanted[y, x] = 0 <= row < cells.shape[0] and 0 <= column < cells.shape[1] and cells[int(row), int(column)] != 0
        assert wanted.any() and (mask == wanted).all()
    frame.add_detection((1, 1, 5, 5), "added", 0, 0.5)
    assert len(frame.detections.masks) == 4 and not frame.detections.masks[3].any()


def test_objects_without_masks_have_none():
    frame = tn.Frame(numpy.zeros((48, 64, 3), numpy.uint8))
    assert frame.detections.masks is None and frame.detections.xyxy.shape == (0, 4)
    frame.add_detection((1, 2, 3, 4), "cat", 3, 0.5)
    assert frame.detections.masks is None and frame.detections.xyxy.tolist() == [[1, 2, 3, 4]]


@pytest.mark.parametrize("box", [(3.0, 3.0, 3.0, 9.0), (9.0, 3.0, 3.0, 9.0), (float("nan"), 0.0, 1.0, 1.0), (-float("inf"), 0.0, 1.0, 1.0), (500.0, 500.0, 600.0, 600.0)])
def test_a_mask_beside_the_picture_shows_nothing(box):
    """Boxes of other programs may be anything."""
    one = tn.Detection(1, (0.0, 0.0, 1.0, 1.0), "a", 0, 0.5, -1)
    found = tn.Detections([one], {1: {"box": box, "mask": tn.Tensor(numpy.ones((4, 4), numpy.uint8))}}, (64, 48))
    assert found.masks.shape == (1, 48, 64) and not found.masks.any()


def test_supervision_that_is_absent_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "supervision", None)
    with pytest.raises(ImportError, match="pip install supervision"):
        tn.Frame(numpy.zeros((4, 4), numpy.uint8)).detections.to_supervision()
