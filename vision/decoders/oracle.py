# SPDX-License-Identifier: Apache-2.0
"""Writes outputs of models, and what the exporters' own programs make of them, for cases_test.cpp.

usage: oracle.py --out FOLDER [--small] [--strict] [NAME...], or oracle.py --speed
Packages: torch, ultralytics, transformers, torchvision, openvino-model-api, opencv-python-headless, rfdetr, pyclipper, shapely. A family
whose package is missing is said and left out; --strict makes that an error. --small writes the little cases that are in git.
"""
import argparse
import json
import pathlib
import sys
import traceback

import numpy

import oracle_model_api  # noqa: F401: its cases are in CASES then.
from oracle_parts import CASES, case, classification, clip, detection, labels, made, points, random_boxes, random_scores, sizes


def ultralytics_nms(prediction, size, classes, **more):
    import torch
    from ultralytics.utils.nms import non_max_suppression
    found = non_max_suppression(torch.from_numpy(prediction.copy()), conf_thres=0.25, iou_thres=0.6, nc=classes, max_det=300, **more)[0].numpy()
    return found


YOLO = dict(confidence=0.25, iou=0.6)


@case
def ultralytics_detect(rng, small):
    size, classes = sizes(small), 3 if small else 80
    rows = size[0] * size[1] // 64 * 21 // 16
    raw = numpy.concatenate([random_boxes(rng, rows, size), random_scores(rng, rows, classes, 0.3 if small else 0.05)], 1).T[None].copy()
    found = ultralytics_nms(raw, size, classes)
    return made("YOLOv8", {"output0": raw}, [detection(b, r[4], r[5]) for b, r in zip(clip(found[:, :4], size), found)], size, labels=labels(classes), **YOLO)


@case
def ultralytics_pose(rng, small):
    size, count = sizes(small), 3 if small else 17
    rows = 42 if small else 5040
    at = rng.uniform(0, size[0], (rows, count * 3)).astype(numpy.float32)
    at[:, 2::3] /= size[0]
    raw = numpy.concatenate([random_boxes(rng, rows, size), random_scores(rng, rows, 1, 0.05), at], 1).T[None].copy()
    found = ultralytics_nms(raw, size, 1)
    expected = [detection(b, r[4], r[5], [points(r[6:].reshape(count, 3))]) for b, r in zip(clip(found[:, :4], size), found)]
    return made("YOLOv8-pose", {"output0": raw}, expected, size, labels=["person"], **YOLO)


@case
def ultralytics_end_to_end(rng, small):
    size, rows = sizes(small), 12 if small else 300
    boxes = random_boxes(rng, rows, size)
    raw = numpy.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2, numpy.sort(rng.uniform(0, 1, (rows, 1)))[::-1], rng.integers(0, 3, (rows, 1))], 1).astype(numpy.float32)[None]
    found = ultralytics_nms(raw, size, 3, end2end=True)
    return made("YOLO26", {"output0": raw}, [detection(b, r[4], r[5]) for b, r in zip(clip(found[:, :4], size), found)], size, labels=labels(3), confidence=0.25)


@case
def ultralytics_rt_detr(rng, small):
    """RT-DETR's rows as Ultralytics' RTDETRPredictor reads them since 8.4: centre and size in parts of the picture, score, class."""
    from ultralytics.utils import ops
    size, rows, classes = sizes(small), 12 if small else 300, 2 if small else 80
    chosen = numpy.sort(rng.uniform(0, 1, (rows, 1)))[::-1], rng.integers(0, classes, (rows, 1))
    raw = numpy.concatenate([random_boxes(rng, rows, size) / numpy.float32([*size, *size]), *chosen], 1).astype(numpy.float32)[None]
    kept = raw[0][raw[0, :, 4] > 0.25]
    corners = ops.xywh2xyxy(kept[:, :4]) * numpy.float32([*size, *size])
    return made("RT-DETR", {"output0": raw}, [detection(b, r[4], r[5]) for b, r in zip(clip(corners, size), kept)], size, labels=labels(classes), confidence=0.25)


@case
def ultralytics_v5_rows(rng, small):
    import torch
    from torchvision.ops import batched_nms
    # As YOLOv5's own non_max_suppression without several labels for a box: objectness times the best class.
    size, classes, rows = sizes(small), 3, 63 if small else 15120
    boxes, scores = random_boxes(rng, rows, size), random_scores(rng, rows, classes, 0.3)
    objectness = rng.uniform(0, 1, (rows, 1)).astype(numpy.float32)
    raw = numpy.concatenate([boxes, objectness, scores], 1)[None]
    best, corners = scores * objectness, numpy.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], 1)
    kept = numpy.flatnonzero((best.max(1) > 0.25) & (objectness[:, 0] > 0.25))
    chosen = kept[batched_nms(torch.from_numpy(corners[kept]), torch.from_numpy(best[kept].max(1)), torch.from_numpy(best[kept].argmax(1)), 0.6).numpy()][:300]
    return made("YOLOv5", {"output0": raw}, [detection(b, best[i].max(), best[i].argmax()) for b, i in zip(clip(corners[chosen], size), chosen)], size, labels=labels(classes), **YOLO)


def torch_nms(boxes, scores, classes, iou):
    import torch
    from torchvision.ops import batched_nms
    return batched_nms(torch.from_numpy(numpy.asarray(boxes, numpy.float32)), torch.from_numpy(numpy.asarray(scores, numpy.float32)), torch.from_numpy(numpy.asarray(classes)), iou).numpy()


def sigmoid(x):
    return 1 / (1 + numpy.exp(-x))


ANCHORS = [[10, 13, 16, 30, 33, 23], [30, 61, 62, 45, 59, 119], [116, 90, 156, 198, 373, 326]]


@case
def ultralytics_v5_grids(rng, small):
    """YOLOv5's Detect.forward: y = sigmoid; xy = (y * 2 - 0.5 + cell) * stride; wh = (y * 2) ** 2 * anchor."""
    return yolo_grids(rng, small, "YOLOv5-grids", lambda t: sigmoid(t) * 2 - 0.5, lambda t: (sigmoid(t) * 2) ** 2)


@case
def darknet_v3_grids(rng, small):
    """bx = sigmoid(tx) + cx, bw = pw exp(tw). Source: J. Redmon, A. Farhadi, YOLOv3: An Incremental Improvement (2018), section 2.1."""
    return yolo_grids(rng, small, "YOLOv3", sigmoid, numpy.exp)


def yolo_grids(rng, small, kind, place, extent):
    size, classes = sizes(small), 2
    outputs, boxes, scores = {}, [], []
    for level, stride in enumerate((8, 16, 32)):
        w, h = size[0] // stride, size[1] // stride
        t = rng.normal(0, 1, (3, 5 + classes, h, w)).astype(numpy.float32)
        t[:, 4] = rng.uniform(-6, 1.5, (3, h, w))
        outputs[f"p{level}"] = t.reshape(1, 3 * (5 + classes), h, w)
        for a in range(3):
            for y in range(h):
                for x in range(w):
                    tx, ty, tw, th, o, *c = t[a, :, y, x].astype(numpy.float64)
                    cx, cy = (place(tx) + x) * stride, (place(ty) + y) * stride
                    bw, bh = extent(tw) * ANCHORS[level][2 * a], extent(th) * ANCHORS[level][2 * a + 1]
                    boxes.append([cx - bw / 2, cy - bh / 2, cx + bw / 2, cy + bh / 2])
                    scores.append(sigmoid(o) * sigmoid(numpy.array(c)))
    boxes, scores = numpy.array(boxes), numpy.array(scores)
    kept = numpy.flatnonzero(scores.max(1) >= 0.25)
    kept = kept[torch_nms(boxes[kept], scores[kept].max(1), scores[kept].argmax(1), 0.6)]
    seen = [i for i in kept if (clip(boxes[i], size)[0][2:] > clip(boxes[i], size)[0][:2]).all()][:300]
    return made(kind, dict(reversed(outputs.items())), [detection(b, scores[i].max(), scores[i].argmax()) for b, i in zip(clip(boxes[seen], size), seen)], size, labels=labels(classes), **YOLO)


def query_outputs(rng, small, classes):
    import torch
    rows = 10 if small else 300
    logits = rng.normal(-3, 1, (1, rows, classes)).astype(numpy.float32)
    logits[0, ::3, 1] += 5
    boxes = numpy.concatenate([rng.uniform(0.2, 0.8, (1, rows, 2)), rng.uniform(0.05, 0.3, (1, rows, 2))], 2).astype(numpy.float32)
    return logits, boxes, type("Output", (), {"logits": torch.from_numpy(logits), "pred_boxes": torch.from_numpy(boxes)})()


def hugging_face(processor, output, size, threshold):
    import torch
    found = processor.post_process_object_detection(output, threshold=threshold, target_sizes=torch.tensor([[size[1], size[0]]]))[0]
    return [detection(b, s, c) for b, s, c in zip(clip(found["boxes"].numpy(), size), found["scores"].numpy(), found["labels"].numpy())]


@case
def transformers_detr(rng, small):
    from transformers import DetrImageProcessor
    size = sizes(small)
    logits, boxes, output = query_outputs(rng, small, 4)
    return made("DETR", {"logits": logits, "pred_boxes": boxes[..., :]}, hugging_face(DetrImageProcessor(), output, size, 0.3), size, confidence=0.3, labels=labels(3))


@case
def transformers_rt_detr(rng, small):
    from transformers import RTDetrImageProcessor
    size = sizes(small)
    logits, boxes, output = query_outputs(rng, small, 5)
    return made("RT-DETR", {"logits": logits, "pred_boxes": boxes}, hugging_face(RTDetrImageProcessor(), output, size, 0.3), size, confidence=0.3, labels=labels(5))


@case
def rfdetr_boxes_and_masks(rng, small):
    import torch
    from rfdetr.models.postprocess import PostProcess
    size = sizes(small)
    logits, boxes, _ = query_outputs(rng, small, 6)
    masks = (rng.integers(-16, 17, (1, logits.shape[1], size[1] // 4, size[0] // 4)) / 8).astype(numpy.float32)
    outputs = {"pred_logits": torch.from_numpy(logits), "pred_boxes": torch.from_numpy(boxes), "pred_masks": torch.from_numpy(masks)}
    found = PostProcess(num_select=300 if not small else 10)(outputs, target_sizes=torch.tensor([[size[1], size[0]]]))[0]
    places = clip(found["boxes"].numpy(), size)
    expected = [detection(b, s, c, [mask_in(at, mask[0])])
                for b, at, mask, s, c in zip(places, whole_pixels(places), found["masks"].numpy(), found["scores"].numpy(), found["labels"].numpy()) if s >= 0.3]
    return made("RF-DETR", {"dets": boxes, "labels": logits, "masks": masks}, expected, size, confidence=0.3, labels=labels(6))


def face_outputs(rng, size, anchors):
    for stride in (8, 16, 32):
        w, h = size[0] // stride, size[1] // stride
        count = w * h * anchors
        scores = rng.uniform(0, 0.2, (count, 1)).astype(numpy.float32)
        chosen = rng.random(count) < 0.15
        scores[chosen] = rng.uniform(0.4, 0.99, (chosen.sum(), 1))
        yield stride, w, h, scores, rng.uniform(0.5, 4, (count, 4)).astype(numpy.float32), rng.uniform(-2, 2, (count, 10)).astype(numpy.float32)


@case
def insightface_scrfd(rng, small):
    """distance2bbox and distance2kps of insightface's scrfd.py: centre -+ distance * stride, two anchors a cell."""
    size = sizes(small)
    outputs, boxes, scores, marks = {}, [], [], []
    for stride, w, h, s, b, k in face_outputs(rng, size, 2):
        outputs |= {f"score_{stride}": s, f"bbox_{stride}": b, f"kps_{stride}": k}
        centres = numpy.stack(numpy.mgrid[:h, :w][::-1], -1).astype(numpy.float32).reshape(-1, 2).repeat(2, 0) * stride
        boxes.append(numpy.concatenate([centres - b[:, :2] * stride, centres + b[:, 2:] * stride], 1))
        marks.append(k.reshape(-1, 5, 2) * stride + centres[:, None])
        scores.append(s[:, 0])
    order = sorted(outputs, key=lambda name: ["score", "bbox", "kps"].index(name.split("_")[0]))
    return faces("SCRFD", {name: outputs[name] for name in order}, boxes, scores, marks, size)


@case
def centerface_maps(rng, small):
    """CenterFace's program: logarithms of sizes over cells of four pixels, y before x, points in parts of the box from its corner."""
    (w, h), count = numpy.array(sizes(small)) // 4, 6 if small else 60
    uniform = lambda low, high, channels: rng.uniform(low, high, (1, channels, h, w)).astype(numpy.float32)
    heat, scale, offset, lms = uniform(0, 0.4, 1), uniform(0.3, 2.5, 2), uniform(-0.5, 0.5, 2), uniform(0, 1, 10)
    heat.reshape(-1)[rng.permutation(w * h)[:count]] = rng.uniform(0.5, 0.99, count)
    rows, columns = numpy.nonzero(heat[0, 0] >= 0.5)
    high, wide = (numpy.exp(scale[0, k, rows, columns]) * 4 for k in range(2))
    left, top = (numpy.maximum(0, (at + offset[0, k, rows, columns] + 0.5) * 4 - extent / 2) for at, k, extent in ((columns, 1, wide), (rows, 0, high)))
    y, x = lms[0][:, rows, columns].reshape(5, 2, -1).transpose(1, 2, 0)
    marks = numpy.stack([x * wide[:, None] + left[:, None], y * high[:, None] + top[:, None]], -1)
    boxes = numpy.stack([left, top, left + wide, top + high], 1).astype(numpy.float32)
    return faces("CenterFace", {"heatmap": heat, "scale": scale, "offset": offset, "lms": lms}, [boxes], [heat[0, 0, rows, columns]], [marks], sizes(small))


def faces(kind, outputs, boxes, scores, marks, size):
    boxes, scores, marks = map(numpy.concatenate, (boxes, scores, marks))
    kept = numpy.flatnonzero(scores >= 0.5)
    kept = kept[torch_nms(boxes[kept], scores[kept], numpy.zeros(len(kept), int), 0.4)]
    expected = [detection(b, scores[i], 0, [points(marks[i], scores[i])]) for b, i in zip(clip(boxes[kept], size), kept) if (b[2:] > b[:2]).all()][:300]
    return made(kind, outputs, expected, size, confidence=0.5, iou=0.4)


@case
def opencv_yunet(rng, small):
    """cv2.FaceDetectorYN itself, on a network whose outputs are constants."""
    import cv2
    import onnx
    from onnx import helper, numpy_helper
    size = (64, 32) if small else (320, 192)
    outputs = {}
    for stride, w, h, s, b, k in face_outputs(rng, size, 1):
        b = numpy.concatenate([rng.uniform(0, 1, (len(b), 2)), rng.uniform(0, 1.5, (len(b), 2))], 1)
        outputs |= {f"cls_{stride}": s[None], f"obj_{stride}": rng.uniform(0.6, 1, s.shape)[None], f"bbox_{stride}": b[None], f"kps_{stride}": k[None]}
    outputs = {name: outputs[name].astype(numpy.float32) for part in ("cls", "obj", "bbox", "kps") for name in (f"{part}_{s}" for s in (8, 16, 32))}
    nodes = [helper.make_node("ReduceSum", ["input"], ["sum"], keepdims=0), helper.make_node("Mul", ["sum", "zero"], ["nothing"])]
    constants = [numpy_helper.from_array(numpy.zeros(1, numpy.float32), "zero")]
    for name, value in outputs.items():
        constants.append(numpy_helper.from_array(value, name + "_value"))
        nodes.append(helper.make_node("Add", [name + "_value", "nothing"], [name]))
    graph = helper.make_graph(nodes, "yunet", [helper.make_tensor_value_info("input", 1, [1, 3, size[1], size[0]])], [helper.make_tensor_value_info(n, 1, v.shape) for n, v in outputs.items()], constants)
    model = onnx.helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=7)
    detector = cv2.FaceDetectorYN.create("onnx", numpy.frombuffer(model.SerializeToString(), numpy.uint8), numpy.empty(0, numpy.uint8), size, 0.5, 0.4, 5000)
    _, found = detector.detect(numpy.zeros((size[1], size[0], 3), numpy.uint8))
    corners = found[:, :4] + numpy.concatenate([numpy.zeros((len(found), 2)), found[:, :2]], 1)
    expected = [detection(b, r[14], 0, [points(r[4:14].reshape(5, 2), r[14])]) for b, r in zip(clip(corners, size), found) if (b[2:] > b[:2]).all()]
    # Its suppression cuts boxes to whole pixels, so that overlaps near the threshold come out otherwise.
    return made("YuNet", outputs, expected, size, confidence=0.5, iou=0.4, slack=0 if small else 4)


def mediapipe_anchors(size, strides):
    """SsdAnchorsCalculator with anchors of a fixed size: layers of one stride in sequence share their cells; each has an anchor, and an interpolated
    one where there are several layers. Centres in fractions of the picture."""
    each = 2 if len(strides) > 1 else 1
    for stride in dict.fromkeys(strides):
        for y in range(size[1] // stride):
            for x in range(size[0] // stride):
                yield from [((x + 0.5) * stride / size[0], (y + 0.5) * stride / size[1])] * (each * strides.count(stride))


def mediapipe(rng, kind, size, strides, count, apart=()):
    """TensorsToDetectionsCalculator: numbers over the size of the input, from the anchor's centre. Its suppression blends boxes; greedy here.
    @param apart  Rows of each output, where there is one for each grid."""
    anchors = numpy.array(list(mediapipe_anchors(size, strides)))
    logits = rng.uniform(-6, -1, len(anchors)).astype(numpy.float32)
    chosen = rng.random(len(anchors)) < 0.2
    logits[chosen] = rng.uniform(-1, 5, chosen.sum())
    rows = numpy.concatenate([rng.normal(0, 3, (len(anchors), 2)), rng.uniform(4, 24, (len(anchors), 2)), rng.normal(0, 8, (len(anchors), 2 * count))], 1).astype(numpy.float32)
    scale = numpy.array(size)
    centres, extents = rows[:, :2] / scale + anchors, rows[:, 2:4] / scale
    boxes = numpy.concatenate([centres - extents / 2, centres + extents / 2], 1) * numpy.tile(scale, 2)
    marks = (rows[:, 4:].reshape(-1, count, 2) / scale + anchors[:, None]) * scale
    scores = sigmoid(logits.astype(numpy.float64))
    kept = []
    for i in sorted(numpy.flatnonzero(scores >= 0.5), key=lambda i: -scores[i]):
        if all(iou(boxes[i], boxes[j]) <= 0.3 for j in kept):
            kept.append(i)
    shown = clip(boxes, size)
    visible = [i for i in kept if (shown[i, :2] < shown[i, 2:]).all()]
    expected = [detection(shown[i], scores[i], 0, [points(marks[i], scores[i])]) for i in visible[:300]]  # As many as decoders give by default.
    outputs = {"Identity": rows[None], "Identity_1": logits[None, :, None]}
    if apart:
        cuts = numpy.cumsum(apart)[:-1]
        outputs = {f"{name}_{i}": part for name, value in outputs.items() for i, part in enumerate(numpy.split(value, cuts, 1))}
    return made(kind, outputs, expected, size, confidence=0.5, iou=0.3)


def iou(a, b):
    width, height = min(a[2], b[2]) - max(a[0], b[0]), min(a[3], b[3]) - max(a[1], b[1])
    common = max(width, 0) * max(height, 0)
    return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common)


@case
def mediapipe_blaze_face(rng, small):
    size = (64, 32) if small else (128, 128)
    grids = [(size[0] // 8) * (size[1] // 8) * 2, (size[0] // 16) * (size[1] // 16) * 6]
    return mediapipe(rng, "BlazeFace", size, [8, 16, 16, 16], 6, apart=grids)


@case
def mediapipe_palm(rng, small):
    return mediapipe(rng, "BlazePalm", (64, 32) if small else (192, 192), [8, 16, 16, 16], 7)


@case
def mediapipe_pose(rng, small):
    return mediapipe(rng, "BlazePose", (64, 32) if small else (224, 224), [8, 16, 32, 32, 32], 4)


@case
def mediapipe_face_far(rng, small):
    return mediapipe(rng, "BlazeFace", (32, 32) if small else (192, 192), [4], 6)


@case
def mediapipe_hand_landmarks(rng, small):
    values = rng.uniform(0, 224, (1, 63)).astype(numpy.float32)
    outputs = {"Identity": values, "Identity_1": numpy.array([[0.875]], numpy.float32), "Identity_2": numpy.array([[0.25]], numpy.float32)}
    return made("MediaPipe-landmarks", outputs, [points(values.reshape(21, 3)[:, :2], 0.875)], (224, 224))


@case
def mediapipe_pose_landmarks(rng, small):
    values = rng.uniform(-3, 200, (1, 39, 5)).astype(numpy.float32)
    values[..., 3] = rng.uniform(-4, 4, (1, 39))
    expected = {"kind": "tensor", "format": "keypoints", "points": [[float(x), float(y), float(sigmoid(numpy.float64(v)))] for x, y, _, v, _ in values[0]]}
    return made("MediaPipe-landmarks", {"Identity": values.reshape(1, 195), "Identity_1": numpy.array([[0.9]], numpy.float32)}, [expected], (256, 256))


def polygon(corners):
    """Corners in any order of beginnings: they are compared from the upper left one."""
    corners = numpy.asarray(corners, float)
    first = int(corners.sum(1).argmin())
    return {"kind": "tensor", "format": "polygon", "points": [[float(x), float(y)] for x, y in numpy.roll(corners, -first, 0)]}


@case
def rapidocr_db(rng, small):
    import cv2
    from rapidocr.ch_ppocr_det.utils import DBPostProcess
    size = (96, 64) if small else (640, 480)
    pred = numpy.zeros((size[1], size[0]), numpy.float32)
    for row in [16] if small else range(0, size[1] - 31, 32):
        for column in range(0, size[0] - 95, 96):
            rect = ((column + 48, row + 16), (rng.uniform(30, 60), rng.uniform(8, 14)), rng.uniform(-10, 10))
            cv2.fillPoly(pred, [cv2.boxPoints(rect).astype(numpy.int32)], float(rng.uniform(0.8 if small else 0.5, 0.95)))
    program = DBPostProcess(thresh=0.3, box_thresh=0.6, unclip_ratio=1.5)
    boxes, scores = program.boxes_from_bitmap(pred, pred > 0.3, *size)
    expected = []
    for box, score in zip(boxes, scores):
        low, high = box.min(0), box.max(0)
        expected.append(detection([*low, *high], score, 0, [polygon(box)]))
    # It rounds corners to whole pixels, and clips them to the picture.
    return made("DB", {"map": numpy.round(pred, 4)[None, None]}, expected, size, confidence=0.6, tolerance=2, slack=0 if small else 2)


@case
def ultralytics_obb(rng, small):
    size, rows = sizes(small), 40 if small else 5040
    raw = numpy.concatenate([random_boxes(rng, rows, size), random_scores(rng, rows, 2, 0.3 if small else 0.05), rng.uniform(-0.7, 2.3, (rows, 1))], 1).astype(numpy.float32).T[None].copy()
    from ultralytics.utils.ops import xywhr2xyxyxyxy
    found = ultralytics_nms(raw, size, 2, rotated=True)
    corners = xywhr2xyxyxyxy(numpy.concatenate([found[:, :4], found[:, 6:]], 1))
    expected = []
    for row, quad in zip(found, corners):
        box = clip([*quad.min(0), *quad.max(0)], size)[0]
        # Ultralytics goes the other way around from the lower right; ours begin at the upper left where the angle is 0.
        expected.append(detection(box, row[4], row[5], [{"kind": "tensor", "format": "polygon", "points": quad[[2, 1, 0, 3]].tolist()}]))
    return made("YOLOv8-obb", {"output0": raw}, expected, size, labels=labels(2), **YOLO)


def whole_pixels(boxes):
    return numpy.concatenate([numpy.floor(boxes[:, :2]), numpy.ceil(boxes[:, 2:])], 1).astype(int)


def mask_in(box, mask):
    """The part of a mask of the size of the input that lies in a box."""
    x1, y1, x2, y2 = (int(value) for value in box)
    return {"kind": "segmentation", "box": [x1, y1, x2, y2], "cells": mask[y1:y2, x1:x2].astype(int).ravel().tolist()}


@case
def ultralytics_seg(rng, small):
    import torch
    from ultralytics.utils.ops import process_mask
    size, rows, classes = sizes(small), 40 if small else 2000, 2
    # Eighths, whose sums have no last digits that decide.
    eighths = lambda shape: (rng.integers(-16, 17, shape) / 8).astype(numpy.float32)
    prototypes = eighths((1, 8, size[1] // 4, size[0] // 4))
    raw = numpy.concatenate([random_boxes(rng, rows, size), random_scores(rng, rows, classes, 0.2 if small else 0.02), eighths((rows, 8))], 1).astype(numpy.float32).T[None].copy()
    found = ultralytics_nms(raw, size, classes)
    # It cuts masks at the box, here at the pixels that the box touches.
    around = whole_pixels(clip(found[:, :4], size))
    masks = process_mask(torch.from_numpy(prototypes[0]), torch.from_numpy(found[:, 6:]), torch.from_numpy(around).float(), (size[1], size[0]), upsample=True).numpy()
    expected = [detection(box, row[4], row[5], [mask_in(at, mask)]) for box, row, at, mask in zip(clip(found[:, :4], size), found, around, masks)]
    return made("YOLOv8-seg", {"output0": raw, "output1": prototypes}, expected, size, labels=labels(classes), **YOLO)


@case
def openvino_detection_output(rng, small):
    """Boxes beside priors by OpenVINO's operation DetectionOutput."""
    import openvino
    from openvino import opset8 as ops
    size, rows, classes = sizes(small), 12 if small else 600, 3
    loc = rng.normal(0, 1, (1, rows * 4)).astype(numpy.float32)
    conf = random_scores(rng, rows, classes, 0.4).reshape(1, -1)
    centre, half = rng.uniform(0.2, 0.8, (rows, 2)), rng.uniform(0.03, 0.15, (rows, 2))
    priors = numpy.stack([numpy.concatenate([centre - half, centre + half], 1).ravel(), numpy.tile([0.1, 0.1, 0.2, 0.2], rows)])[None].astype(numpy.float32)
    attributes = dict(num_classes=classes, background_label_id=0, top_k=-1, keep_top_k=[300], code_type="caffe.PriorBoxParameter.CENTER_SIZE", nms_threshold=0.45, confidence_threshold=0.3, normalized=True, share_location=True)
    ports = [ops.parameter(v.shape, numpy.float32) for v in (loc, conf, priors)]
    model = openvino.Model([ops.detection_output(*ports, attributes)], ports)
    found = next(iter(openvino.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([loc, conf, priors]).values()))[0, 0]
    found = found[: int(numpy.argmax(found[:, 0] < 0)) or len(found)] if (found[:, 0] < 0).any() else found
    boxes = clip(found[:, 3:] * numpy.array([size[0], size[1], size[0], size[1]]), size)
    expected = [detection(b, r[2], r[1]) for b, r in zip(boxes, found) if (b[2:] > b[:2]).all()]
    return made("SSD-priors", {"loc": loc, "conf": conf, "priors": priors}, expected, size, confidence=0.3, iou=0.45)


@case
def rtmlib_simcc(rng, small):
    from rtmlib.tools.pose_estimation.post_processings import get_simcc_maximum
    size, count = sizes(small), 5 if small else 17
    x, y = rng.random((1, count, size[0] * 2)).astype(numpy.float32), rng.random((1, count, size[1] * 2)).astype(numpy.float32)
    places, scores = get_simcc_maximum(x.copy(), y.copy())
    expected = [{"kind": "tensor", "format": "keypoints", "points": [[float(px) / 2, float(py) / 2, float(s)] for (px, py), s in zip(places[0], scores[0])]}]
    return made("RTMPose", {"simcc_x": x, "simcc_y": y}, expected, size)


@case
def torchvision_boxes(rng, small):
    """What torchvision's detectors give is finished: rows are ranked, and those under the threshold go."""
    size, rows = sizes(small), 8 if small else 100
    centre = random_boxes(rng, rows, size)
    boxes = clip(numpy.concatenate([centre[:, :2] - centre[:, 2:] / 2, centre[:, :2] + centre[:, 2:] / 2], 1), size).astype(numpy.float32)
    scores, classes = rng.random(rows).astype(numpy.float32), rng.integers(1, 91, rows)
    expected = [detection(b, s, c) for b, s, c in zip(boxes, scores, classes) if s >= 0.5]
    return made("Boxes", {"boxes": boxes, "labels": classes.astype(numpy.int64), "scores": scores}, expected, size)


@case
def torchvision_masks(rng, small):
    """Masks of torchvision's detectors are probabilities over the whole picture; its examples take those of at least one half."""
    case = torchvision_boxes(rng, small)
    size, count, cell = case["input"], len(case["outputs"]["scores"]), 4 if small else 1
    masks = rng.integers(0, 9, (count, 1, size[1] // cell, size[0] // cell)).astype(numpy.float32) / 8
    kept = [i for i, score in enumerate(case["outputs"]["scores"]) if score >= 0.5]
    for entry, i in zip(case["expected"], kept):
        near, far = numpy.floor(numpy.array(entry["box"][:2]) / cell).astype(int), numpy.ceil(numpy.array(entry["box"][2:]) / cell).astype(int)
        cells = masks[i, 0, near[1] : far[1], near[0] : far[0]] >= 0.5
        box = (numpy.concatenate([near, far]) * cell).tolist()
        entry["children"] = [{"kind": "segmentation", "box": box, "cells": cells.ravel().astype(int).tolist()}]
    case["outputs"]["masks"] = masks
    return case


@case
def torchvision_keypoints(rng, small):
    """Points of Keypoint R-CNN are finished, and their scores logits."""
    case = torchvision_boxes(rng, small)
    count = len(case["outputs"]["scores"])
    at = rng.uniform(0, case["input"][1], (count, 5, 2))
    logits = rng.normal(0, 3, (count, 5)).astype(numpy.float32)
    kept = [i for i, score in enumerate(case["outputs"]["scores"]) if score >= 0.5]
    for entry, i in zip(case["expected"], kept):
        entry["children"] = [points(numpy.concatenate([at[i], sigmoid(logits[i].astype(numpy.float64))[:, None]], 1))]
    case["outputs"] |= {"keypoints": numpy.concatenate([at, numpy.ones((count, 5, 1))], 2).astype(numpy.float32), "keypoints_scores": logits}
    return case


@case
def anomalib_decided(rng, small):
    """anomalib's models have decided themselves: their label and mask count as they are."""
    size = (16, 8)
    mask = rng.random((1, 1, 8, 16)) > 0.7
    expected = [classification("Anomaly", 0.8125, 1), {"kind": "segmentation", "box": [0, 0, 16, 8], "cells": mask.ravel().astype(int).tolist()}]
    return made("AnomalyDetection", {"pred_score": numpy.float32([0.8125]), "pred_label": numpy.array([True]), "anomaly_map": rng.random((1, 1, 8, 16)).astype(numpy.float32), "pred_mask": mask}, expected, size)


@case
def values_of_pictures(rng, small):
    """Formulas: p = softmax(x); an embedding has the length 1."""
    vector = rng.normal(0, 1, (1, 8)).astype(numpy.float32)
    unit = vector[0] / numpy.linalg.norm(vector)
    return made("Embedding", {"features": vector}, [{"kind": "tensor", "format": "embedding", "values": unit.tolist()}], (64, 32), tolerance=1e-4)


@case
def attributes_age_gender(rng, small):
    """OpenVINO's age-gender-recognition: age_conv3 * 100, prob is a softmax of female and male (its documentation)."""
    expected = [classification("34.5", 1, -1, model="m/age"), classification("male", 0.75, 1, model="m/gender")]
    return made("Attributes", {"age_conv3": numpy.float32([[[[0.345]]]]), "prob": numpy.float32([[[[0.25]], [[0.75]]]])}, expected, (62, 62), parameters={"outputs": "age:*100,gender:female/male"}, tolerance=0.01)


@case
def depth_map(rng, small):
    depth = rng.random((1, 8, 16)).astype(numpy.float32)
    return made("Depth", {"predicted_depth": depth}, [{"kind": "tensor", "format": "depth", "values": depth.ravel().tolist()}], (64, 32), tolerance=1e-4)


def write(folder, name, content, small):
    outputs = []
    for key, value in content["outputs"].items():
        value = numpy.ascontiguousarray(value)
        kind = {"float32": "f32", "int64": "i64", "uint8": "u8", "bool": "bool"}[str(value.dtype)]
        entry = {"name": key, "shape": list(value.shape), "type": kind}
        if small:
            entry["values"] = [int(v) if v == int(v) else float(f"{v:.6g}") for v in value.ravel().tolist()]
        else:
            entry["file"] = f"{name}.{key}.bin"
            value.tofile(folder / entry["file"])
        outputs.append(entry)
    content = {"oracle": name, **content, "outputs": outputs}
    (folder / f"{name}.json").write_text(json.dumps(content, separators=(",", ":")).replace('{"name"', '\n{"name"').replace('{"kind":"detection"', '\n{"kind":"detection"') + "\n")


def speed():
    """Ultralytics' suppression in one thread, for vision/outputs/decode_bench.cpp: 8,400 boxes of 80 classes, 2 % of them objects."""
    import time
    import torch
    torch.set_num_threads(1)
    rng = numpy.random.default_rng(1)
    raw = numpy.concatenate([random_boxes(rng, 8400, (640, 640)), random_scores(rng, 8400, 80, 0.02)], 1).T[None].copy()
    times = []
    for _ in range(30):
        begin = time.perf_counter()
        ultralytics_nms(raw, (640, 640), 80)
        times.append(time.perf_counter() - begin)
    print(f"ultralytics {min(times) * 1e6:.0f} us at best, {sorted(times)[15] * 1e6:.0f} us the median")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    if given.speed:
        return speed()
    given.out.mkdir(parents=True, exist_ok=True)
    failed = 0
    for name, function in CASES.items():
        if given.names and name not in given.names:
            continue
        try:
            content = function(numpy.random.default_rng(sum(map(ord, name))), given.small)
        except ImportError as error:
            print(f"{name}: left out, {error}", file=sys.stderr)
            failed += given.strict
            continue
        except Exception:
            traceback.print_exc()
            print(f"{name}: failed", file=sys.stderr)
            failed += 1
            continue
        write(given.out, name, content, given.small)
        print(f"{name}: {len(content['expected'])} results")
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
