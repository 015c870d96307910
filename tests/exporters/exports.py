#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports small models with random weights by the programs that people export theirs with, and writes what each exporter's own program
does with one picture: exports.py FOLDER. Needs ultralytics, transformers, timm, torch, onnx and openvino (./dev check models installs
them). No weights are downloaded: the exporters' own results are the reference, whatever the weights are."""
import json
import os
import pathlib
import sys

os.environ.update(YOLO_OFFLINE="true", HF_HUB_OFFLINE="1", YOLO_VERBOSE="False", YOLO_AUTOINSTALL="false")
import numpy as np
import onnx
import torch
from onnx import TensorProto, helper
from PIL import Image, ImageFilter

SIZE = 128


def picture(path, width, height):
    """Soft shapes of many colours: an error in order, scale or place changes results, and the filter of a resize does not."""
    rng = np.random.default_rng(7)
    grid = np.linspace(0, 255, width, dtype=np.uint8)[None, :, None] * np.ones((height, 1, 3), np.uint8)
    grid[..., 1] = np.linspace(255, 0, height, dtype=np.uint8)[:, None]
    for _ in range(12):
        x, y = rng.integers(0, width - 64), rng.integers(0, height - 64)
        grid[y : y + rng.integers(32, 192), x : x + rng.integers(32, 192)] = rng.integers(0, 256, 3)
    Image.fromarray(grid).filter(ImageFilter.GaussianBlur(16)).save(path)
    return path


def varied(model, seed):
    """Weights whose results differ from place to place: those of an untrained model are nearly all the same."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim > 1:
                fan = parameter[0].numel()
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * (1.6 / fan) ** 0.5)
            elif name.endswith("bias"):
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.3)


def boxes_of_some_cells(head):
    """Boxes of random weights are mere lines. The distances to their edges are the means of 16 bins each, or plain numbers."""
    with torch.no_grad():
        for branch in [*getattr(head, "cv2", []), *(getattr(head, "one2one_cv2", None) or [])]:
            bias = branch[-1].bias
            if len(bias) == 64:
                bias.copy_((-((torch.arange(16.0) - 2) ** 2)).repeat(4))
            else:
                bias.fill_(2.0)


def add_probe(said, tensor, properties=()):
    """Writes probe.onnx beside the model, which gives back what it is fed: the means of blocks of the picture, and a 0 to compare with.
    What untrained models find says little of their input. @param tensor  What the exporter's program feeds its model."""
    block, shape = 8, list(tensor.shape)
    path = pathlib.Path(said["model"]).with_name("probe.onnx")
    nodes = [helper.make_node("AveragePool", ["pixels"], ["means"], kernel_shape=[block, block], strides=[block, block]),
             helper.make_node("Flatten", ["means"], ["row"]), helper.make_node("Concat", ["row", "zero"], ["values"], axis=1)]
    graph = helper.make_graph(nodes, "probe", [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info("values", TensorProto.FLOAT, [1, None])],
                              [helper.make_tensor("zero", TensorProto.FLOAT, [1, 1], [0.0])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    for key, value in properties:
        entry = model.metadata_props.add()
        entry.key, entry.value = key, value
    onnx.save(model, path)
    means = torch.nn.functional.avg_pool2d(tensor.float().cpu(), block)
    said["probe"], said["prepared"] = str(path), means.flatten().tolist()


def ultralytics_models(folder, photo):
    from ultralytics import RTDETR, YOLO

    found = {}
    names = {"detect": "yolo11n.yaml", "segment": "yolo11n-seg.yaml", "pose": "yolo11n-pose.yaml", "obb": "yolo11n-obb.yaml",
             "classify": "yolo11n-cls.yaml", "end2end": "yolo26n.yaml", "v8": "yolov8n.yaml"}
    for kind, config in names.items():
        torch.manual_seed(3)
        yolo = YOLO(config)
        varied(yolo.model, 3)
        boxes_of_some_cells(yolo.model.model[-1])
        yolo.model.names = {i: f"class {i}" for i in range(len(yolo.model.names))}
        place = folder / f"ultralytics_{kind}"
        place.mkdir(exist_ok=True)
        for form in ("onnx", "openvino"):
            if form == "openvino" and kind not in ("detect", "classify"):
                continue
            yolo.model.pt_path = yolo.ckpt_path = str(place / "model.pt")
            exported = pathlib.Path(yolo.export(format=form, imgsz=SIZE, device="cpu", verbose=False))
            own = YOLO(exported, task=yolo.task)
            result = own.predict(str(photo), imgsz=SIZE, conf=0.01, iou=0.7, max_det=50, verbose=False, device="cpu")[0]
            boxes = result.obb if kind == "obb" else result.boxes
            said = {"model": str(next(exported.glob("*.xml")) if exported.is_dir() else exported), "task": yolo.task,
                    "names": [own.names[i] for i in sorted(own.names)], "imgsz": SIZE}
            if kind == "classify":
                said["probabilities"] = result.probs.data.tolist()
            else:
                said["boxes"] = (boxes.xyxyxyxy.reshape(-1, 8) if kind == "obb" else boxes.xyxy).tolist()
                said["scores"], said["classes"] = boxes.conf.tolist(), [int(c) for c in boxes.cls.tolist()]
            fed = own.predictor.preprocess([np.asarray(Image.open(photo))[..., ::-1]])
            # The folder of an IR has metadata.yaml, the ONNX file its own entries.
            add_probe(said, fed, [(e.key, e.value) for e in onnx.load(exported).metadata_props] if form == "onnx" else [])
            found[f"ultralytics_{kind}_{form}"] = said
    return found


def to_onnx(model, path, size, names):
    torch.onnx.export(model, torch.zeros(1, 3, size, size), str(path), input_names=["pixel_values"], output_names=names, opset_version=17,
                      dynamo=False)


def transformers_models(folder, photo):
    from transformers import (ConvNextConfig, ConvNextForImageClassification, ConvNextImageProcessor, MobileViTConfig,
                              MobileViTForImageClassification, MobileViTImageProcessor, ResNetConfig, ResNetForImageClassification,
                              SegformerConfig, SegformerForSemanticSegmentation, SegformerImageProcessor, ViTConfig,
                              ViTForImageClassification, ViTImageProcessor)

    labels = {i: f"label {i}" for i in range(6)}
    cases = {
        "vit": (ViTForImageClassification(ViTConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
                                                    image_size=SIZE, id2label=labels)),
                ViTImageProcessor(size={"height": SIZE, "width": SIZE})),
        "convnext": (ConvNextForImageClassification(ConvNextConfig(depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 16, 16], id2label=labels)),
                     ConvNextImageProcessor(size={"shortest_edge": SIZE}, crop_pct=0.875, resample=2)),
        "resnet": (ResNetForImageClassification(ResNetConfig(embedding_size=8, hidden_sizes=[8, 8, 8, 8], depths=[1, 1, 1, 1],
                                                             id2label=labels)),
                   ViTImageProcessor(size={"height": SIZE, "width": SIZE}, do_normalize=False, resample=0)),
        "mobilevit": (MobileViTForImageClassification(MobileViTConfig(hidden_sizes=[16, 16, 16], neck_hidden_sizes=[8, 8, 8, 8, 8, 8, 16],
                                                                      image_size=SIZE, id2label=labels)),
                      MobileViTImageProcessor(size={"shortest_edge": 146}, crop_size={"height": SIZE, "width": SIZE})),
        "segformer": (SegformerForSemanticSegmentation(SegformerConfig(depths=[1, 1, 1, 1], hidden_sizes=[8, 8, 16, 16],
                                                                       decoder_hidden_size=16, id2label=labels)),
                      SegformerImageProcessor(size={"height": SIZE, "width": SIZE})),
    }
    found = {}
    for name, (model, processor) in cases.items():
        varied(model, 5)
        model.eval()
        place = folder / f"transformers_{name}"
        place.mkdir(exist_ok=True)
        model.config.architectures = [type(model).__name__]
        model.config.save_pretrained(place)
        processor.save_pretrained(place)
        to_onnx(model, place / "model.onnx", SIZE, ["logits"])
        inputs = processor(Image.open(photo), return_tensors="pt")
        with torch.no_grad():
            logits = model(**inputs).logits
        found[f"transformers_{name}"] = {"model": str(place / "model.onnx"), "names": [labels[i] for i in range(6)]}
        add_probe(found[f"transformers_{name}"], inputs["pixel_values"])
        if name != "segformer":
            found[f"transformers_{name}"]["probabilities"] = logits.softmax(-1)[0].tolist()
    return found


def timm_models(folder, photo):
    import timm
    from timm.data import create_transform, resolve_model_data_config
    from timm.models import save_for_hf

    found = {}
    for name in ("resnet18", "mobilenetv3_small_050", "efficientnet_lite0"):
        model = timm.create_model(name, pretrained=False, num_classes=6).eval()
        varied(model, 9)
        place = folder / f"timm_{name}"
        place.mkdir(exist_ok=True)
        size = model.pretrained_cfg["input_size"][-1]
        save_for_hf(model, place, model_config={"label_names": [f"label {i}" for i in range(6)]})
        for weights in list(place.glob("*.bin")) + list(place.glob("*.safetensors")):
            weights.unlink()
        to_onnx(model, place / "model.onnx", size, ["logits"])
        config = resolve_model_data_config(model)
        tensor = create_transform(**config, is_training=False)(Image.open(photo).convert("RGB"))[None]
        with torch.no_grad():
            found[f"timm_{name}"] = {"model": str(place / "model.onnx"), "names": [f"label {i}" for i in range(6)],
                                     "probabilities": model(tensor).softmax(-1)[0].tolist()}
        add_probe(found[f"timm_{name}"], tensor)
    return found


def main(folder):
    folder = pathlib.Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    photo = picture(folder / "photo.png", 640, 384)
    all_found = {}
    for make in (ultralytics_models, transformers_models, timm_models):
        all_found.update(make(folder, photo))
    (folder / "exports.json").write_text(json.dumps({"photo": str(photo), "size": Image.open(photo).size, "models": all_found}))
    print(f"{len(all_found)} exports in {folder}")


if __name__ == "__main__":
    main(sys.argv[1])
