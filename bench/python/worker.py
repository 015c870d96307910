# SPDX-License-Identifier: Apache-2.0
"""One side of bench/python/python.py: worker.py PACKAGE reads names of measurements, a line each, and answers with seconds per call
and seconds of all processors together."""
import resource
import sys
import time

import numpy

ROUND = 0.15  # Seconds of a measurement.
SIDE, CLIP, MODEL, PIPELINE = sys.argv[1:5]
X = numpy.random.default_rng(1).standard_normal((1, 64)).astype(numpy.float32)


def seconds_of(call):
    """Seconds per call, over about ROUND."""
    call()
    count, taken = 1, 0.0
    while taken < ROUND:
        begin = time.perf_counter()
        for _ in range(count):
            call()
        taken = time.perf_counter() - begin
        if taken < ROUND:
            count = max(count + 1, min(count * 10, int(count * ROUND / max(taken, 1e-7) * 1.1)))
    return taken / count


class Tenon:
    """tenon"""

    def __init__(self):
        import tenon
        self.package = tenon
        x = tenon.Parameter("f32", [1, 64])
        self.tiny = tenon.Core().compile_model(tenon.Model([tenon.make_node("Relu", [x])], [x], "tiny"), "CPU", {"PERFORMANCE_HINT": "LATENCY"})

    def from_dlpack(self):
        request, package = self.tiny.create_infer_request(), self.package
        out = package.Tensor(X)

        def call():
            request.set_input_tensor(package.from_dlpack(X))
            numpy.from_dlpack(out)
        return seconds_of(call)

    def frames_rgb(self):
        begin, count = time.perf_counter(), 0
        for frame in self.package.open(CLIP, format="rgb24"):
            frame.numpy()
            count += 1
        return (time.perf_counter() - begin) / count

    def frames_yuv(self):
        begin, count = time.perf_counter(), 0
        for frame in self.package.open(CLIP):
            for plane in frame.planes:
                numpy.asarray(plane)
            count += 1
        return (time.perf_counter() - begin) / count

    def pipeline(self):
        begin = time.perf_counter()
        stats = self.package.Pipeline(PIPELINE).run().stats
        return (time.perf_counter() - begin) / stats[0]["frames_out"]


class OpenVINO:
    """openvino"""

    def __init__(self):
        import openvino
        from openvino import opset13
        self.package = openvino
        x = opset13.parameter([1, 64], numpy.float32)
        self.tiny = openvino.Core().compile_model(openvino.Model([opset13.relu(x)], [x], "tiny"), "CPU", {"PERFORMANCE_HINT": "LATENCY"})


class PyAV:
    """PyAV, with FFmpeg's threads as its documentation advises"""

    def frames(self, kind):
        import av
        begin, count = time.perf_counter(), 0
        with av.open(CLIP) as container:
            container.streams.video[0].thread_type = "AUTO"
            for frame in container.decode(video=0):
                frame.to_ndarray(format=kind)
                count += 1
        return (time.perf_counter() - begin) / count

    def frames_rgb(self):
        return self.frames("rgb24")

    def frames_yuv(self):
        return self.frames("yuv420p")


class TorchCodec:
    """torchcodec's VideoDecoder, channels last"""

    def frames_rgb(self):
        from torchcodec.decoders import VideoDecoder
        begin, count = time.perf_counter(), 0
        for frame in VideoDecoder(CLIP, dimension_order="NHWC", num_ffmpeg_threads=0):
            frame.numpy()
            count += 1
        return (time.perf_counter() - begin) / count


def common(side, name):
    """Measurements that Tenon and OpenVINO share, by the same code."""
    if name == "call":
        return seconds_of(lambda: side.tiny(X)[0])
    if name == "infer":
        request = side.tiny.create_infer_request()
        return seconds_of(lambda: request.infer(X)[0])
    if name == "set_and_infer":
        request, tensor = side.tiny.create_infer_request(), side.package.Tensor(X, shared_memory=True)

        def call():
            request.set_input_tensor(tensor)
            request.infer()
        return seconds_of(call)
    if name == "queue":
        compiled = side.package.Core().compile_model(MODEL, "CPU", {"PERFORMANCE_HINT": "THROUGHPUT"})
        queue = side.package.AsyncInferQueue(compiled)
        port = compiled.input(0)
        x = numpy.random.default_rng(2).standard_normal(tuple(port.shape)).astype(port.element_type.to_dtype())
        queue.set_callback(lambda request, _: request.get_output_tensor(0).data[0])

        def several(count):
            for _ in range(count):
                queue.start_async({0: x})
            queue.wait_all()
        several(2 * len(queue))
        begin, count = time.perf_counter(), 8 * len(queue)
        several(count)
        return (time.perf_counter() - begin) / count
    raise KeyError(name)


def main():
    """Answers until there is nothing more to read."""
    side = {"tenon": Tenon, "openvino": OpenVINO, "pyav": PyAV, "torchcodec": TorchCodec}[SIDE]()
    print("ready", flush=True)
    for line in sys.stdin:
        name = line.strip()
        begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
        taken = getattr(side, name)() if hasattr(side, name) else common(side, name)
        after = resource.getrusage(resource.RUSAGE_SELF)
        busy = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / (time.perf_counter() - begin)
        print(taken, taken * busy, flush=True)


if __name__ == "__main__":
    main()
