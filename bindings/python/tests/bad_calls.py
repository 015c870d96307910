# SPDX-License-Identifier: Apache-2.0
"""Calls public functions and members with wrong arguments: bad_calls.py functions|members|keywords CLIP FOLDER. It writes into
the folder; without FFmpeg the clip is empty.

Prints each error that does not name what was wrong, and the number of calls; ends with 1 where there was such an error. The last line on the standard
error output is the name of the function that was called last, also where the process died of it. What keywords a native class or
function has is read from its stub.
"""
import ast
import faulthandler
import gc
import inspect
import itertools
import os
import pathlib
import sys

import numpy

import tenon as tn
from conftest import relu_model, two_inputs_model


class Angry:
    """Raises wherever it is asked."""

    def __getattr__(self, name):
        raise AttributeError(name)

    def __len__(self):
        raise ZeroDivisionError

    def __iter__(self):
        raise ZeroDivisionError

    def __index__(self):
        raise ZeroDivisionError

    def __str__(self):
        raise ZeroDivisionError

    __repr__ = __fspath__ = __str__

    def __eq__(self, other):
        raise ZeroDivisionError

    __hash__ = None

    def __dlpack__(self, **_):
        return 5

    def __dlpack_device__(self):
        return (1, 0)


def released():
    """Memory that its owner took back."""
    view = memoryview(bytearray(64))
    view.release()
    return view


def profiled():
    """What a request took."""
    request = tn.compile_model(relu_model(), "CPU", {"PERF_COUNT": True}).create_infer_request()
    request.infer(numpy.zeros((1, 3, 4), numpy.float32))
    return request.profiling_info[0]


def looped():
    """A loop without a body."""
    return tn._native.loop(tn.Constant("i64", [], [3]), tn.Constant("boolean", [], [True]))


WRONG = [None, object(), 5, -1, 2**70, 1e308, float("nan"), "", "nowhere", "\0", "\ud800", b"", b"\xff\xff", [], [None], [-1], [2**62, 2**62], {}, {"x": None}, {1: 2}, (), (1, 2, 3), True,
         numpy.zeros((2, 3), numpy.complex64), numpy.zeros((0,), numpy.float32), numpy.array(["a"]), numpy.zeros(3, ">f4"), numpy.zeros(3)[::-1], lambda *_: 1 / 0, type, Angry(), Angry,
         released(), tn.Tensor(), tn.Tensor("f32", [2]), tn.PartialShape("[?,3..]"), tn.Type.string, tn.Frame(numpy.zeros((2, 2), numpy.uint8))]
native = tn._native
STUBS = pathlib.Path(native.__file__).resolve().parent / "_native"
OBJECTS = {
    "Tensor": lambda: tn.Tensor(numpy.zeros((2, 3), numpy.float32)),
    "Tensor()": tn.Tensor,
    "Frame": lambda: tn.Frame(numpy.zeros((4, 6, 3), numpy.uint8)),
    "Model": relu_model,
    "CompiledModel": lambda: tn.compile_model(relu_model(), "CPU"),
    "InferRequest": lambda: tn.compile_model(two_inputs_model(), "CPU").create_infer_request(),
    "AsyncInferQueue": lambda: tn.AsyncInferQueue(tn.compile_model(relu_model(), "CPU"), 1),
    "Core": tn.Core,
    "PartialShape": lambda: tn.PartialShape([1, -1]),
    "Dimension": lambda: tn.Dimension(3),
    "Layout": lambda: tn.Layout("NCHW"),
    "Type": lambda: tn.Type.f32,
    "Ledger": tn.Ledger.process,
    "Router": lambda: tn.Core().router,
    "Node": lambda: relu_model().get_ordered_ops()[1],
    "Parameter": lambda: tn.Parameter("f32", [1]),
    "Result": lambda: relu_model().get_results()[0],
    "Constant": lambda: tn.Constant("f32", [1], [1.0]),
    "Input": lambda: relu_model().get_ordered_ops()[1].input(0),
    "Output": lambda: relu_model().output(0),
    "ConstOutput": lambda: tn.compile_model(relu_model(), "CPU").output(0),
    "ProfilingInfo": profiled,
    "PrePostProcessor": lambda: tn.preprocess.PrePostProcessor(relu_model()),
    "InputInfo": lambda: tn.preprocess.PrePostProcessor(relu_model()).input(),
    "InputTensorInfo": lambda: tn.preprocess.PrePostProcessor(relu_model()).input().tensor(),
    "InputModelInfo": lambda: tn.preprocess.PrePostProcessor(relu_model()).input().model(),
    "PreProcessSteps": lambda: tn.preprocess.PrePostProcessor(relu_model()).input().preprocess(),
    "OutputInfo": lambda: tn.preprocess.PrePostProcessor(relu_model()).output(),
    "OutputTensorInfo": lambda: tn.preprocess.PrePostProcessor(relu_model()).output().tensor(),
    "OutputModelInfo": lambda: tn.preprocess.PrePostProcessor(relu_model()).output().model(),
    "PostProcessSteps": lambda: tn.preprocess.PrePostProcessor(relu_model()).output().postprocess(),
    "if_op": lambda: native.if_op(tn.Constant("boolean", [], [True])),
    "loop": looped,
    "tensor_iterator": native.tensor_iterator,
    "SliceInputDescription": lambda: native.SliceInputDescription(0, 0, 0, 1, 1, -1, 0),
    "MergedInputDescription": lambda: native.MergedInputDescription(0, 0, 0),
    "InvariantInputDescription": lambda: native.InvariantInputDescription(0, 0),
    "BodyOutputDescription": lambda: native.BodyOutputDescription(0, 0),
    "ConcatOutputDescription": lambda: native.ConcatOutputDescription(0, 0, 0, 1, 1, -1, 0),
    "Pipeline": tn.Pipeline,
    "Video": lambda: tn.open(sys.argv[2]),
    "Detections": lambda: tn.Frame(numpy.zeros((4, 6), numpy.uint8)).detections,
    "Version": lambda: next(iter(tn.Core().get_versions("CPU").values())),
}
# Right arguments, so that the wrong one beside them is looked at.
RIGHT = {
    "Frame": lambda: {"array": numpy.zeros((4, 6, 3), numpy.uint8)},
    "Frame.crop": lambda: {"x": 0, "y": 0, "width": 2, "height": 2},
    "Frame.add_detection": lambda: {"box": (0, 0, 1, 1)},
    "Frame.add_classification": lambda: {"label": "cat"},
    "Tensor": lambda: {"array": numpy.zeros((2, 3), numpy.float32)},
    "Constant": lambda: {"type": "f32", "shape": [2], "values": [1.0, 2.0]},
    "Parameter": lambda: {"element_type": "f32", "shape": [2]},
    "AsyncInferQueue": lambda: {"model": tn.compile_model(relu_model(), "CPU")},
    "InferRequest.infer": lambda: {"inputs": [numpy.zeros((2, 3), numpy.float32)] * 2},
    "Core.compile_model": lambda: {"model": relu_model()},
    "Core.query_model": lambda: {"model": relu_model(), "device_name": "CPU"},
    "Core.import_model": lambda: {"model_stream": b"", "device_name": "CPU"},
    "Core.set_property": lambda: {"properties": {}},
    "Core.get_property": lambda: {"device_name": "CPU", "property": "FULL_DEVICE_NAME"},
    "map": lambda: {"x": numpy.zeros(3, numpy.float32), "to": "cpu"},
    "explain": lambda: {"x": numpy.zeros(3, numpy.float32), "to": "cpu"},
    "make_node": lambda: {"type": "Relu", "inputs": [tn.Parameter("f32", [1])]},
    "Model": lambda: {"results": [tn.make_node("Relu", [tn.Parameter("f32", [1])])], "parameters": []},
    "compile_model": lambda: {"model": relu_model(), "device_name": "CPU"},
    "save_model": lambda: {"model": relu_model(), "output_model": "saved.xml"},
    "serialize": lambda: {"model": relu_model(), "xml_path": "saved.xml"},
    "open": lambda: {"uri": sys.argv[2]},
    "loop.set_sliced_input": lambda: {"parameter": tn.Parameter("f32", [1]), "value": tn.Parameter("f32", [1]).output(0)},
}
# Classes of the stub that have no object here, and why.
NOT_MADE = {
    "InputDescription": "its kinds are made", "OutputDescription": "its kinds are made", "_Running": "tenon.Pipeline makes it", "_Extent": "tenon.PartialShape makes it",
    "RemoteContext": "a device has it", "RemoteTensor": "a device has it", "DescriptorTensor": "a port of a node has it",
    "VariableState": "a request of a model with states has it", "Symbol": "dimensions have it",
}
if not sys.argv[2]:
    del OBJECTS["Video"]  # FFmpeg's elements do not work here.
SKIPPED = {"reset"}  # The process's ledger has it, and others read that.
CALLED = ("__call__", "__getitem__", "__setitem__", "__eq__", "__array__", "__dlpack__")
# Errors that say nothing of what was wrong, or blame Tenon itself.
UNNAMED = ("std::", "bad_cast", "basic_string", "vector::", "bad optional", "nanobind::", "map::at")

calls = failures = 0
last = ""


def attempt(name, function, /, *arguments, **named):
    """Calls, and counts errors that do not say what was wrong."""
    global calls, failures, last
    calls += 1
    if name != last:
        print(name, file=sys.stderr, flush=True)
    last = name
    try:
        result = function(*arguments, **named)
        if inspect.iscoroutine(result) or inspect.isgenerator(result):
            result.close()
    except Exception as error:  # pylint: disable=broad-except
        try:
            text = str(error)
        except ZeroDivisionError:
            text = ""
        if any(word in text for word in UNNAMED) or isinstance(error, (SystemError, tn.errors.Internal, getattr(tn.errors, "Unknown", SystemError))):
            failures += 1
            print(f"{name}({', '.join(type(each).__name__ for each in arguments)}, {', '.join(named)}): {type(error).__name__}: {text[:200]}")


def all_of(name, function, takes):
    """Calls with none, one, two and three wrong arguments."""
    attempt(name, function)
    for wrong in WRONG:
        attempt(name, function, wrong)
    if takes >= 2:
        for first, second in itertools.product(WRONG[:8] + WRONG[-8:], WRONG):
            attempt(name, function, first, second)
    if takes >= 3:
        for wrong in WRONG:
            attempt(name, function, "f32", wrong, wrong)
            attempt(name, function, wrong, [1, 2], wrong)


def made(name):
    """The object of that name."""
    try:
        return OBJECTS[name]()
    except Exception as error:
        raise SystemExit(f"{name} cannot be made: {error}") from error


def bound(name, kept, member):
    """A member of an object; a new object for each call where one call would change what the next sees."""
    return lambda *arguments, **named: getattr(OBJECTS[name]() if member in ("set_shape", "release_memory", "clear") else kept, member)(*arguments, **named)


def members(name):
    """All members of an object, by position, and its properties."""
    kept = made(name)
    for member in sorted(each for each in dir(kept) if each not in SKIPPED and (not each.startswith("_") or each in CALLED)):
        try:
            value = getattr(kept, member)
        except Exception:  # pylint: disable=broad-except
            continue
        if callable(value) and not isinstance(value, type):
            all_of(f"{name}.{member}", bound(name, kept, member), 2 if name in ("Tensor", "InferRequest", "PreProcessSteps") else 1)
        else:
            for wrong in WRONG:
                attempt(f"{name}.{member} =", setattr, kept, member, wrong)
            try:
                kept = OBJECTS[name]()
            except Exception:  # pylint: disable=broad-except
                pass


def functions():
    """All functions and classes of the package, by position."""
    for name in tn.__all__:
        value = getattr(tn, name)
        if callable(value):
            all_of(name, value, 3 if name in ("Tensor", "map", "explain", "make_node", "Constant") else 2)
    for place in (tn.layout_helpers, tn.preprocess):
        for name, value in vars(place).items():
            if callable(value) and not name.startswith("_"):
                all_of(name, value, 1)
    for device in ("", "NOTHING", "CPU.7", "CPU,", "HETERO:", "HETERO:NOTHING", "AUTO:", "MULTI:CPU,CPU,", "GPU.99", "BATCH:", ":", "\0"):
        attempt(device, tn.compile_model, relu_model(), device)
        attempt(device, tn.core().get_property, device, "FULL_DEVICE_NAME")
        attempt(device, tn.core().query_model, relu_model(), device)


def keywords_in(body):
    """The functions in a piece of a stub: for each name a list of parameters' names for each overload."""
    found = {}
    for each in body:
        if isinstance(each, ast.FunctionDef) and not any("property" in ast.unparse(one) or "setter" in ast.unparse(one) for one in each.decorator_list):
            found.setdefault(each.name, []).append([one.arg for one in (*each.args.args, *each.args.kwonlyargs) if one.arg != "self"])
    return found


def with_keywords(name, function, overloads):
    """Each keyword beside right ones, and all of them with neighbours in the list of wrong values."""
    right = RIGHT.get(name, dict)()
    fitting = [names for names in overloads if set(right) <= set(names)]
    if overloads and not fitting:
        raise SystemExit(f"{name} has no keywords {', '.join(right)}; it has {overloads}")
    for wrong in WRONG:
        for keyword in dict.fromkeys(itertools.chain(*fitting)):
            attempt(name, function, **{**right, keyword: wrong})
    for names in overloads:
        for first in range(len(WRONG)):
            for step in (0, 1, 7):
                attempt(name, function, **{keyword: WRONG[(first + step * place) % len(WRONG)] for place, keyword in enumerate(names)})


def keywords():
    """All that the stubs describe, by keywords; and whether there is an object of each class."""
    classes = set()
    for path in sorted(STUBS.glob("*.pyi")):
        module = native if path.stem == "__init__" else getattr(native, path.stem)
        tree = ast.parse(path.read_text(encoding="utf-8")).body
        for name, overloads in keywords_in(tree).items():
            if not name.startswith("_"):
                with_keywords(name, getattr(module, name), overloads)
        for kind in (each for each in tree if isinstance(each, ast.ClassDef)):
            classes.add(kind.name)
            found = keywords_in(kind.body)
            with_keywords(kind.name, getattr(module, kind.name), found.get("__init__", []))
            if kind.name in OBJECTS:
                kept = made(kind.name)
                for member, overloads in found.items():
                    if member not in SKIPPED and (not member.startswith("_") or member in CALLED):
                        with_keywords(f"{kind.name}.{member}", bound(kind.name, kept, member), overloads)
    enumerations = {each for each in classes if hasattr(getattr(native, each, getattr(native.preprocess, each, None)), "__members__")}
    missing = classes - set(OBJECTS) - set(NOT_MADE) - enumerations
    if missing:
        raise SystemExit(f"no object of {', '.join(sorted(missing))}: add it to OBJECTS")
    for name in ("compile_model", "read_model", "save_model", "serialize", "open", "ledger", "Pipeline", "Detection", "Detections"):
        value = getattr(tn, name)
        with_keywords(name, value, [[each.name for each in inspect.signature(value).parameters.values() if each.kind not in (each.VAR_KEYWORD, each.POSITIONAL_ONLY)]])


def main():
    """Does what the command line asks for."""
    os.chdir(sys.argv[3])
    faulthandler.enable()
    faulthandler.dump_traceback_later(280, exit=True)
    if sys.argv[1] == "members":
        for name in OBJECTS:
            members(name)
    else:
        {"functions": functions, "keywords": keywords}[sys.argv[1]]()
    gc.collect()
    print(f"{calls} calls")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
