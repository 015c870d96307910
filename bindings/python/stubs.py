# SPDX-License-Identifier: Apache-2.0
"""Type stubs of the native module: stubs.py PACKAGE OUT

OUT becomes the folder of stubs _native, with a file for each of the module's own modules. PACKAGE is the folder of the built package tenon. Python functions that the package gives to native classes are described among these
classes' own.
"""
import importlib
import inspect
import pathlib
import re
import sys
import types

from nanobind.stubgen import StubGen


def adopt(module):
    """Functions of the package that are methods of native classes count as the classes' own."""
    for kind in vars(module).values():
        for name, function in list(vars(kind).items()) if inspect.isclass(kind) else []:
            if isinstance(function, types.FunctionType):
                result = function.__annotations__.get("return", "None")
                own = types.FunctionType(function.__code__, function.__globals__, name, function.__defaults__, function.__closure__)
                own.__kwdefaults__, own.__annotations__, own.__doc__ = function.__kwdefaults__, dict(function.__annotations__), function.__doc__
                if inspect.iscoroutinefunction(function):
                    own.__annotations__["return"] = f"collections.abc.Coroutine[Any, Any, {result}]"
                own.__module__, own.__qualname__ = module.__name__, f"{kind.__qualname__}.{name}"
                setattr(kind, name, own)


# The names that annotations of these functions use.
NAMES = {
    r"\b_native\.": "",
    r"\bOptional\[": "typing.Optional[", r"\bUnion\[": "typing.Union[", r"\bCallable\[": "collections.abc.Callable[",
    r"(?<![\w.])Any\b": "typing.Any", r"(?<![\w.])OVDict\b": "tenon._results.OVDict", r"(?<![\w.])np\.": "numpy.",
}
# What functions return that C++ declares as any object, by the name of the function. Others may return anything.
ARRAY = "numpy.typing.NDArray[typing.Any]"
RETURNS = {
    **dict.fromkeys(("data", "bytes_data", "str_data", "numpy", "__array__"), ARRAY), "to_dtype": "numpy.dtype[typing.Any]",
    **dict.fromkeys(("infer", "results"), "tenon._results.OVDict"),
    **dict.fromkeys(("get_tensor", "get_input_tensor", "get_output_tensor", "create_host_tensor", "state"), "Tensor"),
    **dict.fromkeys(("real_time", "cpu_time", "start_time"), "datetime.timedelta"),
}
HEAD = "import datetime\nimport collections.abc\nimport typing\n\nimport numpy\nimport numpy.typing\n\nimport tenon._results\n"


def text_of(module):
    """The stub of one module."""
    stub = StubGen(module, quiet=True)
    stub.put(module)
    lines = []
    for line in stub.get().splitlines():
        if line == "import _native":
            continue  # From the annotations, whose names are changed below.
        if re.match(r"\s*(def|@)", line) or "->" in line:
            for pattern, name in NAMES.items():
                line = re.sub(pattern, name, line)
        if line.endswith(("-> object:", "-> object: ...")):
            name = re.search(r"def (\w+)", line)[1]
            line = line.replace("-> object:", f"-> {RETURNS.get(name, 'typing.Any')}:")
        lines.append(line)
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
