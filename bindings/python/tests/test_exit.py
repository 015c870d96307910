# SPDX-License-Identifier: Apache-2.0
"""Ends of processes and objects: orders of dropping, exits with work in flight, fork, signals. Each in an interpreter of its own."""
import os
import sys

import pytest

START = """
import sys
sys.path.insert(0, %r)
from conftest import *
import tenon as tn
compiled = tn.compile_model(relu_model(), "CPU")
""" % os.path.dirname(os.path.abspath(__file__))

PICTURES = """
import threading, time
import numpy as np
class Pictures(tn.Source):
    "Pictures without an end."
    def frames(self):
        while True:
            time.sleep(0.001)
            yield np.zeros((8, 8, 3), np.uint8)
"""


def test_globals_in_any_order(python):
    assert python(START + """
request = compiled.create_infer_request()
x = ramp(1, 3, 4)
request.infer(x, share_inputs=True)
array = request.get_output_tensor().data
del compiled
print(array.max())
""") == "8.0\n"


def test_exit_with_work_in_flight(python):
    python(START + """
queue = tn.AsyncInferQueue(compiled, 4)
queue.set_callback(lambda request, data: request.results)
for i in range(200): queue.start_async(ramp(1, 3, 4), i)
requests = [compiled.create_infer_request() for _ in range(4)]
for request in requests:
    request.set_callback(lambda data: None)
    request.start_async(ramp(1, 3, 4))
""")


def test_exit_while_a_thread_infers(python):
    python(START + """
import threading
def forever():
    request = compiled.create_infer_request()
    while True: request.infer(ramp(1, 3, 4))
for _ in range(2): threading.Thread(target=forever, daemon=True).start()
import time; time.sleep(0.3)
""", leaks=True)  # What the threads hold.


def test_exit_with_pipelines_of_python_elements(python):
    source = """
import numpy as np
class Pictures(tn.Source):
    "Pictures of a generator."
    def frames(self):
        for _ in range(30): yield np.zeros((48, 64, 3), np.uint8)
class Keeps(tn.Transform):
    "Holds a generator."
    def __init__(self): self.kept = iter(x for x in [1]); next(self.kept)
    def process(self, frame): return frame
    def __del__(self): self.kept.close()
pipeline = tn.Pipeline().add(Pictures).add(Keeps)
"""
    for end in ("pipeline.add('null').run()", "pipeline.add('null').start()", "iterator = iter(pipeline); next(iterator)"):
        python(START + source + end, leaks=True)


@pytest.mark.parametrize("use", ["for _ in tn.Pipeline().add(Pictures): pass", "tn.Pipeline().add(Pictures).add('null').run()",
                                 "while True: tn.Pipeline().add(Pictures).add('null').start().stats", "while True: next(iter(tn.Pipeline().add(Pictures)))"])
def test_exit_while_a_thread_uses_a_pipeline(python, use):
    """As threads of cameras do, which end with the program alone."""
    python(START + PICTURES + f"""
def use():
    {use}
for _ in range(2): threading.Thread(target=use, daemon=True).start()
time.sleep(0.3)
""", leaks=True)  # What the threads hold.


def test_objects_that_go_in_their_own_callback(python):
    """The last reference to a request, a queue or a pipeline may be dropped where its own thread is: it ends when that has returned."""
    assert python(START + PICTURES + """
import gc
over = threading.Event()
def drop(*given):
    global kept
    if "kept" in globals():
        del kept
        gc.collect()
        over.set()
def shown(name):
    print(name, over.wait(20), flush=True)
    over.clear()
kept = compiled.create_infer_request()
kept.set_callback(drop)
kept.start_async(ramp(1, 3, 4))
shown("request")
kept = tn.AsyncInferQueue(compiled, 2)
kept.set_callback(drop)
kept.start_async(ramp(1, 3, 4))
shown("queue")
kept = tn.Pipeline().add(Pictures).add(drop).add("null").start()
shown("pipeline")
kept = tn.Pipeline().add(Pictures).add(drop)
next(iter(kept))
shown("pipeline that gives frames")
""", leaks=True) == "request True\nqueue True\npipeline True\npipeline that gives frames True\n"


def test_a_model_goes_while_its_device_calls_python(python):
    """AUTO compiles for a device beside the program, and ends behind that; its cache calls functions of Python's."""
    assert python(START + """
import glob, os, tempfile, threading, time
inside = threading.Event()
def crypt(data):
    inside.set()
    time.sleep(0.2)
    return data
folders = os.environ.get("TENON_DEVICE_PATH", os.path.join(os.path.dirname(tn.__file__), "lib")).split(os.pathsep)
cpu = next(path for folder in folders for path in glob.glob(os.path.join(folder, "libtenon_device_cpu.so")))
core = tn.Core()
core.register_plugin(cpu, "OTHER")
with tempfile.TemporaryDirectory() as folder:
    core.set_property({"CACHE_DIR": folder, "CACHE_ENCRYPTION_CALLBACKS": (crypt, crypt)})
    for size in range(1, 4):
        inside.clear()
        late = core.compile_model(relu_model((size, 4)), "AUTO:OTHER,CPU")
        print(inside.wait(30))
        del late
""", leaks=True) == "True\nTrue\nTrue\n"


def test_a_queue_that_could_not_be_made_leaves_nothing(python):
    python(START + """
import signal, threading
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
import os
try: tn.AsyncInferQueue(compiled, 10**9)
except (KeyboardInterrupt, MemoryError): print("ended")
import gc
gc.collect()
""")


def test_shared_memory_outlives_its_module(python):
    python(START + """
keep = []
request = compiled.create_infer_request()
request.set_tensor("x", tn.Tensor(ramp(1, 3, 4), shared_memory=True))
keep.append(request)
sys.modules["kept"] = keep
del request, compiled
""")


def test_a_forked_child_is_told(python):
    out = python(START + """
import os
pid = os.fork()
if pid == 0:
    try:
        compiled(ramp(1, 3, 4))
    except tn.errors.FailedPrecondition as error:
        os._exit(0 if "fork" in str(error) else 2)
    os._exit(1)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), compiled(ramp(1, 3, 4))[0].max())
""")
    assert out == "0 8.0\n"


def test_a_forked_child_ends_with_what_its_parent_uses(python):
    """Its threads do not live there: nothing waits for them, and what is asked of them is refused."""
    assert python(START + """
import gc, os, threading
class Pictures(tn.Source):
    "Pictures without an end."
    def frames(self):
        while True: yield numpy.zeros((8, 8, 3), numpy.uint8)
block, inside = threading.Event(), threading.Event()
def wait(*_):
    inside.set()
    block.wait(60)
request, queue, video = compiled.create_infer_request(), tn.AsyncInferQueue(compiled, 2), tn.Pipeline().add(Pictures)
frames = iter(video)
next(frames)
queue.set_callback(wait)
queue.start_async(ramp(1, 3, 4))
inside.wait(60)
request.start_async(ramp(1, 3, 4))  # Behind the queue's.
pid = os.fork()
if pid == 0:
    refused = 0
    for call in (request.wait, lambda: request.wait_for(1), queue.wait_all, lambda: queue.start_async(ramp(1, 3, 4)), video.wait):
        try: call()
        except tn.errors.FailedPrecondition as error: refused += "fork" in str(error)
    if refused != 5: os._exit(refused)
    video.stop()
    del request, queue, frames, video, compiled
    gc.collect()
    sys.exit(7)  # As programs end, not as os._exit() does.
code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
block.set()
request.wait()
queue.wait_all()
video.stop()
print(code)
""", leaks=True) == "7\n"


def test_a_fork_before_the_first_core_is_fine(python):
    assert python("""
import os, sys
sys.path.insert(0, %r)
import tenon as tn
from conftest import *
pid = os.fork()
if pid == 0:
    os._exit(0 if tn.compile_model(relu_model(), "CPU")(ramp(1, 3, 4))[0].max() == 8 else 1)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
""" % os.path.dirname(os.path.abspath(__file__))) == "0\n"


def test_control_c_ends_a_wait(python):
    assert python(START + """
import os, signal, threading, time
queue = tn.AsyncInferQueue(compiled, 1)
block = threading.Event()
queue.set_callback(lambda *_: block.wait(20))
queue.start_async(ramp(1, 3, 4))
timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
begin = time.time()
try:
    timer.start()  # Here, since on a busy machine the signal may come before the wait.
    queue.wait_all()
except KeyboardInterrupt:
    print("interrupted", time.time() - begin < 15)
block.set()
""") == "interrupted True\n"


def test_import_is_quick_and_light(python):
    out = python("""
import sys, time
begin = time.process_time()
import tenon
print(round((time.process_time() - begin) * 1000), "numpy" in sys.modules)
""")
    milliseconds, has_numpy = out.split()
    assert has_numpy == "False"
    assert int(milliseconds) < 1000  # Processor time, with a bound for slow machines; the figure is in docs/benchmarks.md.


def test_subinterpreters_are_refused(python):
    """Both those with a lock of their own and those that share the lock of the process."""
    tries = "try:\\n  import tenon\\nexcept ImportError as error: print('refused', error)\\nelse: print('let in')"
    out = python(f"""
import tenon
try: import _interpreters
except ImportError: pass
else:
    for kind in ("isolated", "legacy"):
        one = _interpreters.create(kind)
        failed = _interpreters.exec(one, "{tries}")
        if failed is not None: print("failed", failed)
        _interpreters.destroy(one)
try: import _testcapi
except ImportError: pass
else: _testcapi.run_in_subinterp("{tries}")
print("alive", tuple(tenon.Tensor("f32", [2]).shape))
""")
    lines = out.splitlines()
    assert lines.pop() == "alive (2,)"
    assert all(line.startswith("refused") and "interpreter" in line for line in lines), lines
    if not lines:
        pytest.skip("this Python has neither _interpreters nor _testcapi")
