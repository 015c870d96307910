# SPDX-License-Identifier: Apache-2.0
"""NV12 pictures, as one plane and as two, into a model of RGB."""
import numpy as np

import openvino as ov
import openvino.opset8 as ops
from openvino import Layout, Type
from openvino.preprocess import ColorFormat, PrePostProcessor, ResizeAlgorithm

random = np.random.default_rng(5)
HEIGHT, WIDTH = 8, 12
luma = random.integers(16, 235, (1, HEIGHT, WIDTH, 1), np.uint8)
chroma = random.integers(16, 240, (1, HEIGHT // 2, WIDTH // 2, 2), np.uint8)


def model():
    image = ops.parameter([1, 3, HEIGHT, WIDTH], np.float32, name="image")
    image.output(0).set_names({"image"})
    result = ops.multiply(image, ops.constant(np.float32([1])), name="result")
    result.output(0).set_names({"result"})
    return ov.Model([result], [image], "colours")


def compiled(steps):
    return ov.Core().compile_model(steps.build(), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})


steps = PrePostProcessor(model())
steps.input().tensor().set_element_type(Type.u8).set_color_format(ColorFormat.NV12_TWO_PLANES, ["y", "uv"]).set_spatial_static_shape(HEIGHT, WIDTH)
steps.input().preprocess().convert_color(ColorFormat.RGB).convert_element_type(Type.f32)
steps.input().model().set_layout(Layout("NCHW"))
two = compiled(steps)
print([(sorted(port.names)[-1], port.shape) for port in two.inputs])
first = two([luma, chroma])["result"]
print(first.shape, np.round(first[0, :, 0, :3]).astype(int).tolist())

steps = PrePostProcessor(model())
steps.input("image").tensor().set_element_type(Type.u8).set_color_format(ColorFormat.NV12_SINGLE_PLANE).set_spatial_static_shape(HEIGHT, WIDTH)
steps.input("image").preprocess().convert_color(ColorFormat.RGB).convert_element_type(Type.f32)
steps.input("image").model().set_layout(Layout("NCHW"))
one = compiled(steps)
single = np.concatenate([luma.reshape(1, HEIGHT, WIDTH, 1), chroma.reshape(1, HEIGHT // 2, WIDTH, 1)], axis=1)
print(one.input().shape, np.abs(one(single)[0] - first).max() <= 1)

steps = PrePostProcessor(model())
steps.input().tensor().set_element_type(Type.u8).set_layout(Layout("NHWC")).set_spatial_dynamic_shape().set_color_format(ColorFormat.BGR)
steps.input().preprocess().convert_color(ColorFormat.RGB).resize(ResizeAlgorithm.RESIZE_NEAREST).convert_element_type(Type.f32)
steps.input().model().set_layout(Layout("NCHW"))
steps.output().postprocess().convert_layout(Layout("NHWC"))
steps.output().model().set_layout(Layout("NCHW"))
bgr = compiled(steps)
picture = random.integers(0, 256, (1, HEIGHT * 2, WIDTH * 2, 3), np.uint8)
result = bgr(picture)[0]
print(bgr.input().partial_shape, result.shape, result[0, 0, :2].astype(int).tolist(), result[0, -1, -1].astype(int).tolist())
try:
    PrePostProcessor(model()).input("none")
except RuntimeError:
    print("no such input")
try:
    steps = PrePostProcessor(model())
    steps.input().tensor().set_color_format(ColorFormat.NV12_TWO_PLANES, ["y"])
except RuntimeError:
    print("two planes have two names")
