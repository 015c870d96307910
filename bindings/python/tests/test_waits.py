# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends waits, and calls of several threads at once."""
import asyncio
import os
import sys
import threading
import time

import numpy
import pytest

import tenon as tn

def heavy_model(size=768, layers=6):
    x = tn.Parameter("f32", [size, size])
    node = x
    for _ in range(layers):
        node = tn.make_node("MatMul", [node, tn.Constant(numpy.eye(size, dtype=numpy.float32))])
    return tn.Model([node], [x], "heavy")


heavy = tn.compile_model(heavy_model(), "CPU")
request = heavy.create_infer_request()
given = numpy.ones((768, 768), numpy.float32)


class Slow(tn.Source):
    """Pictures that come late."""

    def frames(self):
        for _ in range(2):
            time.sleep(0.1)
            yield numpy.zeros((8, 8, 3), numpy.uint8)


WAITS = {
    "a request": "request.set_callback(lambda _: block.wait(20)), request.start_async(ramp(1, 3, 4)), request.wait()",
    "a request, with a limit": "request.set_callback(lambda _: block.wait(20)), request.start_async(ramp(1, 3, 4)), request.wait_for(20_000)",
    "a free request": "queue.set_callback(lambda *_: block.wait(20)), queue.start_async(ramp(1, 3, 4)), queue.start_async(ramp(1, 3, 4))",
    "the number of a free request": "queue.set_callback(lambda *_: block.wait(20)), queue.start_async(ramp(1, 3, 4)), queue.get_idle_request_id()",
    "a pipeline": "tn.Pipeline().add(Late).add('null').run()",
    "a pipeline, with a limit": "tn.Pipeline().add(Late).add('null').wait(20)",
    "frames": "next(iter(tn.Pipeline().add(Late)))",
}


def test_control_c_ends_waits(python):
    out = python(f"""
import os, signal, sys, threading, time
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
from conftest import *
compiled = tn.compile_model(relu_model(), "CPU")
class Late(tn.Source):
    def frames(self):
        late.wait(20)  # A pipeline that stops waits for what its elements' Python does.
        yield numpy.zeros((8, 8), numpy.uint8)
waits = {{{', '.join(f'{name!r}: lambda: ({call})' for name, call in WAITS.items())}}}
for name, wait in waits.items():
    request, queue = compiled.create_infer_request(), tn.AsyncInferQueue(compiled, 1)
    block, late, over = threading.Event(), threading.Event(), threading.Event()
    def interrupt():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)
        late.set()
        over.wait(10)  # Without the exception the wait ends then, and nothing is printed.
        block.set()
    timer = threading.Timer(0.1, interrupt)
    try:
        timer.start()  # Here, since on a busy machine the signal may come before the wait.
        wait()
    except KeyboardInterrupt:
        print(name, flush=True)
    over.set()
    timer.join()
""", leaks=True)
    assert out.splitlines() == list(WAITS), out


@pytest.mark.skipif(sys.platform != "linux", reason="no signals")
def test_a_second_coroutine_is_refused_and_the_first_ends():
    async def both():
        return await asyncio.wait_for(asyncio.gather(request.infer_async(given), request.infer_async(given), return_exceptions=True), 30)

    first, second = asyncio.run(both())
    assert first[0].shape == given.shape
    assert isinstance(second, tn.errors.Busy)


def test_an_exception_of_a_callback_is_thrown_by_each_wait():
    request.set_callback(lambda _: 1 / 0)
    request.start_async({0: given})
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            request.wait()
    request.set_callback(None)
    request.infer({0: given})


def in_threads(call, count=4):
    """call(number) in so many threads at once; the exceptions that they raised."""
    failed, start = [], threading.Barrier(count)

    def run(number):
        start.wait()
        try:
            call(number)
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failed


def test_threads_call_one_model():
    """Each gets the result of its own array."""
    x = tn.Parameter("f32", [256, 256])
    compiled = tn.compile_model(tn.Model([tn.make_node("Relu", [x])], [x], "relu"), "CPU")

    def call(number):
        array = numpy.full((256, 256), number, numpy.float32)
        for share in (True, False) * 100:
            assert (compiled(array, share_inputs=share)[0] == number).all()

    assert in_threads(call) == []


def test_threads_do_not_mix_their_arrays_in_a_request():
    """A call has the request for itself from its first input to its last output."""
    x = tn.Parameter("f32", [4, 4])
    shared, wrong, done = tn.compile_model(tn.Model([tn.make_node("Relu", [x])], [x], "relu"), "CPU").create_infer_request(), [], []

    def call(number):
        array = numpy.full((4, 4), number, numpy.float32)
        for share in (True, False) * 1500:
            try:
                result = shared.infer(array, share_inputs=share)[0]
            except tn.errors.Busy:
                continue
            (done if (result == number).all() else wrong).append(number)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        assert in_threads(call) == [] and done and not wrong
    finally:
        sys.setswitchinterval(interval)


def test_a_callback_starts_its_request_again():
    """Also where it is called before the call that began the inference has returned."""
    x = tn.Parameter("f32", [4])
    again, count, failed, over = tn.compile_model(tn.Model([tn.make_node("Relu", [x])], [x], "relu"), "CPU").create_infer_request(), [0], [], threading.Event()

    def called(_):
        count[0] += 1
        try:
            if count[0] < 3000:
                return again.start_async()
        except Exception as error:
            failed.append(error)
        over.set()

    again.set_callback(called)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        again.start_async(numpy.ones(4, numpy.float32))
        assert over.wait(60) and not failed and count == [3000]
    finally:
        sys.setswitchinterval(interval)
    again.wait()


def test_a_request_is_free_after_its_coroutine_was_cancelled():
    called = []
    request.set_callback(called.append, 7)

    async def late():
        for _ in range(20):  # On a busy machine the inference may end before the loop looks at its clock.
            try:
                await asyncio.wait_for(request.infer_async(given), 0.0005)
            except asyncio.TimeoutError:
                return await request.infer_async(given)
        return pytest.fail("no coroutine was cancelled")

    assert asyncio.run(late())[0].shape == given.shape
    request.wait()
    assert called[-1:] == [7], "the callback stays"
    request.set_callback(None)
    task = []

    async def left():
        task.append(asyncio.ensure_future(request.infer_async(given)))
        await asyncio.sleep(0)

    asyncio.run(left())
    assert task[0].cancelled()
    request.infer(given)


def test_a_queue_does_not_wait_for_its_own_callbacks():
    errors = []
    alone = tn.AsyncInferQueue(heavy, 1)

    def again(_, __):
        for call in (lambda: alone.start_async(given), alone.wait_all, alone.get_idle_request_id):
            try:
                call()
            except tn.Error as error:
                errors.append(error)

    alone.set_callback(again)
    alone.start_async(given)
    alone.wait_all()
    assert [type(each) for each in errors] == [tn.errors.Busy, tn.errors.FailedPrecondition, tn.errors.Busy]


@pytest.mark.parametrize("wait", ["wait", "run", "start", "iteration"])
def test_an_element_does_not_wait_for_its_own_pipeline(wait):
    """It would wait for itself. stop() asks for the end, and returns."""
    pipeline, errors, called = tn.Pipeline(), [], []

    def calls(_):
        if called:
            return
        called.append(pipeline.wait(0))  # It only asks.
        try:
            next(iter(pipeline)) if wait == "iteration" else getattr(pipeline, wait)()
        except tn.errors.FailedPrecondition as error:
            errors.append(str(error))
        pipeline.stop()

    pipeline.add(Slow).add(calls)
    if wait == "iteration":
        assert len(list(pipeline)) <= 2
    else:
        assert pipeline.add("null").start().wait(20)
    assert called == [False]
    assert bool(errors) == (wait != "start") and all("waits for the pipeline" in each for each in errors), errors


def test_control_c_ends_a_compilation(python):
    """It ends at the next node or pass, not when all of it is done."""
    assert python(f"""
import os, signal, sys, threading, time
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
from conftest import *
def long_model(count):
    x = tn.Parameter("f32", [64, 64])
    node = x
    for number in range(count):
        node = tn.make_node("MatMul", [node, tn.Constant(numpy.full((64, 64), number, numpy.float32))])
    return tn.Model([node], [x], "long")
def compile(count, when=None):
    model = long_model(count)
    if when: timer = threading.Timer(when, lambda: os.kill(os.getpid(), signal.SIGINT))
    begin, work = time.monotonic(), time.process_time()
    try:
        if when: timer.start()
        tn.compile_model(model, "CPU")
        if when: timer.join()
        how = "compiled"
    except KeyboardInterrupt:
        how = "interrupted"
    return how, time.monotonic() - begin, time.process_time() - work
count = 500
while compile(count)[2] < 1: count *= 2
for _ in range(5):  # On a busy machine the signal may come late.
    _, seconds, whole = compile(count)
    how, _, work = compile(count, 0.1 * seconds)
    if how == "interrupted" and work < 0.5 * whole: break
print(how, work < 0.5 * whole)
tn.compile_model(relu_model(), "CPU")(ramp(1, 3, 4))
""", timeout=400, leaks=True) == "interrupted True\n"


def test_control_c_ends_an_inference(python):
    """It ends at its next step, not when all of it is done, and the request is free again. What ends it is a loop of many days."""
    assert python(f"""
import os, signal, sys, threading, time
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
from conftest import *
x, count = tn.Parameter("f32", [-1, 64]), tn.Parameter("i64", [])
inside = tn.Parameter("f32", [-1, 64])
product = tn.make_node("MatMul", [inside, tn.Constant(numpy.eye(64, dtype=numpy.float32))])
go_on = tn.Constant(numpy.array(True))
loop = tn._native.loop(count, tn.Constant(numpy.array(True)))
loop.set_function(tn.Model([product, go_on], [inside], "body"))
loop.set_special_body_ports([-1, 1])
loop.set_merged_input(inside, x.output(0), product.output(0))
last = loop.get_iter_value(product.output(0), -1)
compiled = tn.compile_model(tn.Model([last], [x, count], "loop"), "CPU")
request, fresh = compiled.create_infer_request(), compiled.create_infer_request()
small, large = numpy.ones((2, 64), numpy.float32), numpy.ones((64, 64), numpy.float32)
once, days = numpy.array(3, numpy.int64), numpy.array(1 << 40, numpy.int64)
assert (request.infer([small, once])[0] == 1).all()
for name, call in {{
    "a first one": lambda: fresh.infer([small, days]),
    "after one that it ended": lambda: fresh.infer([small, days], share_inputs=True),
    "of a larger input": lambda: request.infer([large, days]),
    "a call of the model": lambda: compiled([large, days]),
}}.items():
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    try:
        timer.start()
        call()
    except KeyboardInterrupt:
        print(name, flush=True)
    timer.join()
for each in (request, fresh, compiled):
    answer = each.infer([small, once]) if each is not compiled else each([small, once])
    assert (answer[0] == 1).all()
print(request.latency > 0)
""", timeout=120, leaks=True).splitlines() == ["a first one", "after one that it ended", "of a larger input", "a call of the model", "True"]


def test_errors_of_inferences_that_may_be_long_are_their_own():
    """They come from another thread, and leave the request as it was."""
    x, extents = tn.Parameter("f32", [2, 3]), tn.Parameter("i64", [1])
    shaped = tn.compile_model(tn.Model([tn.make_node("Reshape", [x, extents], {"special_zero": False})], [x, extents], "shaped"), "CPU").create_infer_request()
    numbers = numpy.arange(6, dtype=numpy.float32).reshape(2, 3)
    for _ in range(2):
        with pytest.raises(tn.Error, match="7"):
            shaped.infer([numbers, numpy.array([7])])
        for _ in range(2):
            assert (shaped.infer([numbers, numpy.array([6])])[0] == numbers.ravel()).all()


def test_threads_start_and_stop_one_pipeline():
    """All wait for the same end, and a stop before the start is one."""
    class Few(tn.Source):
        """A picture."""

        def frames(self):
            yield numpy.zeros((8, 8), numpy.uint8)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for _ in range(50):
            pipeline = tn.Pipeline().add(Few).add("null")
            pipeline._start(0)
            assert in_threads(lambda _, pipeline=pipeline: pipeline.wait(30) and pipeline.stats[-1]["frames_in"] == 1 or pytest.fail("it was not over")) == []
        for _ in range(50):
            pipeline = tn.Pipeline().add("test", frames=0, width=8, height=8).add("null")
            pipeline._start(0)
            assert in_threads(lambda number, pipeline=pipeline: pipeline.stop() if number else pipeline.wait(30) or pytest.fail("it goes on")) == []
    finally:
        sys.setswitchinterval(interval)


def test_the_end_of_the_frames_is_told_at_once():
    class Few(tn.Source):
        """Some pictures."""

        def frames(self):
            yield numpy.zeros((8, 8), numpy.uint8)

    assert min(took(lambda: list(tn.Pipeline().add(Few))) for _ in range(30)) < 0.04  # The least, since a machine may be busy.


def took(call):
    begin = time.monotonic()
    call()
    return time.monotonic() - begin


def test_a_wait_in_a_thread_is_not_the_signals(python):
    """Python gives signals to the main thread: a thread that waits goes on."""
    assert python(f"""
import os, signal, sys, threading
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
from conftest import *
request = tn.compile_model(relu_model(), "CPU").create_infer_request()
block = threading.Event()
request.set_callback(lambda _: block.wait(20))
request.start_async(ramp(1, 3, 4))
done = []
thread = threading.Thread(target=lambda: done.append(request.wait()))
thread.start()
try:
    os.kill(os.getpid(), signal.SIGINT)
    block.wait(5)
except KeyboardInterrupt:
    pass
block.set()
thread.join()
print(len(done))
""", leaks=True) == "1\n"
