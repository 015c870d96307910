# SPDX-License-Identifier: Apache-2.0
"""Every call of the package that waits or works lets other threads of Python run. Each public name is in one of the tables below."""
import inspect
import re
import sys
import threading
import time

import numpy
import pytest

import tenon as tn
from conftest import relu_model

has_media = "elements ffmpeg" not in tn.absent()


def heavy_model(size=768, layers=6):
    x = tn.Parameter("f32", [size, size])
    node = x
    for _ in range(layers):
        node = tn.make_node("MatMul", [node, tn.Constant(numpy.eye(size, dtype=numpy.float32))])
    return tn.Model([node], [x], "heavy")


def state_model(size):
    """A state of so many numbers."""
    import tenon.openvino.opset13 as ops

    x = ops.parameter([size], "f32")
    return tn.Model([ops.assign(ops.add(ops.read_value(ops.constant(numpy.zeros(size, numpy.float32)), "state"), x), "state")], [], [x], "state")


class Slow(tn.Source):
    """Pictures that come late."""

    def frames(self):
        for _ in range(2):
            time.sleep(0.1)
            yield numpy.zeros((8, 8, 3), numpy.uint8)


class Files:
    """What the calls of this module read and write."""

    def __init__(self, folder):
        self.xml, self.trace, self.pictures = folder / "heavy.xml", folder / "trace.json", folder / "clip.mkv"
        tn.save_model(model, self.xml)
        self.bytes = heavy.export_model()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return Files(tmp_path_factory.mktemp("files"))


model = heavy_model()
heavy = tn.compile_model(model, "CPU")
request = heavy.create_infer_request()
queue = tn.AsyncInferQueue(heavy, 1)
core = tn.Core()
given = numpy.ones((768, 768), numpy.float32)
result = tn.Tensor(given)
big = numpy.zeros((6000, 6000, 3), numpy.uint8)
room = tn.Tensor("u8", big.shape)
dtype = numpy.dtype("f4")
wide = numpy.zeros((2000, 6000), numpy.uint8)
relu = relu_model((2048, 2048))
plain = tn.Tensor("f32", [2048, 2048])
held = tn.compile_model(relu, "CPU").create_infer_request()
held.infer()


def wait():
    request.start_async({0: given})
    request.wait()


def wait_for():
    request.start_async({0: given})
    while not request.wait_for(1000):
        pass


def taken(call):
    """A call of a queue whose only request is busy."""
    queue.start_async({0: given})
    call()
    queue.wait_all()


def wait_of_pipeline():
    pipeline = tn.Pipeline().add(Slow).add("null").start()
    pipeline.wait(0.1)
    pipeline.stop()
    pipeline.wait()


# Calls that take long: others run all that time.
LONG = {
    "InferRequest.infer": lambda f: request.infer({0: given}),
    "InferRequest.wait": lambda f: wait(),
    "InferRequest.wait_for": lambda f: wait_for(),
    "CompiledModel.__call__": lambda f: heavy(given),
    "CompiledModel.infer_new_request": lambda f: heavy.infer_new_request(given),
    "AsyncInferQueue.start_async": lambda f: taken(lambda: queue.start_async({0: given})),
    "AsyncInferQueue.wait_all": lambda f: taken(lambda: None),
    "AsyncInferQueue.get_idle_request_id": lambda f: taken(queue.get_idle_request_id),
    "compile_model": lambda f: tn.compile_model(model, "CPU"),
    "Core.compile_model": lambda f: core.compile_model(model, "CPU"),
    "Model.evaluate": lambda f: model.evaluate([tn.Tensor("f32", [768, 768])], [result]),
    "Node.evaluate": lambda f: model.results[0].input_value(0).get_node().evaluate([tn.Tensor("f32", [768, 768])], [result, result]),
    "Tensor.copy_to": lambda f: tn.Tensor(big, True).copy_to(tn.Tensor("u8", big.shape)),
    "Tensor.copy_from": lambda f: tn.Tensor("u8", big.shape).copy_from(tn.Tensor(big, True)),
    "Tensor": lambda f: tn.Tensor(big),
    "Constant": lambda f: tn.Constant(big),
    "map": lambda f: tn.map(big, "dmabuf") if "dmabuf" in tn.contexts().values() else time.sleep(0.05),
    "Frame.to": lambda f: tn.Frame(big).to("gray") if has_media else time.sleep(0.05),
    "Pipeline.run": lambda f: tn.Pipeline().add(Slow).add("null").run(),
    "Pipeline.frames": lambda f: list(tn.Pipeline().add(Slow).frames()),
    "Pipeline.__iter__": lambda f: list(tn.Pipeline().add(Slow)),
    "Pipeline.wait": lambda f: wait_of_pipeline(),
}
# Calls that need not take long, for a model or machine as small as these tests': others run at some time in many of them.
SHORT = {
    "InferRequest.start_async": lambda f: (request.start_async({0: given}), request.wait()),
    "InferRequest.results": lambda f: held.results,
    "InferRequest.cancel": lambda f: held.cancel(),
    "InferRequest.query_state": lambda f: held.query_state(),
    "InferRequest.reset_state": lambda f: held.reset_state(),
    "CompiledModel.create_infer_request": lambda f: heavy.create_infer_request(),
    "CompiledModel.get_runtime_model": lambda f: heavy.get_runtime_model(),
    "CompiledModel.export_model": lambda f: heavy.export_model(),
    "CompiledModel.get_property": lambda f: heavy.get_property("NETWORK_NAME"),
    "CompiledModel.release_memory": lambda f: heavy.release_memory(),
    "AsyncInferQueue": lambda f: tn.AsyncInferQueue(heavy, 2),
    "read_model": lambda f: tn.read_model(f.xml),
    "Core.read_model": lambda f: core.read_model(f.xml),
    "Core.import_model": lambda f: core.import_model(f.bytes, "CPU"),
    "Core.query_model": lambda f: core.query_model(model, "CPU"),
    "Core.available_devices": lambda f: core.available_devices,
    "Core.get_available_devices": lambda f: core.get_available_devices(),
    "Core.unavailable_devices": lambda f: core.unavailable_devices,
    "Core.get_versions": lambda f: core.get_versions("CPU"),
    "Core.get_property": lambda f: core.get_property("CPU", "FULL_DEVICE_NAME"),
    "Core.set_property": lambda f: core.set_property("CPU", {"PERF_COUNT": False}),
    "save_model": lambda f: tn.save_model(model, f.xml),
    "serialize": lambda f: tn.serialize(model, f.xml),
    "Tensor.__array__": lambda f: plain.__array__(copy=True),
    "VariableState.state": lambda f: states[0].state,
    "VariableState.reset": lambda f: states[0].reset(),
    "absent": lambda f: tn.absent(),
    "elements": lambda f: tn.elements(),
    "contexts": lambda f: tn.contexts(),
    "explain": lambda f: tn.explain(wide, "cpu"),
    "start_trace": lambda f: tn.start_trace(1 << 22),
    "write_trace": lambda f: tn.write_trace(str(f.trace)),
    "Pipeline.start": lambda f: tn.Pipeline().add("test", frames=1, width=8, height=8).add("null").start().wait(),
    "Pipeline.stop": lambda f: tn.Pipeline().add("test", frames=0, width=8, height=8).add("null").start().stop(),
}
with_states = tn.compile_model(state_model(1 << 18), "CPU").create_infer_request()
with_states.infer(numpy.zeros(1 << 18, numpy.float32))
states = with_states.query_state()
# These need a device's context or a video, and are tested as the calls above that they share their code with, or there.
ELSEWHERE = {
    "Core.create_context", "Core.get_default_context", "Core.register_plugin", "Core.unload_plugin", "CompiledModel.get_context", "CompiledModel.set_property",
    "CompiledModel.query_state", "CompiledModel.reset_state", "InferRequest.infer_async", "InferRequest.get_profiling_info", "InferRequest.profiling_info",
    "RemoteContext.create_tensor", "RemoteContext.create_host_tensor", "from_dlpack", "Tensor.__dlpack__",
    "open", "Video", "Video.__next__", "Video.__iter__", "Video.close", "Video.width", "Video.height", "Video.fps", "Video.live", "Video.frame_count",
}
# What only looks at objects or changes them, without a wait: as regular expressions.
QUICK = [
    r"(ConstOutput|Output|Detection|Detections|Dimension|Error|Layout|Ledger|LedgerScope|OVDict|Parameter|PartialShape|ProfilingInfo|Result|Router|Shape|Type|Version|"
    r"ZeroCopy)(\..*)?", r"(Source|Sink|Transform)(\..*)?",  # What they do is the program's.
    r"(Model|Node)(\.(?!evaluate)\w+)?", r"Constant\.\w+",  # A graph is data.
    r"AsyncInferQueue\.(is_ready|set_callback|userdata|__iter__)", r"CompiledModel(\.(inputs?|outputs?))?", r"Core(\.(ledger|router))?",
    r"Frame(\.(?!to$)\w+)?", r"InferRequest(\.(get_\w*tensor|set_\w*tensors?|\w+_tensors|model_\w+|set_callback|userdata|latency|get_compiled_model|ledger))?",
    r"Pipeline(\.(add|stats|failures))?", r"RemoteContext(\.get_\w+)?", r"RemoteTensor(\.\w+)?", r"VariableState(\.name)?", r"Video\.stats",
    r"Tensor\.(data|\w+_data|shape|element_type|strides|size|byte_size|writable|kind|get_\w+|is_continuous|set_shape|numpy)",
    r"core|get_version|layout_helpers|ledger|make_node|register_element|errors|preprocess|properties",
]
SPECIAL = ("__call__", "__array__", "__dlpack__", "__iter__", "__next__")


def public_names():
    for name in tn.__all__:
        value = getattr(tn, name)
        yield name
        if inspect.isclass(value):
            yield from (f"{name}.{member}" for member in vars(value) if not member.startswith("_") or member in SPECIAL)


def test_each_public_name_is_in_one_table():
    tables = [set(LONG), set(SHORT), ELSEWHERE]
    names = set(public_names())
    for name in names:
        found = sum(name in each for each in tables) + any(re.fullmatch(each, name) for each in QUICK)
        assert found == 1 or (found == 2 and name in ("AsyncInferQueue",)), f"{name} is in {found} tables: does it wait, or work long?"
    assert not set.union(*tables) - names


class Ticks:
    """A second thread that counts how often it runs, while no thread is made to yield: it runs only where a call lets it."""

    def __enter__(self):
        self.count, self._over = 0, threading.Event()
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(1000)
        self._thread = threading.Thread(target=self._tick)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        sys.setswitchinterval(self._interval)
        self._thread.join()

    def _tick(self):
        while not self._over.is_set():
            self.count += 1
            time.sleep(0.0005)


@pytest.mark.parametrize("name", LONG)
def test_other_threads_run_meanwhile(name, files):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:  # What holds the interpreter gives no tick in any of them; on a loaded machine many runs may have few.
        with Ticks() as ticks:
            time.sleep(0.02)
            before, begin = ticks.count, time.perf_counter()
            LONG[name](files)
            seconds, count = time.perf_counter() - begin, ticks.count - before
        if seconds >= 0.005 and count >= 2 and count >= seconds * 50:
            return
    pytest.fail(f"{count} ticks in {seconds:.3f} s")


@pytest.mark.parametrize("name", SHORT)
def test_other_threads_run_in_many_calls(name, files):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with Ticks() as ticks:
            time.sleep(0.002)
            before, end = ticks.count, time.perf_counter() + 0.2
            while ticks.count - before < 3 and time.perf_counter() < end:
                SHORT[name](files)
            count = ticks.count - before
        if count >= 3:
            return
    pytest.fail("no other thread ran in 30 s of such calls")
