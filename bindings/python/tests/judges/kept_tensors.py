# SPDX-License-Identifier: Apache-2.0
# Tensors that a program keeps while shapes move: they stay those of the request.
import numpy as np
import openvino as ov
from openvino import opset13 as ops

x = ops.parameter([-1, 4], np.float32, name="x")
compiled = ov.Core().compile_model(ov.Model([ops.result(ops.add(x, np.float32(1)))], [x], "next"), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})


def rows(count):
    return np.full((count, 4), count, np.float32)


def told(tensor):
    return [int(extent) for extent in tensor.shape], float(tensor.data.max())


request = compiled.create_infer_request()
request.infer({0: rows(2)})
output = request.get_output_tensor()
print("first", told(output))
request.infer({0: rows(5)})
print("more", told(output))
request.infer([rows(1)])
print("fewer", told(output))
request.set_callback(lambda _: print("in the callback", told(output)), None)
request.start_async({0: rows(6)})
request.wait()
print("after wait", told(output))

request = compiled.create_infer_request()
given = ov.Tensor(ov.Type.f32, ov.Shape([2, 4]))
request.set_input_tensor(given)
for count in (2, 1, 6, 3):
    given.shape = [count, 4]
    given.data[:] = count
    request.infer()
    print("set input", told(request.get_output_tensor()))

request = compiled.create_infer_request()
own = request.get_input_tensor()
for count in (3, 1, 4):
    own.shape = [count, 4]
    own.data[:] = count
    request.start_async()
    request.wait()
    print("own input", told(request.get_tensor(compiled.output(0))))

request = compiled.create_infer_request()
room = ov.Tensor(ov.Type.f32, ov.Shape([8, 4]))
request.set_output_tensor(room)
for count in (2, 8, 1):
    request.infer({0: rows(count)})
    print("set output", told(room))

queue = ov.AsyncInferQueue(compiled, 1)
kept = queue[0].get_output_tensor()
queue.set_callback(lambda job, number: print("in a queue", number, told(kept), told(job.get_output_tensor())))
for count in (1, 4, 2):
    queue.start_async({0: rows(count)}, count)
    queue.wait_all()
