# SPDX-License-Identifier: Apache-2.0
"""Type stubs of the native module: stubs.py PACKAGE OUT

OUT becomes the folder of stubs _native, with a file for each of the module's own modules. PACKAGE is the folder of the built package tenon. Python functions that the package gives to native classes are described among these
classes' own.
"""
import builtins
import importlib
import inspect
import pathlib
import re
import sys
import types

from nanobind.stubgen import StubGen


def qualified(annotation, function):
    """The text of an annotation with full names of types, as the function's own file knows them."""

    def full(match):
        value = None
        for part in match.group(0).split("."):
            value = getattr(value, part, None) if value is not None else function.__globals__.get(part, getattr(builtins, part, None))
        if inspect.ismodule(value) or value is None or not hasattr(value, "__module__"):
            return match.group(0)
        name = getattr(value, "__qualname__", None) or getattr(value, "_name", None) or match.group(0)
        return name if value.__module__ == "builtins" else f"{value.__module__}.{name}"

    return re.sub(r"[A-Za-z_][\w.]*", full, annotation) if isinstance(annotation, str) else annotation


def own(function, name, kind, module):
    """A copy of a function that counts as the class's method."""
    copy = types.FunctionType(function.__code__, function.__globals__, name, function.__defaults__, function.__closure__)
    annotations = {key: qualified(value, function) for key, value in function.__annotations__.items()}
    if inspect.iscoroutinefunction(function):
        annotations["return"] = f"collections.abc.Coroutine[typing.Any, typing.Any, {annotations.get('return', 'None')}]"
    copy.__kwdefaults__, copy.__annotations__, copy.__doc__ = function.__kwdefaults__, annotations, function.__doc__
    copy.__module__, copy.__qualname__ = module.__name__, f"{kind.__qualname__}.{name}"
    return copy


def adopt(module):
    """Functions of the package that are methods or properties of native classes count as the classes' own."""
    for kind in vars(module).values():
        for name, value in list(vars(kind).items()) if inspect.isclass(kind) else []:
            if isinstance(value, types.FunctionType):
                setattr(kind, name, own(value, name, kind, module))
            elif isinstance(value, property) and isinstance(value.fget, types.FunctionType):
                setter = own(value.fset, name, kind, module) if isinstance(value.fset, types.FunctionType) else value.fset
                setattr(kind, name, property(own(value.fget, name, kind, module), setter, doc=value.__doc__))


# What functions return that C++ declares as any object, by the name of the function. Others may return anything.
ARRAY = "_Array[typing.Any]"  # Classes have members numpy.
RETURNS = {
    **dict.fromkeys(("data", "bytes_data", "str_data", "numpy", "__array__"), ARRAY), "to_dtype": "_DType[typing.Any]",
    **dict.fromkeys(("infer", "results"), "tenon._results.OVDict"),
    **dict.fromkeys(("get_tensor", "get_input_tensor", "get_output_tensor", "create_host_tensor", "state"), "Tensor"),
    **dict.fromkeys(("real_time", "cpu_time", "start_time"), "datetime.timedelta"),
}
HEAD = "import datetime\nimport typing\n\nfrom numpy import dtype as _DType\nfrom numpy.typing import NDArray as _Array\n\nimport tenon._results\nimport tenon._shape\n"


def text_of(module):
    """The stub of one module."""
    stub = StubGen(module, quiet=True)
    stub.put(module)
    lines = []
    for line in stub.get().splitlines():
        if line.endswith(("-> object:", "-> object: ...")):
            name = re.search(r"def (\w+)", line)[1]
            line = line.replace("-> object:", f"-> {RETURNS.get(name, 'typing.Any')}:")
        lines.append(line.replace("-> Sequence[int]:", "-> tenon._shape.Shape:"))  # Shapes come in as any list of int.
    docstring, _, rest = "\n".join(lines).partition("\n\n")
    return f"{docstring}\n\n{HEAD}{rest}\n" if module.__doc__ else f"{HEAD}{docstring}\n\n{rest}\n"


def main():
    package, out = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    sys.path.insert(0, str(package.parent))
    sys.dont_write_bytecode = True
    module = importlib.import_module("tenon._native")
    adopt(module)
    out.mkdir(parents=True, exist_ok=True)
    (out / "__init__.pyi").write_text(text_of(module))
    for name, value in vars(module).items():
        if inspect.ismodule(value):
            (out / f"{name}.pyi").write_text(text_of(value))


if __name__ == "__main__":
    main()
