# SPDX-License-Identifier: Apache-2.0
"""States: built by hand, made from a model's inputs and outputs, set and reset."""
import numpy as np

import openvino as ov
import openvino.opset13 as ops
from openvino.op.util import Variable, VariableInfo
from openvino.passes import MakeStateful, Manager

PRECISION = {"INFERENCE_PRECISION_HINT": "f32"}

x = ops.parameter([1, 2], np.float32, name="x")
x.output(0).set_names({"x"})
info = VariableInfo()
info.data_shape, info.data_type, info.variable_id = ov.PartialShape([1, 2]), ov.Type.f32, "sum"
variable = Variable(info)
before = ops.read_value(ops.constant(np.zeros((1, 2), np.float32)), "sum", ov.Type.f32, ov.PartialShape([1, 2]))
after = ops.add(before, x)
model = ov.Model([ops.result(after)], [ops.assign(after, "sum")], [x], "counter")
print(len(model.get_sinks()), len(model.sinks), variable.info.variable_id, [each.info.variable_id for each in model.get_variables()])
request = ov.Core().compile_model(model, "CPU", PRECISION).create_infer_request()
for step in range(3):
    print(request.infer({"x": np.float32([[1, step]])})[0].tolist())
state = request.query_state()[0]
print(state.name, state.state.data.tolist(), len(request.query_state()))
state.state = ov.Tensor(np.float32([[10, 20]]))
print(request.infer({"x": np.float32([[1, 1]])})[0].tolist())
state.reset()
print(request.infer({"x": np.float32([[5, 5]])})[0].tolist())
request.reset_state()
print(request.infer({"x": np.float32([[7, 7]])})[0].tolist())


def pair():
    """y = x + past, next = y."""
    x, past = ops.parameter([1, 2], np.float32, name="x"), ops.parameter([1, 2], np.float32, name="past")
    x.output(0).set_names({"x"})
    past.output(0).set_names({"past"})
    y = ops.add(x, past)
    following = ops.multiply(y, ops.constant(np.float32([[1]])))
    y.output(0).set_names({"y"})
    following.output(0).set_names({"next"})
    return ov.Model([y, following], [x, past], "pair")


for how in (lambda model: MakeStateful({"past": "next"}),
            lambda model: MakeStateful([(model.parameters[1], model.results[1])])):
    model = pair()
    manager = Manager()
    manager.register_pass(how(model))
    manager.run_passes(model)
    print(len(model.inputs), len(model.outputs), len(model.sinks))
    compiled = ov.compile_model(model, "CPU", PRECISION)
    print([compiled({"x": np.float32([[1, 2]])})["y"].tolist() for _ in range(3)], len(compiled.query_state()))
    compiled.reset_state()
    print(compiled({"x": np.float32([[1, 2]])})["y"].tolist())
