# SPDX-License-Identifier: Apache-2.0
"""torchvision: its detectors, which resize and suppress inside, segmentation and classifiers. Its exports say nothing of themselves, so what its
documentation says of each model is stated by hand."""
import common
import numpy as np
import torch
from PIL import Image

SIDES = {"min_size": 192, "max_size": 320}
# Name: options of the model, options of the export. "list": a list of pictures [3,h,w], as torchvision's documentation has it; else a batch of one.
DETECTORS = {
    "fasterrcnn_mobilenet_v3_large_320_fpn": (SIDES | {"box_score_thresh": 0.05}, {"list": True}),
    "fasterrcnn_resnet50_fpn": (SIDES, {}), "fasterrcnn_resnet50_fpn_v2": (SIDES, {"dynamo": True}),
    "ssdlite320_mobilenet_v3_large": ({}, {"list": True}), "ssd300_vgg16": ({}, {}),
    "retinanet_resnet50_fpn": (SIDES, {}), "fcos_resnet50_fpn": (SIDES, {"list": True}),
    "maskrcnn_resnet50_fpn": (SIDES, {"list": True}), "keypointrcnn_resnet50_fpn": (SIDES, {}),
}
CLASSIFIERS = {"resnet18": {}, "mobilenet_v3_small": {"dynamo": True}, "shufflenet_v2_x0_5": {}, "efficientnet_b0": {"dynamo": True, "dynamic": True},
               "swin_t": {}, "regnet_y_400mf": {"dynamic": True}, "maxvit_t": {"dynamo": True}, "vit_b_32": {"dynamo": True}}
MASKS = {"deeplabv3_mobilenet_v3_large": {"dynamic": True}, "fcn_resnet50": {}, "lraspp_mobilenet_v3_large": {"dynamo": True}}
MEAN, DEVIATION = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
NORMALISED = {"mean_values": " ".join(f"{255 * v:.6g}" for v in MEAN.tolist()), "scale_values": " ".join(f"{255 * v:.6g}" for v in DEVIATION.tolist()),
              "color_space": "RGB"}


def normalised(pixels):
    return (pixels - MEAN[:, None, None]) / DEVIATION[:, None, None]


def export(family, photo):
    import torchvision

    pixels = torch.from_numpy(np.asarray(Image.open(photo)).copy()).permute(2, 0, 1) / 255.0

    def detector(place, name, given, options):
        torch.manual_seed(4)
        many = "num_keypoints" if name.startswith("keypoint") else None
        model = getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None, num_classes=2 if many else 6, **given)
        common.varied(model, 4, 1.0)
        with torch.no_grad():
            found = model([pixels])[0]
        args = ([pixels],) if options.get("list") else (pixels[None],)
        path = common.to_onnx(model, place / "model.onnx", args, None, options.get("dynamo", False))
        said = {"model": path, "facts": {"model_type": "torchvision", "scale_values": "255", "color_space": "RGB"}, "confidence": 0.05, "is_list": True,
                "facts_labels": ["background", *common.LABELS[1:]]}
        common.add_boxes(said, found["boxes"], found["scores"], found["labels"])
        if "masks" in found:
            common.add_maps(said, masks=found["masks"][:50, 0].numpy() >= 0.5)
        if "keypoints" in found:
            said["points"] = found["keypoints"][..., :2].tolist()
        common.add_runs(said, pixels if options.get("list") else pixels[None])
        return said

    def classifier(place, name, options):
        model = common.varied(getattr(torchvision.models, name)(weights=None, num_classes=6), 6)
        preset = torchvision.transforms._presets.ImageClassification(crop_size=224, resize_size=256)
        tensor = preset(Image.open(photo).convert("RGB"))[None]
        path = common.to_onnx(model, place / "model.onnx", torch.zeros(1, 3, 224, 224), ["logits"], **options)
        said = {"model": path, "facts": NORMALISED | {"model_type": "Classification", "resize_type": "crop", "crop_fraction": "0.875",
                                                      "input_size": "224 224"}, "facts_labels": common.LABELS}
        with torch.no_grad():
            said["probabilities"] = model(tensor).softmax(-1)[0].tolist()
        common.add_probe(said, tensor)
        common.add_runs(said, tensor)
        return said

    def segmenter(place, name, options):
        model = common.varied(getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None, num_classes=6), 6)
        tensor = torch.nn.functional.interpolate(normalised(pixels)[None], (192, 320), mode="bilinear", antialias=True)
        path = common.to_onnx(model, place / "model.onnx", torch.zeros_like(tensor), None, **options)
        said = {"model": path, "facts": NORMALISED | {"model_type": "Segmentation", "input_size": "192 320"}, "facts_labels": common.LABELS}
        with torch.no_grad():
            common.add_maps(said, classes=model(tensor)["out"].argmax(1)[0].numpy().astype(np.uint8))
        common.add_probe(said, tensor)
        common.add_runs(said, tensor)
        return said

    for name, (given, options) in DETECTORS.items():
        family.add(name, lambda place: detector(place, name, given, options))
    for name, options in CLASSIFIERS.items():
        family.add(name, lambda place: classifier(place, name, options))
    for name, options in MASKS.items():
        family.add(name, lambda place: segmenter(place, name, options))
