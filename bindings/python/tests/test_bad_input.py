# SPDX-License-Identifier: Apache-2.0
"""Every public function and member, with arguments of wrong types, values, devices and numbers: a Python exception, never a crash, a hang or an
error without a name. In an interpreter of its own, whose death would name the call. ./dev check python runs it under the address sanitizer."""
import os

import pytest

CALLS = """
import faulthandler, gc, inspect, itertools, os, sys, types
faulthandler.enable()
faulthandler.dump_traceback_later(240, exit=True)
sys.path.insert(0, {folder!r})
import numpy
import tenon as tn
from conftest import relu_model, two_inputs_model

class Angry:
    "Raises wherever it is asked."
    def __getattr__(self, name): raise AttributeError(name)
    def __len__(self): raise ZeroDivisionError
    def __iter__(self): raise ZeroDivisionError
    def __index__(self): raise ZeroDivisionError
    def __str__(self): raise ZeroDivisionError
    __repr__ = __fspath__ = __str__
    def __eq__(self, other): raise ZeroDivisionError
    __hash__ = None
    def __dlpack__(self, **_): return 5
    def __dlpack_device__(self): return (1, 0)

WRONG = [None, object(), 5, -1, 2**70, 1e308, float("nan"), "", "nowhere", "\\0", "\\ud800", b"", b"\\xff\\xff", [], [None], [-1], [2**62, 2**62], {{}}, {{"x": None}}, {{1: 2}}, (), (1, 2, 3), True,
         numpy.zeros((2, 3), numpy.complex64), numpy.zeros((0,), numpy.float32), numpy.array(["a"]), numpy.zeros(3, ">f4"), numpy.zeros(3)[::-1], lambda *_: 1 / 0, type, Angry(), Angry,
         tn.Tensor(), tn.Tensor("f32", [2]), tn.PartialShape("[?,3..]"), tn.Type.string, tn.Frame(numpy.zeros((2, 2), numpy.uint8))]
OBJECTS = {{
    "Tensor": lambda: tn.Tensor(numpy.zeros((2, 3), numpy.float32)),
    "Tensor()": tn.Tensor,
    "Frame": lambda: tn.Frame(numpy.zeros((4, 6, 3), numpy.uint8)),
    "Model": lambda: relu_model(),
    "CompiledModel": lambda: tn.compile_model(relu_model(), "CPU"),
    "InferRequest": lambda: tn.compile_model(two_inputs_model(), "CPU").create_infer_request(),
    "AsyncInferQueue": lambda: tn.AsyncInferQueue(tn.compile_model(relu_model(), "CPU"), 1),
    "Core": tn.Core,
    "PartialShape": lambda: tn.PartialShape([1, -1]),
    "Dimension": lambda: tn.Dimension(3),
    "Layout": lambda: tn.Layout("NCHW"),
    "Type": lambda: tn.Type.f32,
    "Ledger": lambda: tn.Ledger.process(),
    "Router": lambda: tn.Core().router,
    "Node": lambda: relu_model().get_ordered_ops()[1],
    "Parameter": lambda: tn.Parameter("f32", [1]),
    "Constant": lambda: tn.Constant("f32", [1], [1.0]),
    "Output": lambda: relu_model().output(0),
    "PrePostProcessor": lambda: tn.preprocess.PrePostProcessor(relu_model()),
    "InputInfo": lambda: tn.preprocess.PrePostProcessor(relu_model()).input(),
    "PreProcessSteps": lambda: tn.preprocess.PrePostProcessor(relu_model()).input().preprocess(),
    "InputTensorInfo": lambda: tn.preprocess.PrePostProcessor(relu_model()).input().tensor(),
    "Pipeline": tn.Pipeline,
    "Video": lambda: tn.open({clip!r}),
    "Detections": lambda: tn.Frame(numpy.zeros((4, 6), numpy.uint8)).detections,
    "Version": lambda: next(iter(tn.Core().get_versions("CPU").values())),
}}
if "elements ffmpeg" in tn.absent(): del OBJECTS["Video"]
SKIPPED = {{"reset"}}  # The process's ledger has it, and others read that.
# Errors that say nothing of what was wrong, or blame Tenon itself.
UNNAMED = ("std::", "bad_cast", "basic_string", "vector::", "bad optional", "nanobind::", "map::at")

calls = failures = 0
last = [None]

def attempt(name, function, *arguments, **named):
    global calls, failures
    calls += 1
    if name != last[0]: print(name, file=sys.stderr, flush=True)  # The last line of a process that died.
    last[0] = name
    try:
        result = function(*arguments, **named)
        if inspect.iscoroutine(result) or inspect.isgenerator(result): result.close()
    except Exception as error:
        try: text = str(error)
        except ZeroDivisionError: text = ""
        if any(word in text for word in UNNAMED) or isinstance(error, (SystemError, tn.errors.Internal, tn.errors.Unknown if hasattr(tn.errors, "Unknown") else SystemError)):
            failures += 1
            print(f"{{name}}({{', '.join(type(each).__name__ for each in arguments)}}, {{named}}): {{type(error).__name__}}: {{text[:200]}}")

def all_of(name, function, takes):
    attempt(name, function)
    for wrong in WRONG: attempt(name, function, wrong)
    if takes >= 2:
        for first, second in itertools.product(WRONG[:8] + WRONG[-8:], WRONG): attempt(name, function, first, second)
    if takes >= 3:
        for wrong in WRONG:
            attempt(name, function, "f32", wrong, wrong)
            attempt(name, function, wrong, [1, 2], wrong)

def members(name, make):
    try: kept = make()
    except Exception as error: raise SystemExit(f"{{name}} cannot be made: {{error}}")
    for member in sorted(each for each in dir(kept) if each not in SKIPPED and (not each.startswith("_") or each in ("__call__", "__getitem__", "__setitem__", "__eq__", "__array__", "__dlpack__"))):
        try: value = getattr(kept, member)
        except Exception: continue
        if callable(value) and not isinstance(value, type):
            bound = lambda *arguments, member=member: getattr(make() if member in ("set_shape", "release_memory", "clear") else kept, member)(*arguments)
            all_of(f"{{name}}.{{member}}", bound, 2 if name in ("Tensor", "InferRequest", "PreProcessSteps") else 1)
        else:
            for wrong in WRONG: attempt(f"{{name}}.{{member}} =", setattr, kept, member, wrong)
            try: kept = make()
            except Exception: pass

os.chdir({work!r})
if {functions}:
    for name in tn.__all__:
        value = getattr(tn, name)
        if callable(value): all_of(name, value, 3 if name in ("Tensor", "map", "explain", "make_node", "Constant") else 2)
    for place in (tn.layout_helpers, tn.preprocess):
        for name, value in vars(place).items():
            if callable(value) and not name.startswith("_"): all_of(name, value, 1)
    for wrong in WRONG: attempt("Frame", tn.Frame, numpy.zeros((2, 2), numpy.uint8), format=wrong), attempt("Frame", tn.Frame, numpy.zeros((2, 2), numpy.uint8), time=wrong)
    for device in ("", "NOTHING", "CPU.7", "CPU,", "HETERO:", "HETERO:NOTHING", "AUTO:", "MULTI:CPU,CPU,", "GPU.99", "BATCH:", ":", "\\0"):
        attempt(device, tn.compile_model, relu_model(), device), attempt(device, tn.core().get_property, device, "FULL_DEVICE_NAME"), attempt(device, tn.core().query_model, relu_model(), device)
else:
    for name, make in OBJECTS.items(): members(name, make)
gc.collect()
print(f"{{calls}} calls")
sys.exit(1 if failures else 0)
"""


@pytest.mark.parametrize("what", ["functions", "members"])
def test_wrong_arguments_raise(what, python, tmp_path, clip):
    code = CALLS.format(folder=os.path.dirname(os.path.abspath(__file__)), work=str(tmp_path), clip=str(clip), functions=what == "functions")
    out = python(code, timeout=300, leaks=True)
    assert int(out.split()[-2]) > 5000, out
