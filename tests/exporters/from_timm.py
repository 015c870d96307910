# SPDX-License-Identifier: Apache-2.0
"""timm: classifiers with timm's own config.json, by both of torch's exporters, and features."""
import common
import torch
from PIL import Image

CASES = {"resnet18": {}, "mobilenetv3_small_050": {}, "efficientnet_lite0": {}, "convnext_atto": {"dynamo": True}, "vit_tiny_patch16_224": {},
         "mobilevit_xxs": {"dynamo": True}, "regnetx_002": {"dynamic": True}, "ghostnet_100": {"dynamo": True, "dynamic": True},
         "swin_tiny_patch4_window7_224": {}, "edgenext_xx_small": {}, "repvgg_a0": {}, "levit_128s": {"dynamo": True}}


def export(family, photo):
    import timm
    from timm.data import create_transform, resolve_model_data_config
    from timm.models import save_for_hf

    def one(place, name, options):
        model = common.varied(timm.create_model(name, pretrained=False, num_classes=len(common.LABELS)), 9)
        save_for_hf(model, place, model_config={"label_names": common.LABELS})
        for weights in list(place.glob("*.bin")) + list(place.glob("*.safetensors")):
            weights.unlink()
        tensor = create_transform(**resolve_model_data_config(model), is_training=False)(Image.open(photo).convert("RGB"))[None]
        said = {"model": common.to_onnx(model, place / "model.onnx", torch.zeros_like(tensor), ["logits"], **options), "names": common.LABELS}
        with torch.no_grad():
            said["probabilities"] = model(tensor).softmax(-1)[0].tolist()
        common.add_probe(said, tensor)
        common.add_runs(said, tensor)
        return said

    for name, options in CASES.items():
        family.add(name, lambda place: one(place, name, options))
