# SPDX-License-Identifier: Apache-2.0
"""A loop as benchmarks have it: inputs by their ports, synchronous and asynchronous turns, percentiles."""
import statistics
from time import perf_counter

import numpy as np

import openvino as ov
import openvino.opset13 as ops

a = ops.parameter([1, 3, 16, 16], np.float32, name="a")
b = ops.parameter([1, 3, 16, 16], np.uint8, name="b")
for each, name in ((a, "a"), (b, "b")):
    each.output(0).set_names({name})
y = ops.reduce_sum(ops.add(a, ops.convert(b, "f32")), [1, 2, 3], False)
y.output(0).set_names({"y"})


def fill_tensor_random(tensor):
    dtype = tensor.element_type.to_dtype()
    low, high = (0, 1) if dtype == bool else (0, 255) if dtype == np.uint8 else (0, 1)
    random = np.random.default_rng(0)
    if np.issubdtype(dtype, np.integer):
        tensor.data[:] = random.integers(low, high, tensor.shape, endpoint=True)
    else:
        tensor.data[:] = random.uniform(low, high, tensor.shape).astype(dtype)


core = ov.Core()
compiled = core.compile_model(ov.Model([y], [a, b], "loop"), "CPU", {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"})
request = compiled.create_infer_request()
for model_input in compiled.inputs:
    fill_tensor_random(request.get_tensor(model_input))
request.infer()
first = float(request.get_output_tensor().data[0])
latencies, begin = [], perf_counter()
while len(latencies) < 50 and perf_counter() - begin < 20:
    start = perf_counter()
    request.infer()
    latencies.append((perf_counter() - start) * 1e3)
print(len(latencies), 0 < min(latencies) <= statistics.median(latencies) <= max(latencies), float(request.results["y"][0]) == first, f"{first:.2f}")

queue = ov.AsyncInferQueue(compiled)
for each in queue:
    for model_input in compiled.inputs:
        fill_tensor_random(each.get_tensor(model_input))
done = []
queue.set_callback(lambda request, userdata: done.append(request.latency))
for _ in range(40):
    queue.start_async()
queue.wait_all()
print(len(done), all(value > 0 for value in done), {float(each.get_output_tensor().data[0]) for each in queue if True} <= {first, 0.0} or len(queue))

# Results that are shared change with the next inference; results that are not stay.
x = [np.ones((1, 3, 16, 16), np.float32), np.ones((1, 3, 16, 16), np.uint8)]
kept, shared = request.infer(x)["y"], request.infer(x, share_outputs=True)["y"]
request.infer([x[0] * 2, x[1]])
print(float(kept[0]), float(shared[0]), float(compiled(x, share_inputs=True, share_outputs=False)[0][0]))
array = np.zeros((1, 3, 16, 16), np.float32)
request.set_tensor("a", ov.Tensor(array, shared_memory=True))
array[:] = 3
request.infer()
out = np.zeros(1, np.float32)
request.set_output_tensor(ov.Tensor(out, shared_memory=True))
request.infer()
print(float(out[0]), request.input_tensors[0].shape, request.output_tensors[0].data.tolist(), [port.any_name for port in request.model_inputs])
