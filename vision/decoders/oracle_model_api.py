# SPDX-License-Identifier: Apache-2.0
"""Cases of oracle.py whose program is OpenVINO's Model API."""
import json

import numpy

from oracle_parts import case, classification, detection, labels, made, sizes


def model_api(base, values=(), **params):
    """An object of a class of Model API without a model behind it: what its constructor would read of one is in `values` and `params`."""
    made = {"__init__": lambda self: None, "params": type("Parameters", (), params)()}
    return type("Program", (base,), made | dict(values))()


def segmentation(rng, size, **params):
    """SegmentationModel's classes and soft prediction, of the size of the output. Logits: they may be negative."""
    from model_api.models.segmentation import SegmentationModel
    width, height = size
    blobs = rng.normal(0, 1, (1, 3, height // 4, width // 4)).repeat(4, 2).repeat(4, 3)
    scores = (blobs + rng.normal(0, 0.6, (1, 3, height, width))).astype(numpy.float32)
    program = model_api(SegmentationModel, {"output_blob_name": "scores", "out_channels": 3}, return_soft_prediction=True, **params)
    found = program.postprocess({"scores": scores}, {"original_shape": (height, width, 3)})
    classes, soft = found.resultImage, found.soft_prediction.transpose(2, 0, 1)
    expected = [{"kind": "segmentation", "box": [0, 0, width, height], "cells": classes.ravel().astype(int).tolist()},
                {"kind": "tensor", "format": "class_scores", "values": [float(f"{v:.6g}") for v in soft.ravel().tolist()]}]
    settings = {"soft_predictions": "YES", "blur_strength": str(params["blur_strength"]), "soft_threshold": str(params["soft_threshold"])}
    return made("Segmentation", {"scores": scores}, expected, size, labels=labels(3), parameters=settings, tolerance=1e-4)


@case
def model_api_segmentation(rng, small):
    return segmentation(rng, (16, 8) if small else (160, 96), soft_threshold=float("-inf"), blur_strength=-1)


@case
def model_api_segmentation_smoothed(rng, small):
    """blur_strength and soft_threshold: classes of averaged scores, while the soft prediction stays as it is."""
    return segmentation(rng, (16, 8) if small else (160, 96), soft_threshold=0.5, blur_strength=3)


@case
def model_api_ssd(rng, small):
    """SSD's output of one layer. Model API rounds boxes to pixels, and drops those of one pixel: these begin and end at some."""
    from model_api.models.ssd import SSD, SingleOutputParser
    size, rows = sizes(small), 8 if small else 200
    near, far = rng.integers(-3, size[1] // 2, (rows, 2)), rng.integers(4, size[1], (rows, 2))
    corners, classes = numpy.concatenate([near, near + far], 1), rng.integers(0, 3, (rows, 1))
    corners[1], classes[1] = corners[0] + 1, classes[0]  # The layer has suppressed boxes; these two it meant.
    chosen = numpy.sort(rng.uniform(0, 1, rows))[::-1]
    chosen[-2:] = 0  # Rows that the layer did not fill.
    output = numpy.concatenate([numpy.zeros((rows, 1)), classes, chosen[:, None], corners / numpy.tile(size, 2)], 1).astype(numpy.float32)[None, None]
    program = model_api(SSD, {"w": size[0], "h": size[1], "output_parser": SingleOutputParser({"out": output})}, confidence_threshold=0.4, iou_threshold=0.5,
                        nms_execute=False, agnostic_nms=False, nms_max_predictions=200, resize_type="standard", labels=labels(3))
    found = program.postprocess({"out": output.copy()}, {"original_shape": (size[1], size[0], 3)})
    expected = [detection(b, s, c) for b, s, c in zip(found.bboxes, found.scores, found.labels)]
    return made("SSD", {"out": output}, expected, size, confidence=0.4, labels=labels(3))


@case
def model_api_yolox(rng, small):
    """YOLOX's grids, with the suppression that its wrapper switches on. That measures overlaps with one pixel more on each side."""
    from model_api.models.yolo import YOLOX
    size = sizes(small)
    cells = sum((size[0] // stride) * (size[1] // stride) for stride in (8, 16, 32))
    output = numpy.concatenate([rng.normal(0.5, 0.5, (1, cells, 2)), rng.normal(1, 0.4, (1, cells, 2)), rng.uniform(0, 1, (1, cells, 2))], 2).astype(numpy.float32)
    output[0, rng.random(cells) < (0.5 if small else 0.9), 4] = 0.01
    program = model_api(YOLOX, {"w": size[0], "h": size[1], "output_blob_name": "out"}, confidence_threshold=0.3, iou_threshold=0.65, nms_execute=True,
                        agnostic_nms=True, nms_max_predictions=300)
    program.set_strides_grids()
    found = program.postprocess({"out": output.copy()}, {"original_shape": (size[1], size[0], 3), "scale": 1})
    expected = [detection(b, s, c) for b, s, c in zip(found.bboxes, found.scores, found.labels) if (b[2:] > b[:2]).all()]
    return made("YOLOX", {"out": output}, expected, size, confidence=0.3, iou=0.65, labels=labels(1), slack=0 if small else 4)


@case
def model_api_mask_rcnn(rng, small):
    """Masks over the boxes, at the resolution of the output: postprocess_semantic_masks=False."""
    from model_api.models.instance_segmentation import MaskRCNNModel
    size, count, cells = sizes(small), 5 if small else 100, 4 if small else 28
    near, far = rng.integers(0, size[1] // 2, (count, 2)), rng.integers(4, size[1] // 2, (count, 2))
    boxes = numpy.concatenate([near, near + far, rng.uniform(0, 1, (count, 1))], 1).astype(numpy.float32)
    outputs = {"boxes": boxes, "labels": rng.integers(0, 3, count), "masks": rng.random((count, cells, cells)).astype(numpy.float32)}
    program = model_api(MaskRCNNModel, {"is_segmentoly": False, "outputs": outputs, "output_blob_name": {name: name for name in outputs}, "orig_width": size[0],
                        "orig_height": size[1]}, confidence_threshold=0.5, iou_threshold=0.5, nms_execute=False, agnostic_nms=False, nms_max_predictions=200,
                        resize_type="standard", labels=labels(4), postprocess_semantic_masks=False)
    found = program.postprocess({name: value.copy() for name, value in outputs.items()}, {"original_shape": (size[1], size[0], 3)})
    expected = [detection(b, s, c, [{"kind": "segmentation", "box": [float(v) for v in b], "cells": (m > 0.5).ravel().astype(int).tolist()}])
                for b, s, c, m in zip(found.bboxes, found.scores, found.labels, found.masks)]
    return made("MaskRCNN", outputs, expected, size, labels=labels(4))


@case
def model_api_multilabel(rng, small):
    from model_api.models.classification import ClassificationModel
    logits = rng.normal(-1, 2, (1, 8 if small else 400)).astype(numpy.float32)
    names = labels(logits.size)
    program = model_api(ClassificationModel, confidence_threshold=0.5, labels=names)
    found = program.get_multilabel_predictions(logits.ravel())
    return made("Classification", {"logits": logits}, [classification(l.name, l.confidence, int(l.id)) for l in found], (64, 32), labels=names, multi_label=True, tolerance=0.01)


@case
def model_api_multiclass(rng, small):
    from model_api.models.classification import ClassificationModel
    logits = rng.normal(0, 2, (1, 8 if small else 1000)).astype(numpy.float32)
    names = labels(logits.size)
    program = model_api(ClassificationModel, {"out_layer_names": ["logits"]}, topk=5, labels=names)
    found = program.get_multiclass_predictions({"logits": logits})
    return made("Classification", {"logits": logits}, [classification(l.name, l.confidence, int(l.id)) for l in found], (64, 32), labels=names, confidence=0, top_k=5, tolerance=0.01)


@case
def model_api_anomaly(rng, small):
    """The largest difference decides, by thresholds in units of the map."""
    from model_api.models.anomaly import AnomalyDetection
    size = (16, 8) if small else (160, 96)
    differences = rng.uniform(0, 20, (1, 1, size[1], size[0])).astype(numpy.float32)
    settings = dict(image_threshold=10, pixel_threshold=14, normalization_scale=25)
    program = model_api(AnomalyDetection, {"outputs": ["map"]}, labels=["Normal", "Anomaly"], task="segmentation", **settings)
    found = program.postprocess({"map": differences.copy()}, {"original_shape": (size[1], size[0], 3)})
    expected = [classification(found.pred_label, found.pred_score, 1), {"kind": "segmentation", "box": [0, 0, *size], "cells": found.pred_mask.ravel().astype(int).tolist()}]
    return made("AnomalyDetection", {"map": differences}, expected, size, labels=["Normal", "Anomaly"], tolerance=0.01, **settings)


@case
def model_api_hierarchical(rng, small):
    from model_api.models.classification import ClassificationModel, GreedyLabelsResolver
    groups = [["animal", "car"], ["cat", "dog", "horse"], ["night"], ["wet"]]
    config = {"cls_heads_info": {"num_multiclass_heads": 2, "head_idx_to_logits_range": {"0": [0, 2], "1": [2, 5]}, "num_single_label_classes": 5,
                                 "num_multilabel_classes": 2, "all_groups": groups, "label_to_idx": {name: i for i, name in enumerate(sum(groups, []))}},
              "label_tree_edges": [["cat", "animal"], ["dog", "animal"], ["horse", "animal"], ["wet", "car"]]}
    logits = numpy.array([[2.5, 0.25, 0.5, 3, -1, 0.75, 1.5]], numpy.float32)
    program = type("Program", (), {"hierarchical_info": config, "labels_resolver": GreedyLabelsResolver(config), "params": type("P", (), {"confidence_threshold": 0.5})})()
    found = ClassificationModel.get_hierarchical_predictions(program, logits.ravel())
    return made("Hierarchical", {"logits": logits}, [classification(l.name, l.confidence, int(l.id)) for l in found], (64, 32), parameters={"hierarchical_config": json.dumps(config)}, tolerance=0.01)
