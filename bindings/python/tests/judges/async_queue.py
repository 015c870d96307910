# SPDX-License-Identifier: Apache-2.0
"""AsyncInferQueue with callbacks and userdata; single asynchronous requests; errors of callbacks."""
import threading

import numpy as np

import openvino as ov
import openvino.opset8 as ops

x = ops.parameter([2, 4], np.float32, name="x")
x.output(0).set_names({"x"})
y = ops.multiply(x, ops.constant(np.float32([[2.0]])), name="y")
y.output(0).set_names({"y"})
compiled = ov.Core().compile_model(ov.Model([y], [x], "double"), "CPU", {"PERFORMANCE_HINT": "THROUGHPUT", "INFERENCE_PRECISION_HINT": "f32"})

found, lock = {}, threading.Lock()


def done(request, userdata):
    with lock:
        found[userdata["id"]] = float(request.get_output_tensor(0).data.sum()), float(next(iter(request.results.values()))[0, 0])


queue = ov.AsyncInferQueue(compiled, 3)
queue.set_callback(done)
for i in range(20):
    queue.start_async({0: np.full((2, 4), i, np.float32)}, userdata={"id": i})
queue.wait_all()
print(len(queue), len(found), found[3], found[19], queue.is_ready())
print(sorted(request.get_input_tensor().shape[0] for request in queue), repr(queue))
index = queue.get_idle_request_id()
print(0 <= index < 3, queue[index].get_output_tensor().shape, len(queue.userdata))


def broken(request, userdata):
    raise ValueError(f"broken {userdata}")


queue.set_callback(broken)
queue.start_async(np.zeros((2, 4), np.float32), 7)
try:
    queue.wait_all()
except Exception as error:
    print(type(error).__name__, "broken 7" in str(error))

request, event = compiled.create_infer_request(), threading.Event()
request.set_callback(lambda data: (found.update({"last": data}), event.set()), "userdata")
request.start_async({"x": np.ones((2, 4), np.float32)})
request.wait()
print(event.wait(5), found["last"], request.userdata, request.results[0].tolist(), request.wait_for(1), request.latency >= 0)
