# SPDX-License-Identifier: Apache-2.0
"""Ultralytics: each head, each generation of YOLO, and the options of its exporter."""
import pathlib
import unittest.mock

import common
import numpy as np
import onnx
import torch
from PIL import Image

# Name: configuration, form, options of export().
CASES = {
    "detect": ("yolo11n.yaml", "onnx", {}), "detect_openvino": ("yolo11n.yaml", "openvino", {}),
    "segment": ("yolo11n-seg.yaml", "onnx", {}), "pose": ("yolo11n-pose.yaml", "onnx", {}), "obb": ("yolo11n-obb.yaml", "onnx", {}),
    "classify": ("yolo11n-cls.yaml", "onnx", {}), "classify_openvino": ("yolo11n-cls.yaml", "openvino", {}),
    "v3": ("yolov3-tiny.yaml", "onnx", {}), "v5": ("yolov5n.yaml", "onnx", {}), "v6": ("yolov6n.yaml", "onnx", {}),
    "v8": ("yolov8n.yaml", "onnx", {}), "v8_segment": ("yolov8n-seg.yaml", "openvino", {}), "v8_pose": ("yolov8n-pose.yaml", "openvino", {}),
    "v9": ("yolov9t.yaml", "onnx", {}), "v10": ("yolov10n.yaml", "onnx", {}), "v10_end2end": ("yolov10n.yaml", "onnx", {"nms": False}),
    "v12": ("yolo12n.yaml", "onnx", {}),
    "v26": ("yolo26n.yaml", "onnx", {}), "v26_openvino": ("yolo26n.yaml", "openvino", {}), "v26_segment": ("yolo26n-seg.yaml", "onnx", {}),
    "v26_pose": ("yolo26n-pose.yaml", "onnx", {}), "v26_obb": ("yolo26n-obb.yaml", "onnx", {}), "v26_classify": ("yolo26n-cls.yaml", "onnx", {}),
    # The head that needs no suppression: of the two that are trained, the exporter leaves in the other one if nothing is said.
    "v26_end2end": ("yolo26n.yaml", "onnx", {"nms": False}), "v26_end2end_openvino": ("yolo26n.yaml", "openvino", {"nms": False}),
    "v26_end2end_segment": ("yolo26n-seg.yaml", "onnx", {"nms": False}), "v26_end2end_pose": ("yolo26n-pose.yaml", "onnx", {"nms": False}),
    "v26_end2end_obb": ("yolo26n-obb.yaml", "onnx", {"nms": False}),
    "v26_semantic": ("yolo26n-sem.yaml", "onnx", {}), "v26_semantic_openvino": ("yolo26n-sem.yaml", "openvino", {}),
    "v26_depth": ("yolo26n-depth.yaml", "onnx", {}), "v26_depth_openvino": ("yolo26n-depth.yaml", "openvino", {}),
    "rtdetr": ("rtdetr-l.yaml", "onnx", {}), "rtdetr_openvino": ("rtdetr-l.yaml", "openvino", {}),
    "dynamic": ("yolo11n.yaml", "onnx", {"dynamic": True}), "dynamic_openvino": ("yolo11n.yaml", "openvino", {"dynamic": True}),
    "nms": ("yolo11n.yaml", "onnx", {"nms": True}), "nms_segment": ("yolo11n-seg.yaml", "onnx", {"nms": True}),
    "nms_pose": ("yolo11n-pose.yaml", "onnx", {"nms": True}), "nms_openvino": ("yolo11n.yaml", "openvino", {"nms": True}),
    "half_openvino": ("yolo11n.yaml", "openvino", {"quantize": 16}), "opset12": ("yolov8n.yaml", "onnx", {"opset": 12}),
    "unsimplified": ("yolov8n.yaml", "onnx", {"simplify": False}), "half": ("yolo11n.yaml", "onnx", {"quantize": 16}),
}


def objects_of_some_cells(head, cells):
    """Boxes of random weights are mere lines or lie beside the picture, and scores are nearly 0. The distances to the four edges, of which each has
    another here, are the means of 16 bins each, whose numbers are no weights, or plain numbers."""
    edges = cells * torch.tensor([0.75, 1.0, 1.25, 0.9])
    bins = torch.arange(16.0)
    with torch.no_grad():
        if hasattr(getattr(head, "dfl", None), "conv"):
            head.dfl.conv.weight.copy_(bins.view(1, 16, 1, 1))
        for branch in [*(getattr(head, "cv2", None) or []), *(getattr(head, "one2one_cv2", None) or [])]:
            branch[-1].weight.mul_(0.2)
            branch[-1].bias.copy_((-((bins - edges[:, None]) ** 2)).flatten() if len(branch[-1].bias) == 64 else edges)
        for branch in [*(getattr(head, "cv3", None) or []), *(getattr(head, "one2one_cv3", None) or [])]:
            branch[-1].bias.clamp_(min=-1)


def computes_in_f32():
    """OpenVINO, by which the predictor runs an IR, takes bf16 where the CPU has it, which moves pixels from class to class."""
    import openvino

    compile_model = openvino.Core.compile_model

    def in_f32(core, model, device_name="CPU", config=None):
        return compile_model(core, model, device_name, {"INFERENCE_PRECISION_HINT": "f32"} | (config or {}))

    return unittest.mock.patch.object(openvino.Core, "compile_model", in_f32)


def export(family, photo):
    from ultralytics import RTDETR, YOLO

    def one(place, config, form, options):
        torch.manual_seed(3)
        kind = RTDETR if config.startswith("rtdetr") else YOLO
        yolo = kind(config)
        common.varied(yolo.model, 3, 1.0 if config.startswith("yolo12") else 1.6)  # Its attention makes more of last digits.
        # Turned boxes are compared where they lie in the picture whole.
        objects_of_some_cells(yolo.model.model[-1], 0.7 if yolo.task == "obb" else 2.0)
        if yolo.task == "semantic":
            pixels = torch.from_numpy(np.asarray(Image.open(photo)).copy()).permute(2, 0, 1)[None] / 255.0
            with torch.no_grad():
                logits = yolo.model(torch.nn.functional.interpolate(pixels, (common.SIZE, common.SIZE)))
                common.let_each_class_win(yolo.model.model[-1].classifier, logits)
        yolo.model.names = {i: f"class {i}" for i in range(len(yolo.model.names))}
        yolo.model.pt_path = yolo.ckpt_path = str(place / "model.pt")
        size = 320 if kind is RTDETR else common.SIZE
        exported = pathlib.Path(yolo.export(format=form, imgsz=size, device="cpu", verbose=False, **options))
        own = kind(exported) if kind is RTDETR else YOLO(exported, task=yolo.task)
        with computes_in_f32():
            result = own.predict(str(photo), imgsz=size, conf=0.01 if not options.get("nms") else 0.25, iou=0.7, max_det=50, verbose=False,
                                 device="cpu", retina_masks=True)[0]
        boxes = result.obb if yolo.task == "obb" else result.boxes
        said = {"model": str(next(exported.glob("*.xml")) if exported.is_dir() else exported), "names": [own.names[i] for i in sorted(own.names)]}
        fed = own.predictor.preprocess([np.asarray(Image.open(photo))[..., ::-1]])
        if options.get("nms"):
            said["confidence"] = 0.25
        # Lists that the model itself has sorted, the masks' prototypes aside.
        if options.get("nms") is not None or kind is RTDETR:
            said["is_list"], said["no_list"] = True, [1]
        if yolo.task == "classify":
            said["probabilities"] = result.probs.data.tolist()
        elif yolo.task == "semantic":
            common.add_maps(said, classes=np.asarray(result.semantic_mask.data).astype(np.uint8))
        elif yolo.task == "depth":
            # Before the predictor resizes it to the picture.
            common.add_maps(said, depth=np.asarray(own.predictor.inference(fed)).reshape(fed.shape[2:]))
        else:
            common.add_boxes(said, boxes.xyxyxyxy.reshape(-1, 8) if yolo.task == "obb" else boxes.xyxy, boxes.conf, boxes.cls)
        if yolo.task == "pose":
            said["points"] = result.keypoints.data.tolist()
        if yolo.task == "segment":
            common.add_maps(said, masks=result.masks.data.numpy() > 0)
        # The folder of an IR has metadata.yaml, the ONNX file its own entries.
        common.add_probe(said, fed, [(e.key, e.value) for e in onnx.load(exported).metadata_props] if form == "onnx" else [])
        common.add_runs(said, fed)
        return said

    for case, (config, form, options) in CASES.items():
        family.add(case, lambda place: one(place, config, form, options))
