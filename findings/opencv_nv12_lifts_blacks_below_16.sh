#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenCV 5.0.0 raises luma below 16 to 16 before it adds chroma, so NV12 pixels in the footroom of limited range become brighter than
# BT.601's equations say, by up to 16 levels at luma 2. OpenVINO 2026.4.1's preprocessing and FFmpeg (PyAV 18.1.0) keep the footroom. At
# 16 and above the three agree within 2.
# Guess before the run: the three differ by rounding alone, 2 levels at most, over all of 0 to 255.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check opencv-python-headless==5.0.0.93 numpy==2.4.6 openvino==2026.4.1 av==18.1.0
"$folder/venv/bin/python" - <<'PYTHON'
import av
import cv2
import numpy as np
import openvino as ov
import openvino.opset13 as ops
from openvino.preprocess import ColorFormat, PrePostProcessor


def by_openvino(picture):
    p = ops.parameter([1, 64, 64, 3], np.float32)
    steps = PrePostProcessor(ov.Model([ops.relu(p)], [p]))
    steps.input().tensor().set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC")).set_color_format(ColorFormat.NV12_SINGLE_PLANE)
    steps.input().model().set_layout(ov.Layout("NHWC"))
    steps.input().preprocess().convert_color(ColorFormat.BGR)
    compiled = ov.Core().compile_model(steps.build(), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return compiled([picture[None, :, :, None]])[0][0, 9, 9].astype(int)


def by_ffmpeg(picture):
    frame = av.VideoFrame.from_ndarray(picture, format="nv12")
    return frame.reformat(format="bgr24", src_colorspace="ITU601", dst_colorspace="ITU601", src_color_range="MPEG",
                          dst_color_range="JPEG").to_ndarray()[9, 9].astype(int)


for (y, u, v), seen in {(6, 142, 183): [28, 0, 88], (2, 91, 182): [0, 0, 86], (2, 135, 53): [14, 58, 0], (40, 142, 183): None}.items():
    picture = np.full((96, 64), y, np.uint8)
    picture[64:, 0::2], picture[64:, 1::2] = u, v
    opencv = cv2.cvtColor(picture, cv2.COLOR_YUV2BGR_NV12)[9, 9].astype(int)
    others = by_openvino(picture), by_ffmpeg(picture)
    print(f"Y {y} U {u} V {v}: OpenCV {opencv.tolist()}, OpenVINO {others[0].tolist()}, FFmpeg {others[1].tolist()}")
    assert np.abs(others[0] - others[1]).max() <= 2
    if seen:
        assert opencv.tolist() == seen and np.abs(opencv - others[0]).max() >= 11
    else:
        assert np.abs(opencv - others[0]).max() <= 2
PYTHON
