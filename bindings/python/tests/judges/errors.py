# SPDX-License-Identifier: Apache-2.0
"""What programs catch: files, devices, ports, shapes, types; remote memory that CPU has not."""
import os
import tempfile

import numpy as np

import openvino as ov
import openvino.opset8 as ops

x = ops.parameter([1, 3], np.float32, name="x")
x.output(0).set_names({"x"})
y = ops.relu(x)
y.output(0).set_names({"y"})
model = ov.Model([y], [x], "errors")
core = ov.Core()
compiled = core.compile_model(model, "CPU")
request = compiled.create_infer_request()
good = np.float32([[1, -2, 3]])


def tell(what, call, *kinds):
    try:
        call()
        print(what, "returned")
    except kinds or (RuntimeError,):
        print(what, "raised")


with tempfile.TemporaryDirectory() as folder:
    broken = os.path.join(folder, "broken.xml")
    with open(broken, "w") as file:
        file.write("<net>no model")
    tell("missing xml", lambda: core.read_model(os.path.join(folder, "none.xml")))
    tell("missing onnx", lambda: core.read_model(os.path.join(folder, "none.onnx")))
    tell("broken xml", lambda: core.read_model(broken))
    tell("broken onnx", lambda: core.read_model(b"not an onnx model"))
    tell("compile missing", lambda: core.compile_model(os.path.join(folder, "none.xml"), "CPU"))
    tell("save nowhere", lambda: ov.save_model(model, os.path.join(folder, "no", "where", "m.txt")))
tell("no device", lambda: core.compile_model(model, "TPU"))
tell("device of property", lambda: core.get_property("TPU", "FULL_DEVICE_NAME"))
tell("query", lambda: core.query_model(model, "TPU"))
print({name: device for name, device in core.query_model(model, "CPU").items()}.keys() >= {"x"})
try:
    core.compile_model(model, "TPU")
except RuntimeError as error:
    print('"TPU"' in str(error), "is not registered" in str(error))
try:
    compiled.input("none")
except RuntimeError as error:
    print("none" in str(error), "is not found" in str(error))

tell("input by name", lambda: model.input("none"))
tell("input by index", lambda: model.input(9), IndexError, RuntimeError)
tell("output by name", lambda: compiled.output("none"))
tell("tensor by name", lambda: request.get_tensor("none"))
tell("tensor by index", lambda: request.get_input_tensor(4))
tell("infer by name", lambda: request.infer({"none": good}))
tell("infer by index", lambda: request.infer({7: good}))
tell("too many", lambda: request.infer([good, good]))
tell("shape", lambda: request.infer([np.zeros((1, 4), np.float32)]))
tell("rank", lambda: compiled(np.zeros(3, np.float32)))
tell("type of tensor", lambda: request.set_tensor("x", ov.Tensor(np.zeros((1, 3), np.int64))))
tell("shape of tensor", lambda: request.set_input_tensor(ov.Tensor(np.zeros((2, 3), np.float32))))
tell("result by name", lambda: compiled(good)["none"], KeyError)
tell("result by index", lambda: compiled(good)[3], KeyError)
tell("key of a wrong type", lambda: compiled({1.5: good}), TypeError)
tell("reshape", lambda: ov.compile_model(model.clone(), "CPU")(np.zeros((2, 3), np.float32)))
tell("numbers of a wrong type", lambda: ops.add(x, np.int64([1])))
tell("shapes that do not fit", lambda: ops.add(x, np.zeros((1, 4), np.float32)))
tell("remote context", lambda: core.create_context("CPU", {}))
tell("default context", lambda: core.get_default_context("CPU"))
tell("host tensor of a wrong type", lambda: ov.Tensor(object()), Exception)
tell("attribute", lambda: y.get_nothing(), AttributeError)
tell("no name", lambda: ov.NoSuchName, AttributeError)
tell("parameter left out", lambda: ov.Model([y], [], "none"))
tell("rt_info", lambda: model.get_rt_info("none"))
print(request.infer([good])[0].tolist(), compiled({"x": good})["y"].tolist(), compiled(good.astype(np.float64))[0].tolist())
