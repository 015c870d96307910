# SPDX-License-Identifier: Apache-2.0
"""Members of the native classes that are written in Python: what OpenVINO's programs say to models, nodes, ports and types."""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from typing import Any, Iterator, Optional

from . import _native
from ._calls import idle_requests


class OVAny:
    """A value of rt_info or of a property: .value is it, and most of its operators work here, too."""

    __slots__ = ("value",)

    def __init__(self, value: Any):
        self.value = value.value if isinstance(value, OVAny) else value

    def astype(self, kind: type) -> Any:
        """The value as bool, int, float, str or dict."""
        if kind is bool and isinstance(self.value, str):
            return self.value.upper() in ("YES", "TRUE", "1")
        return kind(self.value)

    def aslist(self, dtype: Optional[type] = None) -> list:
        """The value as a list; text is split at spaces."""
        items = self.value.split() if isinstance(self.value, str) else list(self.value)
        return [dtype(item) for item in items] if dtype else items

    def get(self) -> Any:
        return self.value

    def set(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return self.value == (other.value if isinstance(other, OVAny) else other)

    def __hash__(self) -> int:
        return hash(self.value)

    def __getitem__(self, key: Any) -> Any:
        return self.value[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.value[key] = value

    def __iter__(self) -> Iterator:
        return iter(self.value)

    def __contains__(self, item: Any) -> bool:
        return item in self.value

    def __len__(self) -> int:
        return len(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        return str(self.value)

    def __repr__(self) -> str:
        return f"<OVAny: {self.value!r}>"


def _wrapped(value: Any) -> Any:
    return {key: _wrapped(item) for key, item in value.items()} if isinstance(value, dict) else OVAny(value)


class RTMap(MutableMapping):
    """The run-time information of a model, node or port; what is written here is in the model."""

    __slots__ = ("_owner", "_read")

    def __init__(self, owner: Any = None, read: Any = None):
        values: dict = {}
        self._owner, self._read = owner, read or (lambda _: values)

    def __getitem__(self, key: str) -> Any:
        return _wrapped(self._read(self._owner)[key])

    def __setitem__(self, key: str, value: Any) -> None:
        value = value.value if isinstance(value, OVAny) else value
        if self._owner is None:
            self._read(None)[key] = value
        elif isinstance(self._owner, _native.Model):
            self._owner.set_rt_info(value, key)
        else:
            self._owner._set_rt(key, value)

    def __delitem__(self, key: str) -> None:
        if self._owner is None:
            del self._read(None)[key]
        elif not hasattr(self._owner, "_erase_rt"):
            raise TypeError(f"the run-time information of {self._owner!r} is only read")
        elif not self._owner._erase_rt(key):
            raise KeyError(key)

    def __iter__(self) -> Iterator:
        return iter(self._read(self._owner))

    def __len__(self) -> int:
        return len(self._read(self._owner))

    def __repr__(self) -> str:
        return f"<RTMap: {self._read(self._owner)!r}>"


class DiscreteTypeInfo:
    """Name and version of an operation."""

    __slots__ = ("name", "version_id", "parent")

    def __init__(self, name: str = "", version_id: str = ""):
        self.name, self.version_id, self.parent = name, version_id, None

    def hash(self) -> int:
        return hash(self)

    def __hash__(self) -> int:
        return hash((self.name, self.version_id))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DiscreteTypeInfo) and (self.name, self.version_id) == (other.name, other.version_id)

    def __lt__(self, other: "DiscreteTypeInfo") -> bool:
        return (self.version_id, self.name) < (other.version_id, other.name)

    def __repr__(self) -> str:
        return f"<DiscreteTypeInfo: {self.name} {self.version_id}>"


class VariableInfo:
    """Shape, type and name of a state."""

    data_shape: Any = None
    data_type: Any = None
    variable_id = ""

    def __init__(self) -> None:
        self.data_shape, self.data_type = _native.PartialShape.dynamic(), _native.Type.dynamic


class Variable:
    """A state, as ReadValue and Assign name it."""

    info: Any = None

    def __init__(self, info: VariableInfo):
        self.info = info

    def get_info(self) -> VariableInfo:
        return self.info

    def update(self, info: VariableInfo) -> None:
        self.info = info

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Variable) and self.info.variable_id == other.info.variable_id

    def __hash__(self) -> int:
        return hash(self.info.variable_id)

    def __repr__(self) -> str:
        return f"<Variable: '{self.info.variable_id}'>"


def variables_of(model: _native.Model) -> list:
    """The model's states, in the order of their ReadValue nodes."""
    found: dict = {}
    for node in model.get_ordered_ops():
        if node.get_type_name() == "ReadValue":
            attributes, info = node.get_attributes(), VariableInfo()
            info.variable_id = attributes["variable_id"]
            info.data_type = attributes.get("variable_type", node.get_output_element_type(0))
            info.data_shape = attributes.get("variable_shape", node.get_output_partial_shape(0))
            found.setdefault(info.variable_id, Variable(info))
    return list(found.values())


def variable_by_id(model: _native.Model, variable_id: str) -> Variable:
    """The state of this name."""
    for variable in variables_of(model):
        if variable.info.variable_id == variable_id:
            return variable
    raise LookupError(f"the model has no state {variable_id!r}; it has {[each.info.variable_id for each in variables_of(model)]}")


def _remove_sink(model: _native.Model, sink: _native.Node) -> None:
    raise NotImplementedError("Model.remove_sink: Tenon's models only gain sinks; make a Model of the same results and the sinks that stay")


def _remove_variable(model: _native.Model, variable: Variable) -> None:
    raise NotImplementedError("Model.remove_variable: a state is there as long as its ReadValue is; take that out of the model")


def _binary(kind: str, turned: bool = False) -> Any:
    def operator(self: _native.Node, other: Any) -> _native.Node:
        if isinstance(other, (int, float)) and not isinstance(other, bool):
            own = self.get_element_type()
            if not own.is_dynamic() and (own.is_real() or isinstance(other, int)):
                other = _native.Constant(own, [], [other])
        return _native.make_node(kind, [other, self] if turned else [self, other])

    return operator


def _attribute(self: _native.Node, name: str) -> Any:
    """get_X() and set_X() of the operation's attributes."""
    if name[:4] in ("get_", "set_"):
        known = self.get_attributes()
        for spelled in (name[4:], name[4:].replace("_", "-")):
            if spelled in known:
                if name.startswith("get_"):
                    return lambda: self.get_attributes()[spelled]
                return lambda value: self.set_attribute(spelled, value)
    raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


def _set_attribute(self: _native.Node, name: str, value: Any) -> None:
    self._set_attribute(name, value)
    self.validate_and_infer_types()


def _set_rt_info(self: Any, obj: Any, key: Any) -> None:
    self._set_rt(key if isinstance(key, str) else key[0], obj.value if isinstance(obj, OVAny) else obj)


def node_repr(self: _native.Node) -> str:
    """<Relu: 'name' ([1,3])>"""
    shapes = ",".join(str(self.get_output_partial_shape(i)) for i in range(self.get_output_size()))
    kind = f", {_CPP_NAMES.get(str(self.get_element_type()), str(self.get_element_type()))}" if isinstance(self, _native.Parameter) else ""
    return f"<{self.get_type_name()}: '{self.friendly_name}' ({shapes}{kind})>"


_CPP_NAMES = {"f32": "float", "f64": "double", "boolean": "char", "i64": "int64_t", "i32": "int32_t", "u8": "uint8_t", "i8": "int8_t"}


def _ports_text(kind: str) -> Any:
    def text(self: Any) -> str:
        inputs = self.inputs if hasattr(self, "inputs") else self.model_inputs
        outputs = self.outputs if hasattr(self, "outputs") else self.model_outputs
        rows = [",\n".join(map(repr, ports)) for ports in (inputs, outputs)]
        return f"<{kind}:\ninputs[\n{rows[0]}\n]\noutputs[\n{rows[1]}\n]>"

    return text


def _query_state(self: _native.CompiledModel) -> list:
    """The states of the request that calls of this model use."""
    return _own_request(self).query_state()


def _reset_state(self: _native.CompiledModel) -> None:
    """Sets the states of the request that calls of this model use to their first values."""
    _own_request(self).reset_state()


def _own_request(self: _native.CompiledModel) -> _native.InferRequest:
    requests = idle_requests(self)
    try:
        return requests[-1]
    except IndexError:  # None yet, or calls of other threads have all.
        request = self.create_infer_request()
        requests.append(request)
        return request


def _set_output_tensors(self: _native.InferRequest, outputs: dict) -> None:
    """Tensors by output index."""
    for index, tensor in outputs.items():
        self.set_output_tensor(index, tensor)


class ExportedModel(bytes):
    """The bytes of a compiled model, which are read as a stream's are, too."""

    __slots__ = ()

    def read(self) -> bytes:
        return self

    def getvalue(self) -> bytes:
        return self


def _export(self: _native.CompiledModel, model_stream: Any = None) -> Any:
    """The compiled model as bytes, or into a stream; Core.import_model() takes both."""
    if model_stream is None:
        return ExportedModel(self._export_model())
    return self._export_model(model_stream)


def _texts(tensor: _native.Tensor, kind: type) -> Any:
    """A string tensor's elements as a NumPy array of text, or of bytes in UTF-8."""
    import numpy

    array = tensor.data
    if array.dtype.kind != "O":
        raise RuntimeError(f"str_data and bytes_data are for tensors of strings, and this one is {tensor!r}")
    return array.astype(str) if kind is str else numpy.char.encode(array.astype(str), "utf-8")


def _merged(kind: Any) -> Any:
    """Type.merge(first, second): the type that both can be, or None."""
    def merge(first: Any, second: Any) -> Any:
        if first == second or second.is_dynamic():
            return first
        return second if first.is_dynamic() else None

    return staticmethod(merge)


def _evaluate(native: Any) -> Any:
    def evaluate(self: _native.Node, output_values: Any, input_values: Any, evaluationContext: Any = None) -> bool:
        """Computes the node by its reference kernel."""
        bodies = (self.get_then_body(), self.get_else_body()) if isinstance(self, _native.if_op) else (
            (self.get_function(),) if isinstance(self, (_native.loop, _native.tensor_iterator)) else ())
        if None in bodies:
            raise RuntimeError(f"{self!r} has no body yet: set_body() or set_function() comes before evaluate()")
        return native(self, output_values, input_values)

    return evaluate


def _first_reader(read: Any) -> Any:
    return lambda self: RTMap(self, read)


def install() -> None:
    """Gives the native classes these members."""
    node, model, output, const, kind = _native.Node, _native.Model, _native.Output, _native.ConstOutput, _native.Type
    for name, operation in (("add", "Add"), ("sub", "Subtract"), ("mul", "Multiply"), ("truediv", "Divide")):
        setattr(node, f"__{name}__", _binary(operation))
        setattr(node, f"__r{name}__", _binary(operation, turned=True))
    node.__array_ufunc__ = None  # So that array + node is Node.__radd__.
    node.evaluate = _evaluate(node.evaluate)
    node.__getattr__, node.set_attribute, node.__repr__ = _attribute, _set_attribute, node_repr
    node.get_type_info = lambda self: DiscreteTypeInfo(*self._type_info())
    node.type_info = property(node.get_type_info)
    node.get_instance_id = lambda self: int(self.get_name().rpartition("_")[2])
    for owner in (node, output, const, model):
        read = owner.get_rt_info
        if owner is model:
            owner.get_rt_info = lambda self, path=None, read=read: RTMap(self, read) if path is None else _wrapped(read(self, path))
        else:
            owner.get_rt_info = _first_reader(read)
        owner.rt_info = property(owner.get_rt_info)
        if owner in (node, output):
            owner.set_rt_info = _set_rt_info
    output.target_inputs = const.target_inputs = property(lambda self: self.get_target_inputs())
    const.tensor = property(lambda self: self.get_tensor())
    for owner in (output, const):
        owner.__copy__ = lambda self: self
        owner.__deepcopy__ = lambda self, _: self
    model.sinks = property(lambda self: self.get_sinks())
    model.variables, model.get_variables, model.get_variable_by_id = property(variables_of), variables_of, variable_by_id
    model.get_output_op = lambda self, index: self.results[index]
    model.get_result = model.result = lambda self: self.results[0]
    model.get_sink_index = lambda self, sink: next((i for i, each in enumerate(self.sinks) if each == sink), -1)
    model.remove_sink = _remove_sink
    model.add_variables = lambda self, variables: None  # States follow from ReadValue and Assign.
    model.remove_variable = _remove_variable
    model.__copy__ = lambda self: self.clone()
    model.__deepcopy__ = lambda self, _: self.clone()
    model.__enter__ = lambda self: self
    model.__exit__ = lambda self, *_: None
    model.__repr__ = lambda self: _ports_text(f"Model: '{self.friendly_name}'")(self).replace("':\n", "'\n", 1)
    _native.CompiledModel.__repr__, _native.InferRequest.__repr__ = _ports_text("CompiledModel"), _ports_text("InferRequest")
    if not hasattr(_native.CompiledModel, "_export_model"):
        _native.CompiledModel._export_model, _native.CompiledModel.export_model = _native.CompiledModel.export_model, _export
    _native.CompiledModel.query_state, _native.CompiledModel.reset_state = _query_state, _reset_state
    _native.InferRequest.set_output_tensors = _set_output_tensors
    _native.AsyncInferQueue.__repr__ = lambda self: f"<AsyncInferQueue: {len(self)} jobs>"
    kind.merge, kind.compatible = _merged(kind), lambda self, other: self == other or self.is_dynamic() or other.is_dynamic()
    kind.get_size, kind.get_bitwidth, kind.is_quantized = lambda self: self.size, lambda self: self.bitwidth, lambda self: False
    for name in ("integral", "integral_number", "real", "signed", "quantized"):
        setattr(kind, name, property(lambda self, name=name: getattr(self, f"is_{name}")()))
    kind.type_name = property(lambda self: self.get_type_name())
    _native.PartialShape.all_non_negative = property(lambda self: True)
    profile = _native.ProfilingInfo
    profile.Status = _native.ProfilingStatus
    for member in ("NOT_RUN", "OPTIMIZED_OUT", "EXECUTED"):
        setattr(profile, member, getattr(_native.ProfilingStatus, member))
    for place, part in enumerate(("major", "minor", "patch")):
        setattr(_native.Version, part, property(lambda self, place=place: int((re.findall(r"\d+", self.build_number) + ["0"] * 3)[place])))
    tensor = _native.Tensor
    tensor.str_data = property(lambda self: _texts(self, str), lambda self, values: self.copy_from(_native.Tensor(values)),
                               doc="The elements of a tensor of strings as an array of str, copied.")
    tensor.bytes_data = property(lambda self: _texts(self, bytes), lambda self, values: self.copy_from(_native.Tensor(values)),
                                 doc="The elements of a tensor of strings as an array of bytes, copied.")
    tensor.__copy__ = tensor.__deepcopy__ = lambda self, _=None: _native.Tensor(self)
    constant = _native.Constant
    constant.get_data = lambda self, *, dtype=None, copy=False: self.data.astype(dtype, copy=copy) if dtype is not None else self.data.copy() if copy else self.data
    constant.get_vector = lambda self: self.data.ravel().view("int8") if self.data.dtype == bool else self.data.ravel()
    constant.get_value_strings = lambda self: [str(each) for each in self.data.ravel().tolist()]
    constant.tensor_view = property(lambda self: self.get_tensor_view())
    constant.get_strides = lambda self: self.get_tensor_view().get_strides()
    constant.strides = property(constant.get_strides)
    parameter, result = _native.Parameter, _native.Result
    parameter.element_type = property(lambda self: self.get_element_type(), lambda self, value: self.set_element_type(value))
    parameter.get_partial_shape = lambda self: self.partial_shape
    parameter.set_partial_shape = lambda self, shape: setattr(self, "partial_shape", shape)
    parameter.get_layout = lambda self: self.layout
    parameter.set_layout = lambda self, layout: setattr(self, "layout", layout)
    result.layout = property(lambda self: _native.layout_helpers.get_layout(self.output(0)), lambda self, layout: _native.layout_helpers.set_layout(self.output(0), layout))
    result.get_layout, result.set_layout = lambda self: self.layout, lambda self, layout: setattr(self, "layout", layout)
