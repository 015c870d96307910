# SPDX-License-Identifier: Apache-2.0
"""The operation sets as modules: functions that make nodes, from the table in _op_table and Tenon's table of operations."""

from __future__ import annotations

import ast
import inspect
import sys
from functools import lru_cache
from types import ModuleType
from typing import Any, Callable, Optional

import tenon as _tn
from tenon import _native

from ._op_table import TABLE

LAST = 17  # OpenVINO's newest set.
_PORTS = (_native.Node, _native.Output)


@lru_cache(None)
def forms() -> dict:
    """By name: [(first set, set of the operation, operation, arguments, order of inputs)], the oldest first."""
    found: dict = {}
    for line in TABLE.strip().splitlines():
        head, _, arguments = line.partition(" | ")
        name, versions, kind = head.split()
        first, _, version = versions.partition(":")
        arguments, _, order = arguments.partition(" @ ")
        found.setdefault(name, []).append((int(first), int(version or first), kind, arguments.split(), order.split()))
    return found


@lru_cache(None)
def operations() -> dict:
    """Rows of Tenon's table by operation, the oldest first: (set, fewest inputs, most, attributes)."""
    rows: dict = {}
    for kind, opset, fewest, most, attributes in sorted(_native._operations(), key=lambda row: row[:2]):
        rows.setdefault(kind, []).append((opset, fewest, most, attributes))
    return rows


def row_of(kind: str, version: int) -> Optional[tuple]:
    """The newest row of an operation in a set, or None."""
    rows = [row for row in operations().get(kind, ()) if row[0] <= version]
    return rows[-1] if rows else None


def constant(value: Any, dtype: Any = None, name: Optional[str] = None, *, shared_memory: bool = False) -> _native.Constant:
    """A Constant of an array, a Tensor, a scalar or a list; `dtype` converts."""
    import numpy

    if isinstance(value, _native.Tensor):
        made = _native.Constant(value, shared_memory)
    elif dtype is None:
        array = numpy.asarray(value)
        made = _native.Constant(array if array.size or isinstance(value, numpy.ndarray) else array.astype(numpy.int64), shared_memory)
    else:
        kind = _native.Type(dtype)
        array = numpy.asarray(value)
        if kind.bitwidth < 8 or kind == _native.Type.string:
            made = _native.Constant(kind, list(array.shape), array.ravel().tolist())
        else:
            made = _native.Constant(array.astype(kind.to_dtype(), copy=False), shared_memory)
    if name is not None:
        made.friendly_name = name
    return made


def as_node(input_value: Any, name: Optional[str] = None, like: Any = None) -> Any:
    """A node or port as it is, and anything else as a Constant; a number of Python's takes the type of `like`."""
    value = input_value
    if isinstance(value, _PORTS):
        return value
    if like is not None and isinstance(value, (int, float)) and not isinstance(value, bool):
        kind = like.get_element_type()
        if not kind.is_dynamic() and (isinstance(value, int) or kind.is_real()):
            return _native.Constant(kind, [], [value])
    return constant(value, None, name)


def _text(value: Any, allowed: list) -> str:
    text = str(getattr(value, "name", value))
    return text.lower() if text.lower() in allowed else text


_CONVERT: dict[str, Callable] = {
    "boolean": bool, "integer": int, "number": float, "element type": _native.Type, "shape": _native.PartialShape,
    "list of integers": lambda value: [int(each) for each in value], "list of numbers": lambda value: [float(each) for each in value],
    "list of texts": lambda value: [str(each).lower() for each in value],
}


def _attributes(kind: str, row: tuple, given: dict) -> dict:
    made = {}
    for name, (value, default) in given.items():
        spec = row[3].get(name)
        if spec is None:
            if value is None or value == default:
                continue
            raise NotImplementedError(f"{kind}: Tenon's operation has no attribute {name!r}; it has {sorted(row[3])}")
        sort, required, _, allowed = spec
        if value is None:
            continue
        try:
            made[name] = _text(value, allowed) if sort == "text" else _CONVERT[sort](value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{kind}: attribute {name!r} takes a value of kind {sort}, not {value!r}") from error
    return made


def _fill_spatial(kind: str, row: tuple, attributes: dict, inputs: list) -> None:
    """Lists per spatial axis that were left out: zeros for padding, ones else."""
    for name, (sort, required, _, _) in row[3].items():
        if required and sort == "list of integers" and name not in attributes:
            rank = inputs[0].get_output_partial_shape(0) if isinstance(inputs[0], _native.Node) else inputs[0].get_partial_shape()
            attributes[name] = [0 if "pad" in name else 1] * (len(rank) - 2)


def make(kind: str, version: int, inputs: list, given: dict, name: Optional[str] = None) -> _native.Node:
    """A node of Tenon's table; `given`: values and defaults of attributes by their names there."""
    row = row_of(kind, version)
    if row is None:
        raise NotImplementedError(f"Tenon has no operation {kind} of opset{version}")
    attributes = _attributes(kind, row, given)
    _fill_spatial(kind, row, attributes, inputs)
    return _native.make_node(kind, inputs, attributes, f"opset{version}", name or "")


def _signature(arguments: list) -> inspect.Signature:
    parameters = []
    for word in arguments:
        left, _, default = word.partition("=")
        name = left.lstrip("*").partition(":")[0].replace("[]", "")
        parameters.append(inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=ast.literal_eval(default) if default else inspect.Parameter.empty))
    return inspect.Signature(parameters + [inspect.Parameter("name", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None)])


def _function(name: str, form: tuple) -> Callable:
    first, version, kind, arguments, order = form
    signature = _signature(arguments)
    inputs = order or [word.partition("=")[0].strip("*[]") for word in arguments if word.startswith("*")]
    lists = {word[1:-2] for word in arguments if word.startswith("*") and word.endswith("[]")}
    attributes = [(part[0], part[2] or part[0]) for part in (word.partition("=")[0].partition(":") for word in arguments if not word.startswith("*"))]
    is_binary = len(inputs) == 2 and any(argument == "auto_broadcast" for argument, _ in attributes)

    def function(*args: Any, **kwargs: Any) -> _native.Node:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = bound.arguments
        ports: list = []
        left_out = None
        like = next((values[each] for each in inputs if isinstance(values[each], _PORTS)), None) if is_binary else None
        for each in inputs:
            value = values[each]
            if value is None:
                left_out = left_out or each
            elif left_out:
                ports += _optional(name, kind, version, ports, left_out, each, value)
                left_out = None
            else:
                ports += [as_node(item) for item in value] if each in lists else [as_node(value, None, like)]
        given: dict = {}
        for argument, attribute in attributes:
            value, default = values[argument], signature.parameters[argument].default
            if attribute == "**":
                given.update({key: (item, None) for key, item in (value or {}).items()})
            else:
                given[attribute] = (value, default)
        return make(kind, version, ports, given, values["name"])

    function.__name__ = function.__qualname__ = name
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__doc__ = f"{kind} of opset{version}: {', '.join(inputs)} are nodes, arrays or scalars."
    return function


# What an input is that was left out before one that is given.
_DEFAULT_INPUTS = {
    "max_output_boxes_per_class": ("i64", 0), "iou_threshold": ("f32", 0), "score_threshold": ("f32", 0), "default_index": ("i32", -1),
    "num_segments": ("i32", -1), "blank_index": ("i32", -1),
}


def _optional(name: str, kind: str, version: int, before: list, missing: str, given: str, value: Any) -> list:
    made = _DEFAULT_INPUTS.get(missing)
    if made is None:
        raise NotImplementedError(f"{name}: {given!r} without {missing!r}: Tenon's {kind} of opset{version} takes inputs only in their order")
    return [_native.Constant(made[0], [], [made[1]]), as_node(value)]


def parameter(shape: Any, dtype: Any = "f32", name: Optional[str] = None) -> _native.Parameter:
    """An input of a model."""
    made = _native.Parameter(_native.Type(dtype), _native.PartialShape(shape))
    if name is not None:
        made.friendly_name = name
    return made


def result(data: Any, name: Optional[str] = None) -> _native.Result:
    """An output of a model."""
    made = _native.Result(as_node(data))
    if name is not None:
        made.friendly_name = name
    return made


def _variable(variable: Any) -> dict:
    info = getattr(variable, "info", None)
    if info is None:
        return {"variable_id": (variable, None)}
    return {"variable_id": (info.variable_id, None), "variable_type": (info.data_type, None), "variable_shape": (info.data_shape, None)}


def read_value(init_value: Any, variable_id: Any = None, variable_type: Any = None, variable_shape: Any = None, name: Optional[str] = None) -> _native.Node:
    """The value of a state: its name, or an op.util.Variable, and the value that it begins with."""
    if variable_id is None or not isinstance(variable_id, str) and not hasattr(variable_id, "info"):  # read_value(variable_id, type, shape)
        init_value, variable_id, variable_type, variable_shape = None, init_value, variable_id, variable_type
    inputs = [] if init_value is None else [as_node(init_value)]
    given = _variable(variable_id)
    if variable_type is not None:
        given["variable_type"] = (variable_type, None)
    elif "variable_type" not in given and inputs:
        given["variable_type"] = (inputs[0].get_element_type(), None)
    if variable_shape is not None:
        given["variable_shape"] = (variable_shape, None)
    elif "variable_shape" not in given and inputs:
        port = inputs[0].output(0) if isinstance(inputs[0], _native.Node) else inputs[0]
        given["variable_shape"] = (port.get_partial_shape(), None)
    return make("ReadValue", 6, inputs, given, name)


def assign(new_value: Any, variable_id: Any = None, name: Optional[str] = None, *, variable: Any = None) -> _native.Node:
    """Sets a state: pass the node as a sink of the model."""
    given = {"variable_id": _variable(variable if variable is not None else variable_id)["variable_id"]}
    return make("Assign", 6, [as_node(new_value)], given, name)


def read_value_3(init_value: Any, variable_id: str, name: Optional[str] = None) -> _native.Node:
    """The value of a state."""
    return make("ReadValue", 3, [as_node(init_value)], {"variable_id": (variable_id, None)}, name)


def assign_3(new_value: Any, variable_id: str, name: Optional[str] = None) -> _native.Node:
    """Sets a state."""
    return make("Assign", 3, [as_node(new_value)], {"variable_id": (variable_id, None)}, name)


def _roi_pooling(input: Any, coords: Any, output_roi: Any = None, spatial_scale: Any = None, method: str = "max", name: Optional[str] = None, *, output_size: Any = None) -> _native.Node:
    """ROIPooling of opset2."""
    size = output_roi if output_size is None else output_size
    given = {"pooled_h": (size[0], None), "pooled_w": (size[1], None), "spatial_scale": (spatial_scale, None), "method": (method, None)}
    return make("ROIPooling", 2, [as_node(input), as_node(coords)], given, name)


_BY_HAND: dict[str, list] = {
    "constant": [(1, constant)], "parameter": [(1, parameter)], "result": [(1, result)], "tensor_iterator": [(1, _native.tensor_iterator)],
    "loop": [(5, _native.loop)], "if_op": [(8, _native.if_op)], "read_value": [(3, read_value_3), (6, read_value)],
    "assign": [(3, assign_3), (6, assign)], "roi_pooling": [(2, _roi_pooling)],
}


@lru_cache(None)
def function_of(name: str, version: int) -> Optional[Callable]:
    """What `name` is in an operation set; None: OpenVINO has no such function there."""
    if name in _BY_HAND:
        made = [function for first, function in _BY_HAND[name] if first <= version]
        return made[-1] if made else None
    fitting = [form for form in forms().get(name, ()) if form[0] <= version]
    if not fitting:
        return None
    form = fitting[-1]
    if row_of(form[2], form[1]) is None:
        raise AttributeError(f"opset{version}.{name} is absent: Tenon has no operation {form[2]} of opset{form[1]}")
    return _shared(name, fitting.index(form))


@lru_cache(None)
def _shared(name: str, index: int) -> Callable:
    return _function(name, forms()[name][index])


class Opset(ModuleType):
    """A module whose functions are made when they are first named."""

    def __init__(self, name: str, version: int):
        super().__init__(name, f"OpenVINO's operation set {version}: functions that make nodes.")
        self.__dict__["_version"] = version
        self.__path__: list = []

    def __getattr__(self, name: str) -> Any:
        found = None if name.startswith("__") else function_of(name, self._version)
        if found is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}: OpenVINO's opset{self._version} has no such operation")
        self.__dict__[name] = found
        return found

    def __dir__(self) -> list:
        names = []
        for name in sorted({*forms(), *_BY_HAND}):
            try:
                if function_of(name, self._version):
                    names.append(name)
            except AttributeError:  # Tenon lacks the operation.
                pass
        return names


def install(package: str) -> dict:
    """Makes the modules PACKAGE.opset1 to 17, with .ops in each, and returns them by name."""
    modules = {}
    for version in range(1, LAST + 1):
        module = Opset(f"{package}.opset{version}", version)
        sys.modules[module.__name__] = sys.modules[module.__name__ + ".ops"] = module
        module.__dict__["ops"] = module
        modules[f"opset{version}"] = module
    return modules
