#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenVINO 2026.4.1's RESIZE_BILINEAR_PILLOW of u8 pictures is one level off Pillow 13.0.0's BILINEAR in some pixels, RESIZE_BICUBIC_PILLOW
# is Pillow's BICUBIC to the bit.
# Guess before the run: both are Pillow's to the bit, since both carry its name and are made of the same two passes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check openvino==2026.4.1 pillow==13.0.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import openvino as ov
import openvino.opset13 as ops
from openvino.preprocess import PrePostProcessor, ResizeAlgorithm
from PIL import Image


def by_openvino(picture, size, algorithm):
    p = ops.parameter([1, *size, 3], np.float32)
    steps = PrePostProcessor(ov.Model([ops.relu(p)], [p]))
    steps.input().tensor().set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC")).set_spatial_static_shape(*picture.shape[:2])
    steps.input().model().set_layout(ov.Layout("NHWC"))
    steps.input().preprocess().resize(algorithm).convert_element_type(ov.Type.f32)
    return ov.Core().compile_model(steps.build(), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([picture[None]])[0][0].astype(int)


picture = np.random.default_rng(1).integers(0, 256, (37, 53, 3), dtype=np.uint8)
for name, algorithm, filter, differs in (("bilinear", ResizeAlgorithm.RESIZE_BILINEAR_PILLOW, Image.BILINEAR, True),
                                         ("bicubic", ResizeAlgorithm.RESIZE_BICUBIC_PILLOW, Image.BICUBIC, False)):
    for size in ((16, 16), (64, 80)):
        off = np.abs(by_openvino(picture, size, algorithm) - np.asarray(Image.fromarray(picture).resize(size[::-1], filter)).astype(int))
        print(f"{name} to {size}: {np.count_nonzero(off)} of {off.size} values differ, by {off.max()} at most")
        assert off.max() == (1 if differs else 0)
PYTHON
