# SPDX-License-Identifier: Apache-2.0
"""anomalib: models that learn in one pass over a few made pictures, on backbones with random weights, by its own to_onnx() and to_openvino(),
beside its own OpenVINOInferencer. They write nothing of themselves but the names of their outputs."""
import contextlib
import pathlib
import unittest.mock

import common
import numpy as np
import torch
from PIL import Image

SIZE = (common.SIZE, common.SIZE)
# Name: class, its options, form, size of the exported input (none: open), whether the picture is normal.
CASES = {
    "padim": ("Padim", {"n_features": 24}, "onnx", None, False),
    "padim_openvino": ("Padim", {"n_features": 24}, "openvino", SIZE, False),
    "patchcore": ("Patchcore", {"coreset_sampling_ratio": 0.1, "num_neighbors": 3}, "onnx", SIZE, True),
    "patchcore_openvino": ("Patchcore", {"coreset_sampling_ratio": 0.1, "num_neighbors": 3}, "openvino", None, False),
    "stfpm": ("Stfpm", {}, "onnx", SIZE, False), "stfpm_openvino": ("Stfpm", {}, "openvino", None, True),
    "fastflow": ("Fastflow", {"flow_steps": 2}, "onnx", SIZE, False),
    "ganomaly": ("Ganomaly", {"n_features": 16, "latent_vec_size": 20}, "openvino", SIZE, False),
}


def export(family, photo):
    import anomalib.models
    import timm
    from anomalib.deploy import OpenVINOInferencer

    pixels = torch.from_numpy(np.asarray(Image.open(photo)).copy()).permute(2, 0, 1)[None] / 255.0
    colours = torch.rand(4, 3, 6, 10, generator=torch.Generator().manual_seed(1))
    normal = torch.nn.functional.interpolate(colours, pixels.shape[2:], mode="bicubic").clamp(0, 1)
    create_model = timm.create_model

    def create_without_weights(name, **options):
        return create_model(name, **options | {"pretrained": False})

    def learn(model):
        """One pass, as its training has it: what it keeps of normal pictures, then the ranges and thresholds of its results."""
        inner = model.model
        fed = model.pre_processor(normal)
        if hasattr(inner, "memory_bank"):
            inner.train()
            inner.feature_extractor.eval()
            inner(fed)
            inner.subsample_embedding(0.1) if hasattr(inner, "subsample_embedding") else inner.fit()
        model.eval()

    def set_thresholds(model, is_normal):
        """As its validation does, by this picture: it is normal or not, and three tenths of its pixels are not."""
        scaled = model.post_processor
        with torch.no_grad():
            found = model.model(model.pre_processor(pixels))
            score, places = found.pred_score.max(), found.anomaly_map
            scaled.image_min.copy_(score - score.abs()), scaled.image_max.copy_(score + score.abs())
            scaled._image_threshold.copy_(score + (0.3 if is_normal else -0.3) * score.abs())
            if places is not None:
                scaled.pixel_min.copy_(places.min()), scaled.pixel_max.copy_(places.max())
                scaled._pixel_threshold.copy_(places.flatten().quantile(0.7))

    def one(place, name, options, form, size, is_normal):
        torch.manual_seed(11)
        kind = getattr(anomalib.models, name)
        more = {} if name in ("Stfpm", "Ganomaly") else {"pre_trained": False, "backbone": "resnet18"}
        with unittest.mock.patch.object(timm, "create_model", create_without_weights):
            model = kind(**options, **more, pre_processor=kind.configure_pre_processor(SIZE), evaluator=False, visualizer=False)
        common.varied(model.model, 12)
        learn(model)
        set_thresholds(model, is_normal)
        write = model.to_openvino if form == "openvino" else model.to_onnx
        path = pathlib.Path(write(place, input_size=size))
        fed = pixels if size is None else torch.nn.functional.interpolate(pixels, size, mode="bilinear")
        said = {"model": str(path)}
        with contextlib.chdir(place):  # The inferencer keeps a cache where it runs.
            # By default it computes in bf16 where the CPU has it, which moves pixels across the threshold.
            result = OpenVINOInferencer(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).predict(fed.numpy()[0].transpose(1, 2, 0))
        score, is_anomaly = float(np.ravel(result.pred_score)[0]), bool(np.ravel(result.pred_label)[0])
        said["anomaly"] = {"label": "Anomaly" if is_anomaly else "Normal", "score": score if is_anomaly else 1 - score}
        if getattr(result, "pred_mask", None) is not None:
            common.add_maps(said, classes=np.squeeze(result.pred_mask).astype(np.uint8))
        common.add_runs(said, fed)
        return said

    for case, options in CASES.items():
        family.add(case, lambda place: one(place, *options))
