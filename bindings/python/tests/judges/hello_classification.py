# SPDX-License-Identifier: Apache-2.0
"""A picture of bytes, preprocessing as part of the model, the best classes."""
import numpy as np

import openvino as ov
import openvino.opset13 as ops
import openvino.properties.hint as hints
from openvino.preprocess import ColorFormat, PrePostProcessor, ResizeAlgorithm

random = np.random.default_rng(7)
image = ops.parameter([1, 3, 8, 8], np.float32, name="image")
image.output(0).set_names({"image"})
kernels = ops.constant(random.normal(size=(6, 3, 3, 3)).astype(np.float32))
layer = ops.relu(ops.convolution(image, kernels, [1, 1], [1, 1], [1, 1], [1, 1]))
pooled = ops.reduce_mean(layer, np.array([2, 3]), keep_dims=False)
logits = ops.matmul(pooled, ops.constant(random.normal(size=(6, 10)).astype(np.float32)), False, False)
classes = ops.softmax(logits, 1, name="classes")
classes.output(0).set_names({"classes"})
model = ov.Model([classes], [image], "classifier")
print(model.get_friendly_name(), len(model.inputs), len(model.outputs), model.input("image").partial_shape, model.is_dynamic())

picture = random.integers(0, 256, (1, 13, 17, 3), np.uint8)
steps = PrePostProcessor(model)
steps.input("image").tensor().set_shape(picture.shape).set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC")).set_color_format(ColorFormat.BGR)
steps.input("image").preprocess().convert_element_type(ov.Type.f32).convert_color(ColorFormat.RGB).resize(ResizeAlgorithm.RESIZE_LINEAR)
steps.input("image").preprocess().mean([10.0, 20.0, 30.0]).scale([50.0, 60.0, 70.0])
steps.input("image").model().set_layout(ov.Layout("NCHW"))
steps.output("classes").tensor().set_element_type(ov.Type.f32)
model = steps.build()
print(model.input().shape, model.input().element_type == ov.Type.u8, model.output().get_any_name())

core = ov.Core()
compiled = core.compile_model(model, "CPU", {hints.inference_precision: ov.Type.f32})
results = compiled.infer_new_request({0: picture})
probabilities = next(iter(results.values())).squeeze()
best = np.argsort(probabilities)[-3:][::-1]
for index in best:
    print(index, f"{probabilities[index]:.3f}")
print(results["classes"].shape, results[0].dtype, results[compiled.output(0)].sum().round(3))
print(compiled([picture])[0].argmax(), compiled({"image": picture})["classes"].argmax(), compiled(picture)[compiled.output("classes")].argmax())
