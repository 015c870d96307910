# SPDX-License-Identifier: Apache-2.0
"""Models, requests and results."""
import asyncio
import io
import re
import threading
import time

import numpy
import pytest

import tenon as tn
from conftest import ramp, relu_model, two_inputs_model


def test_calls_take_arrays_lists_and_dicts(two):
    a, b = ramp(2, 3), numpy.full((2, 3), 2, numpy.float32)
    for inputs in ([a, b], (a, b), {0: a, 1: b}, {"a": a, "b": b}, {two.input("a"): a, two.input(1): b}):
        results = two(inputs)
        assert (results[0] == a + b).all() and (results["product"] == a * b).all() and (results[two.output(1)] == a * b).all()
    assert len(results) == 2 and [sorted(port.names) for port in results] == [["sum"], ["product"]]
    assert results.to_tuple()[0] is results[0]
    with pytest.raises(KeyError, match="product"):
        results["nothing"]
    with pytest.raises(IndexError):
        results[2]


def test_shared_inputs_are_read_in_place(relu):
    x = ramp(1, 3, 4)
    request = relu.create_infer_request()
    request.infer(x, share_inputs=True)
    assert request.get_input_tensor().data.__array_interface__["data"][0] == x.__array_interface__["data"][0]
    with tn.ledger(request) as moved:
        request.infer()
    assert moved.copied == 0
    x[0, 0, 0] = 9
    assert request.infer()[0][0, 0, 0] == 9


def test_wrong_shapes_are_named_however_they_come(relu):
    request = relu.create_infer_request()
    for wrong in (ramp(2, 3, 4), ramp(3, 4)):
        for share in (False, True):
            with pytest.raises(ValueError, match=re.escape(f"got [{','.join(map(str, wrong.shape))}] expecting [1,3,4]")):
                request.infer(wrong, share_inputs=share)
        with pytest.raises(ValueError, match=re.escape("expecting [1,3,4]")):
            asyncio.run(request.infer_async(wrong))
    picture = numpy.zeros((6, 8, 3), numpy.uint8)
    for share in (False, True):
        with pytest.raises(ValueError, match=re.escape("goes in as tenon.Frame(array)")):
            request.infer(picture, share_inputs=share)
    with pytest.raises(IndexError, match="no input 1: the model has 1 input$"):
        request.infer([wrong, wrong])
    assert (request.infer(ramp(1, 3, 4))[0] == numpy.maximum(ramp(1, 3, 4), 0)).all()


def test_unshared_inputs_are_copied(relu):
    x = ramp(1, 3, 4)
    request = relu.create_infer_request()
    request.infer(x)
    x[:] = 100
    assert request.infer()[0].max() < 100


def test_arrays_that_were_shared_are_not_written_to(relu):
    request, one, two = relu.create_infer_request(), numpy.ones((1, 3, 4), numpy.float32), numpy.full((1, 3, 4), 2, numpy.float32)
    for set_one in (lambda: request.infer(one, share_inputs=True), lambda: request.set_tensor("x", one), lambda: request.set_input_tensor(0, one),
                    lambda: request.set_input_tensor(tn.Tensor(one, shared_memory=True)), lambda: request.set_tensors({"x": one}),
                    lambda: request.set_input_tensors({0: one}), lambda: request.infer({0: tn.Tensor(one, shared_memory=True)})):
        set_one()
        assert (request.infer(two)[0] == 2).all() and (one == 1).all()
        assert (request.infer(two * 2)[0] == 4).all() and (two == 2).all()
    queue = tn.AsyncInferQueue(relu, 1)
    queue.start_async(one, share_inputs=True)
    queue.start_async(two)
    queue.wait_all()
    assert (one == 1).all() and (queue[0].results[0] == 2).all()


def test_results_stay_unless_shared(relu):
    request = relu.create_infer_request()
    kept = request.infer(numpy.ones((1, 3, 4), numpy.float32))[0]
    seen = request.infer(numpy.full((1, 3, 4), 2, numpy.float32), share_outputs=True)[0]
    request.infer(numpy.full((1, 3, 4), 3, numpy.float32))
    assert (kept == 1).all() and (seen == 3).all()


def test_other_types_are_converted(relu):
    assert relu(numpy.full((1, 3, 4), -1, numpy.int64))[0].dtype == numpy.float32
    assert relu([[[[1, 2, 3, 4]] * 3]])[0].shape == (1, 3, 4)
    assert relu(ramp(1, 3, 4)[:, ::-1])[0].tolist() == numpy.maximum(ramp(1, 3, 4)[:, ::-1], 0).tolist()


def test_wrong_inputs(relu, two):
    with pytest.raises(ValueError, match=r"\[1,3,4\]"):
        relu(numpy.zeros((1, 3, 5), numpy.float32))
    with pytest.raises(LookupError, match="x"):
        relu({"z": ramp(1, 3, 4)})
    with pytest.raises(IndexError):
        relu({3: ramp(1, 3, 4)})
    with pytest.raises(ValueError, match="dict or a list"):
        two(ramp(2, 3))
    with pytest.raises(TypeError):
        relu({1.5: ramp(1, 3, 4)})
    with pytest.raises(TypeError):
        relu(object())
    assert relu(ramp(1, 3, 4))[0].min() == 0  # And it still works.


def test_tensors_of_a_request(two):
    request = two.create_infer_request()
    request.set_tensor("a", tn.Tensor(ramp(2, 3)))
    request.set_input_tensor(1, tn.Tensor(ramp(2, 3)))
    out = numpy.zeros((2, 3), numpy.float32)
    request.set_output_tensor(0, tn.Tensor(out, shared_memory=True))
    request.infer()
    assert (out == 2 * ramp(2, 3)).all()
    assert (request.results["product"] == ramp(2, 3) ** 2).all()
    assert len(request.input_tensors) == 2 and len(request.model_outputs) == 2
    with pytest.raises(ValueError):
        request.get_input_tensor()
    assert request.latency > 0


def test_read_only_arrays_are_never_written_to(relu):
    request, x = relu.create_infer_request(), numpy.ones((1, 3, 4), numpy.float32)
    out = numpy.zeros((1, 3, 4), numpy.float32)
    out.flags.writeable = x.flags.writeable = False
    request.infer(x, share_inputs=True)
    assert (request.infer(x * 3)[0] == 3).all() and (x == 1).all()
    with pytest.raises(tn.Error, match="read-only"):
        request.set_output_tensor(0, tn.Tensor(out, shared_memory=True))
        request.infer()
    with pytest.raises(tn.Error):
        tn.Tensor(x).copy_to(tn.Tensor(out, shared_memory=True))
    assert (out == 0).all()


def test_dynamic_shapes():
    compiled = tn.compile_model(relu_model((-1, 3)), "CPU")
    for rows in (1, 5, 2):
        assert compiled(ramp(rows, 3))[0].shape == (rows, 3)
    request = compiled.create_infer_request()
    for rows in (4, 1, 7):
        assert request.infer({"x": ramp(rows, 3)})[0].tolist() == numpy.maximum(ramp(rows, 3), 0).tolist()


def test_reshape_and_ports():
    model = relu_model()
    model.reshape({"x": [2, 3, -1]})
    assert str(model.input(0).partial_shape) == "[2,3,?]" and model.is_dynamic()
    model.reshape([2, 3, 4])
    assert model.output("y").shape == [2, 3, 4] and model.input().any_name == "x"
    assert [op.get_type_name() for op in model.get_ordered_ops()] == ["Parameter", "Relu", "Result"]
    with pytest.raises(LookupError):
        model.input("w")
    assert "x" in repr(model) and "<table>" in model._repr_html_()


def test_async_and_callbacks(relu):
    request = relu.create_infer_request()
    seen = []
    request.set_callback(lambda data: seen.append((data, threading.get_ident())), "data")
    request.start_async(ramp(1, 3, 4))
    request.wait()
    assert seen[0][0] == "data" and (request.results[0] == numpy.maximum(ramp(1, 3, 4), 0)).all()
    request.start_async(ramp(1, 3, 4), userdata="other")
    assert request.wait_for(5000)
    assert seen[1][0] == "other"


def test_an_exception_in_a_callback_is_thrown_by_wait(relu):
    request = relu.create_infer_request()

    def fails(_):
        raise KeyError("from the callback")

    request.set_callback(fails)
    request.start_async(ramp(1, 3, 4))
    with pytest.raises(KeyError, match="from the callback") as info:
        request.wait()
    assert any(entry.name == "fails" for entry in info.traceback)
    request.set_callback(None)
    request.infer()


def test_coroutines(relu):
    async def several():
        requests = [relu.create_infer_request() for _ in range(3)]
        return await asyncio.gather(*[request.infer_async(numpy.full((1, 3, 4), i, numpy.float32)) for i, request in enumerate(requests)])

    results = asyncio.run(several())
    assert [int(result[0].max()) for result in results] == [0, 1, 2]


def test_queue(relu):
    queue = tn.AsyncInferQueue(relu, 3)
    results = {}

    def done(request, index):
        results[index] = request.results[0].max()

    queue.set_callback(done)
    for i in range(50):
        queue.start_async({0: numpy.full((1, 3, 4), i, numpy.float32)}, i)
    queue.wait_all()
    assert results == {i: float(i) for i in range(50)}
    assert len(queue) == 3 and queue.is_ready() and len(list(queue)) == 3 and len(queue.userdata) == 3
    assert queue[0].results and queue.get_idle_request_id() in range(3)
    with pytest.raises(IndexError):
        queue[3]


def test_a_queue_tells_the_first_error(relu):
    queue = tn.AsyncInferQueue(relu, 2)

    def fails(_, index):
        if index == 3:
            raise RuntimeError("third")

    queue.set_callback(fails)
    with pytest.raises(RuntimeError, match="third"):
        for i in range(8):
            queue.start_async(ramp(1, 3, 4), i)
        queue.wait_all()
    with pytest.raises(ValueError):
        queue.start_async(numpy.zeros((2, 2), numpy.float32))
    queue.set_callback(lambda *_: None)
    queue.start_async(ramp(1, 3, 4))
    queue.wait_all()


def test_threads_share_a_model(relu):
    errors = []

    def work(value):
        request = relu.create_infer_request()
        for _ in range(50):
            if request.infer(numpy.full((1, 3, 4), value, numpy.float32))[0].max() != value:
                errors.append(value)

    threads = [threading.Thread(target=work, args=(value,)) for value in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_files(tmp_path):
    tn.save_model(two_inputs_model(), tmp_path / "two.xml")
    core = tn.Core()
    model = core.read_model(tmp_path / "two.xml")
    assert len(model.inputs) == 2
    compiled = core.compile_model(str(tmp_path / "two.xml"), "CPU", {"PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1, "PERF_COUNT": True})
    assert compiled.get_property("PERFORMANCE_HINT") == tn.properties.hint.PerformanceMode.LATENCY
    request = compiled.create_infer_request()
    request.infer([ramp(2, 3), ramp(2, 3)])
    assert request.profiling_info and request.get_profiling_info()[0].node_type
    text = (tmp_path / "two.xml").read_bytes()
    assert len(core.read_model(text, tn.Tensor((tmp_path / "two.bin").read_bytes() or b"\0")).outputs) == 2
    blob = compiled.export_model()
    again = core.import_model(blob, "CPU")
    assert (again([ramp(2, 3), ramp(2, 3)])["sum"] == 2 * ramp(2, 3)).all()
    stream = io.BytesIO()
    compiled.export_model(stream)
    assert core.import_model(io.BytesIO(stream.getvalue()), "CPU").outputs
    with pytest.raises(LookupError, match="missing.xml"):
        core.read_model(tmp_path / "missing.xml")
    (tmp_path / "bad.onnx").write_bytes(b"\x00" * 10)
    with pytest.raises(tn.Error):
        core.read_model(tmp_path / "bad.onnx")


def test_properties():
    core = tn.Core()
    assert "CPU" in core.available_devices and isinstance(core.unavailable_devices, dict)
    supported = core.get_property("CPU", "SUPPORTED_PROPERTIES")
    assert supported["PERFORMANCE_HINT"] == "RW" and supported["FULL_DEVICE_NAME"] == "RO"
    assert isinstance(core.get_property("CPU", "FULL_DEVICE_NAME"), str)
    core.set_property("CPU", {tn.properties.hint.performance_mode: tn.properties.hint.PerformanceMode.THROUGHPUT})
    assert core.get_property("CPU", tn.properties.hint.performance_mode()) is tn.properties.hint.PerformanceMode.THROUGHPUT
    core.set_property("CPU", tn.properties.inference_num_threads(1))
    assert core.get_property("CPU", "INFERENCE_NUM_THREADS") == 1
    core.set_property("CPU", {"INFERENCE_PRECISION_HINT": tn.Type.f32})
    assert core.get_property("CPU", "INFERENCE_PRECISION_HINT") == tn.Type.f32
    assert isinstance(core.get_property("CPU", "RANGE_FOR_STREAMS"), tuple)
    core.set_property("CPU", {"INFERENCE_NUM_THREADS": numpy.int64(2), "PERF_COUNT": numpy.bool_(True)})
    assert core.get_property("CPU", "INFERENCE_NUM_THREADS") == 2 and core.get_property("CPU", "PERF_COUNT") is True
    for wrong in ({"PERFORMANCE_HINT": "SLOW"}, {"NUM_STREAMS": "many"}, {"NO_SUCH": 1}):
        with pytest.raises(tn.Error):
            core.set_property("CPU", wrong)
    for wrong in ({"NUM_STREAMS": None}, {"NUM_STREAMS": object()}, {3: 4}, 5):
        with pytest.raises(TypeError):
            core.set_property("CPU", wrong)
    with pytest.raises(LookupError, match="CPU"):
        core.compile_model(relu_model(), "TOASTER")
    assert core.get_versions("CPU")["CPU"].build_number


def test_states():
    x = tn.Parameter("f32", [1, 2])
    start = tn.Constant(numpy.zeros((1, 2), numpy.float32))
    read = tn.make_node("ReadValue", [start], {"variable_id": "sum", "variable_type": tn.Type.f32, "variable_shape": tn.PartialShape([1, 2])}, "opset6")
    total = tn.make_node("Add", [x, read])
    assign = tn.make_node("Assign", [total], {"variable_id": "sum"}, "opset6")
    model = tn.Model([total], [assign], [x], "state")
    request = tn.compile_model(model, "CPU").create_infer_request()
    one = numpy.ones((1, 2), numpy.float32)
    assert [request.infer(one)[0][0, 0] for _ in range(3)] == [1, 2, 3]
    state = request.query_state()[0]
    assert state.name == "sum" and state.state.data[0, 0] == 3
    state.state = tn.Tensor(numpy.full((1, 2), 10, numpy.float32))
    assert request.infer(one)[0][0, 0] == 11
    request.reset_state()
    assert request.infer(one)[0][0, 0] == 1


def test_preprocessing():
    model = relu_model((1, 3, 4, 4))
    steps = tn.preprocess.PrePostProcessor(model)
    steps.input().tensor().set_element_type(tn.Type.u8).set_layout("NHWC")
    steps.input().model().set_layout("NCHW")
    steps.input().preprocess().convert_element_type(tn.Type.f32).mean([1, 2, 3]).scale(2.0)
    assert "NHWC" in str(steps) or "N,H,W,C" in str(steps)
    compiled = tn.compile_model(steps.build(), "CPU")
    picture = numpy.full((1, 4, 4, 3), 7, numpy.uint8)
    assert compiled(picture)[0][0, :, 0, 0].tolist() == [3, 2.5, 2]


def test_errors_have_their_codes():
    with pytest.raises(tn.errors.NotFound) as info:
        tn.Core().compile_model(relu_model(), "TOASTER")
    assert info.value.code == 5 and isinstance(info.value, (RuntimeError, LookupError))
    request = tn.compile_model(relu_model(), "CPU").create_infer_request()
    request.start_async(ramp(1, 3, 4))
    request.wait()
    assert tn.errors.BY_CODE[12] is tn.errors.Unimplemented


def test_ledger_of_a_block(relu):
    with tn.ledger() as moved:
        relu(ramp(1, 3, 4))
    assert isinstance(moved.copied, int) and isinstance(moved.total(), dict) and "<table>" in moved._repr_html_() and repr(moved).startswith("<LedgerScope: ")
    assert "Ledger" in repr(tn.Ledger.process()) and "<table>" in tn.Ledger.process()._repr_html_()


def test_long_waits_leave_other_threads_running(relu):
    counted = [0]
    stop = threading.Event()

    def count():
        while not stop.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    request, waits, seen = relu.create_infer_request(), threading.Event(), []

    def called(_):
        waits.wait(60)
        before, end = counted[0], time.monotonic() + 30
        while counted[0] < before + 4 and time.monotonic() < end:
            time.sleep(0.001)
        seen.append(counted[0] - before)

    request.set_callback(called)
    request.start_async(ramp(1, 3, 4))
    assert not request.wait_for(50)
    waits.set()
    request.wait()
    stop.set()
    thread.join()
    assert seen[0] > 3


@pytest.mark.parametrize("share", [True, False])
def test_arrays_that_cannot_be_shared_are_copied(two, share):
    """Flipped pictures, big-endian files: whether the caller lets the array be used in place or not."""
    a = ramp(2, 3)
    request, queue = two.create_infer_request(), tn.AsyncInferQueue(two, 1)
    for given in (a[::-1], a[:, ::-1], a.astype(">f4"), a.astype(numpy.float64)[::-1], a.astype(">i2"), a.tolist()):
        wanted = numpy.asarray(given, numpy.float32) + 1
        one = numpy.ones((2, 3), numpy.float32)
        assert (two([given, one], share_inputs=share)["sum"] == wanted).all()
        assert (request.infer([given, one], share_inputs=share)["sum"] == wanted).all()
        queue.start_async([given, one], share_inputs=share)
        queue.wait_all()
        assert (queue[0].results["sum"] == wanted).all()
    tensor = tn.Tensor("f32", [2, 3])
    tensor.copy_from(a[::-1])
    assert (tensor.data == a[::-1]).all()


def test_numbers_of_numpy_are_indices(two):
    one = numpy.ones((2, 3), numpy.float32)
    results = two({numpy.int64(0): one, numpy.uint8(1): one})
    assert (results[numpy.int64(0)] == 2).all() and (results[numpy.argmax([0, 1])] == 1).all()
    with pytest.raises(LookupError, match="no output 2"):
        results[numpy.int64(2)]
    with pytest.raises(IndexError, match="no input 5"):
        two({numpy.int64(5): one})
