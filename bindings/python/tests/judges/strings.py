# SPDX-License-Identifier: Apache-2.0
"""Tensors of strings, and models that take them."""
import numpy as np

import openvino as ov
import openvino.opset8 as ops

for source in (["one", "zwei", "три"], [["a", "b"], ["cc", "d"]], np.array(["x", "yy"]), np.array([b"bytes", b"b"])):
    tensor = ov.Tensor(source)
    print(tensor.element_type == ov.Type.string, tensor.shape, tensor.size, tensor.str_data.tolist(), tensor.bytes_data.tolist())
tensor = ov.Tensor(ov.Type.string, ov.Shape([2]))
tensor.str_data = ["first", "second"]
print(tensor.str_data.tolist())
tensor.bytes_data = [b"third", b"fourth"]
print(tensor.str_data.tolist(), tensor.get_size())

x = ops.parameter([-1], ov.Type.string, name="x")
x.output(0).set_names({"x"})
model = ov.Model([ops.result(x)], [x], "echo")
compiled = ov.compile_model(model, "CPU")
print(compiled.input().element_type == ov.Type.string, compiled.output().partial_shape)
for source in (["a", "bcd"], np.array(["x", "y", "z"]), ov.Tensor(["t"])):
    print([str(each) for each in compiled({0: source})[0].tolist()])
request = compiled.create_infer_request()
request.set_input_tensor(ov.Tensor(["set", "before"]))
request.infer()
print(request.get_output_tensor().str_data.tolist(), request.get_input_tensor().shape)
