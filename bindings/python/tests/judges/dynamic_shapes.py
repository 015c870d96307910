# SPDX-License-Identifier: Apache-2.0
"""Shapes that are known late: dimensions, reshape, batches, tensors that change their shape."""
import numpy as np

import openvino as ov
from openvino import Dimension, PartialShape, Shape, opset10

x = opset10.parameter(PartialShape([Dimension(1, 8), 3, -1]), np.float32, name="x")
x.output(0).set_names({"x"})
total = opset10.reduce_sum(x, np.int64([2]), keep_dims=True)
total.output(0).set_names({"sum"})
model = ov.Model([total], [x], "dynamic")
print(model.input().partial_shape, model.output().get_partial_shape(), model.dynamic, model.is_dynamic())
shape = model.input(0).partial_shape
print(shape.rank, len(shape), shape[0].min_length, shape[0].max_length, shape[1].get_length(), shape[2].is_dynamic, shape.is_static)
print(shape.get_min_shape(), shape.compatible(PartialShape([4, 3, 9])), shape.relaxes(PartialShape([2, 3, 1])), PartialShape("[?,3,2..5]"))
print(PartialShape([1, 2]).to_shape(), PartialShape([1, 2]) == PartialShape("1,2"), PartialShape.dynamic(), Dimension(), Dimension(3) == 3, Dimension(2, 5))
print(Shape([1, 2, 3]), list(Shape("2,3")), Shape([4]) == [4], repr(Shape([1])), repr(PartialShape([1, -1])), repr(Dimension(7)))
try:
    model.output().shape
except RuntimeError:
    print("no shape yet")

core = ov.Core()
compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
request = compiled.create_infer_request()
for rows, width in ((1, 5), (8, 1), (3, 100)):
    values = np.arange(rows * 3 * width, dtype=np.float32).reshape(rows, 3, width)
    print(request.infer({"x": values})["sum"].shape, float(request.results[0][-1, -1, 0]), request.get_output_tensor().shape, list(request.get_tensor("x").shape))
try:
    request.infer({"x": np.zeros((9, 3, 1), np.float32)})
except RuntimeError:
    print("9 rows are too many")
print(request.infer([np.ones((2, 3, 2), np.float32)])[0].ravel())

model.reshape({"x": [2, 3, 4]})
print(model.input().shape, model.output("sum").shape, model.is_dynamic())
model.reshape({model.input(0): PartialShape([-1, 3, 6])})
print(model.input().partial_shape)
model.reshape({0: [1, 3, 7]})
print(model.input().get_shape(), core.compile_model(model, "CPU")(np.ones((1, 3, 7), np.float32))[0].ravel())
x.layout = ov.Layout("NC?")
print(ov.get_batch(model), x.layout, ov.layout_helpers.has_batch(x.layout), ov.layout_helpers.channels_idx(x.layout))
ov.set_batch(model, 4)
print(model.input().shape, model.get_output_shape(0))
try:
    model.reshape({"none": [1]})
except RuntimeError:
    print("refused")
tensor = ov.Tensor(ov.Type.f32, Shape([2, 2]))
tensor.shape = [1, 3]
print(tensor.shape, tensor.size, tensor.byte_size, list(tensor.get_strides()), tensor.element_type == ov.Type.f32)
