# SPDX-License-Identifier: Apache-2.0
"""rfdetr: its detectors by its own export(). It writes nothing of a model into the file, so what its documentation says is stated by hand."""
import pathlib

import common
import numpy as np
import torch
from PIL import Image

# The IR has its weights as they are: of random ones, those of 16 bits choose other queries.
CASES = {"nano": {}, "nano_openvino": {"format": "openvino", "openvino_precision": "float32"}, "small": {}, "seg_nano": {},
         "nano_dynamic": {"dynamic_batch": True}}


def export(family, photo):
    import rfdetr

    kinds = {"nano": "RFDETRNano", "small": "RFDETRSmall", "seg": "RFDETRSegNano"}
    pixels = torch.from_numpy(np.asarray(Image.open(photo)).copy()).permute(2, 0, 1)[None] / 255.0

    def one(place, name, options):
        torch.manual_seed(8)
        model = getattr(rfdetr, kinds[name.split("_")[0]])(pretrain_weights=None, device="cpu")
        model.export(output_dir=str(place), verbose=False, **options)
        path = next(pathlib.Path(place).rglob("*.xml" if options.get("format") == "openvino" else "*.onnx"))
        size = model.model.resolution
        mean, deviation = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
        tensor = torch.nn.functional.interpolate(pixels, (size, size), mode="bilinear")
        tensor = (tensor - mean[:, None, None]) / deviation[:, None, None]
        said = {"model": str(path), "confidence": 0.0,
                "facts": {"model_type": "RF-DETR", "mean_values": "123.675 116.28 103.53", "scale_values": "58.395 57.12 57.375", "color_space": "RGB"}}
        if options.get("format") == "openvino":  # Its input has no extent that is known.
            said["facts"]["input_size"] = f"{size} {size}"
        common.add_runs(said, tensor)
        found = model.predict(Image.open(photo), threshold=0.0)
        order = np.argsort(-found.confidence)
        common.add_boxes(said, found.xyxy[order], found.confidence[order], found.class_id[order])
        if found.mask is not None:
            common.add_maps(said, masks=found.mask[order][:50])
        return said

    for name, options in CASES.items():
        family.add(name, lambda place: one(place, name, options))
