# SPDX-License-Identifier: Apache-2.0
"""Helpers of OpenVINO's package: changes of graphs, types as NumPy has them."""

from __future__ import annotations

from typing import Any, Optional, Union

from tenon import Constant, Node, Output, OVDict, Shape, Type

from ._convert import tensor_from_file
from ._modules import module_of, refuse
from ._opsets import as_node, constant
from .exceptions import OVTypeError

__path__: list = []


def replace_node(target: Node, replacement: Any, outputs_order: Optional[list] = None) -> None:
    """All readers of a node read another one: a Node, or a list of outputs. outputs_order: the replacement's output for each."""
    ports = list(replacement) if isinstance(replacement, (list, tuple)) else [replacement.output(i) for i in range(replacement.get_output_size())]
    if outputs_order is not None:
        ports = [ports[index] for index in outputs_order]
    if len(ports) < target.get_output_size():
        raise RuntimeError(f"replace_node: {target!r} has {target.get_output_size()} outputs, and its replacement {len(ports)}")
    for index in range(target.get_output_size()):
        target.output(index).replace(ports[index])
    if not ports[0].node.friendly_name.startswith(target.friendly_name):
        ports[0].node.friendly_name = target.friendly_name


def replace_output_update_name(output: Output, target_output: Output) -> bool:
    """All readers of an output read another one, which takes its names and, of a node with one output, the friendly name."""
    if any(reader.get_node().get_type_name() == "Result" for reader in output.get_target_inputs()) and target_output.node.get_type_name() == "Parameter":
        return False
    output.replace(target_output)
    if output.node.get_output_size() == 1:
        target_output.node.friendly_name = output.node.friendly_name
    return True


def numpy_to_c(arr: Any) -> Any:
    """The address of an array's elements, as ctypes has it."""
    import ctypes

    if not arr.flags.c_contiguous:
        raise ValueError("numpy_to_c: the array's elements do not lie one after another")
    return ctypes.c_void_p(arr.ctypes.data)


def get_element_type(data_type: Any) -> Type:
    """The element type of a NumPy type, of int, float or bool, or of a text."""
    if data_type is int:
        return Type.i32
    if data_type is float:
        return Type.f32
    return Type(data_type)


def get_element_type_str(data_type: Any) -> str:
    """Its name, such as "f32"."""
    return get_element_type(data_type).get_type_name()


def get_dtype(openvino_type: Any) -> Any:
    """numpy.dtype of an element type."""
    return Type(openvino_type).to_dtype()


def get_ndarray(data: Any) -> Any:
    """A NumPy array of a scalar, a list or an array."""
    import numpy

    return numpy.asarray(data)


def get_shape(data: Any) -> list:
    """The shape of a scalar, a list or an array."""
    return list(get_ndarray(data).shape)


def get_numpy_ctype(openvino_type: Any) -> type:
    """The NumPy scalar type of an element type."""
    return get_dtype(openvino_type).type


def make_constant_node(value: Any, dtype: Any = None, *, name: Optional[str] = None) -> Constant:
    """A Constant of a scalar, a list or an array."""
    return constant(value, dtype, name)


def as_nodes(*input_values: Any, name: Optional[str] = None) -> list:
    """Nodes as they are, and anything else as a Constant."""
    return [as_node(value) for value in input_values]


_PAIRS = [(name, getattr(Type, name)) for name in "boolean f16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bf16".split()]


def _types(name: str) -> Any:
    if name == "openvino_to_numpy_types_map":
        return [(kind, kind.to_dtype().type) for _, kind in _PAIRS]
    if name == "openvino_to_numpy_types_str_map":
        return [(text, kind.to_dtype().type) for text, kind in _PAIRS]
    raise refuse(f"{__name__}.types", name)


module_of(f"{__name__}.types", "Types as NumPy has them.", {
    **{each.__name__: each for each in (get_element_type, get_element_type_str, get_dtype, get_ndarray, get_shape, get_numpy_ctype,
                                        make_constant_node, as_node, as_nodes)},
    "OVTypeError": OVTypeError, "NodeInput": Union[Node, int, float, Any], "NumericData": Any, "NumericType": Any, "ScalarData": Any,
    "TensorShape": list, "__getattr__": _types,
})
module_of(f"{__name__}.data_helpers", "Results, and tensors of files.", {"OVDict": OVDict, "tensor_from_file": tensor_from_file})


def __getattr__(name: str) -> Any:
    raise refuse(__name__, name)
