# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime behind the line protocol of cpu_worker.cpp: inputs and outputs are bound once, so that a run is one call."""
import sys
import time

import numpy as np
import onnxruntime


def noise(shape, seed):
    """std::minstd_rand's numbers, as in cpu_worker.cpp."""
    count, state = int(np.prod(shape)), seed
    values = np.empty(count, np.float32)
    for i in range(count):
        state = state * 48271 % 2147483647
        values[i] = (state % 1024) / 1024
    return values.reshape(shape)


class Worker:
    def load(self, path, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = int(threads)
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        begin = time.perf_counter()
        self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        taken = (time.perf_counter() - begin) * 1e3
        self.binding = self.session.io_binding()
        self.inputs = []
        for i, port in enumerate(self.session.get_inputs()):
            value = np.ones(port.shape, np.int64) if port.type == "tensor(int64)" else noise(port.shape, i + 1)
            self.inputs.append(onnxruntime.OrtValue.ortvalue_from_numpy(value))
            self.binding.bind_ortvalue_input(port.name, self.inputs[-1])
        self.results = []
        for port in self.session.get_outputs():
            self.results.append(onnxruntime.OrtValue.ortvalue_from_shape_and_type(port.shape, np.float32))
            self.binding.bind_ortvalue_output(port.name, self.results[-1])
        return f"ok {taken:.1f}"

    def dump(self, path):
        self.session.run_with_iobinding(self.binding)
        values = [value.numpy() for value in self.results]
        with open(path, "wb") as file:
            for value in values:
                file.write(np.ascontiguousarray(value, np.float32).tobytes())
        return "ok " + " ".join("x".join(str(n) for n in value.shape) or "1" for value in values)

    def infer(self, count):
        run, binding = self.session.run_with_iobinding, self.binding
        begin = time.perf_counter_ns()
        for _ in range(int(count)):
            run(binding)
        return str(time.perf_counter_ns() - begin)


def main():
    worker = Worker()
    for line in sys.stdin:
        verb, *words = line.split()
        if verb == "quit":
            break
        try:
            print(getattr(worker, verb)(*words), flush=True)
        except Exception as error:  # pylint: disable=broad-except
            print(f"error: {' '.join(str(error).split())}", flush=True)


if __name__ == "__main__":
    main()
