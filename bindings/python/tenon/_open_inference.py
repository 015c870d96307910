# SPDX-License-Identifier: Apache-2.0
"""Tensors of the Open Inference Protocol (version 2) as arrays, where the protocol's bytes lie. Knows no server.

What a client may have got wrong is a ValueError that names the tensor, what was expected and what was found.
"""

from __future__ import annotations

import json
import struct
from typing import Any, Optional, Sequence

import numpy

# Names of the protocol, of NumPy and of Tenon.
_TYPES = (
    ("BOOL", "bool", "boolean"), ("UINT8", "uint8", "u8"), ("UINT16", "uint16", "u16"), ("UINT32", "uint32", "u32"),
    ("UINT64", "uint64", "u64"), ("INT8", "int8", "i8"), ("INT16", "int16", "i16"), ("INT32", "int32", "i32"),
    ("INT64", "int64", "i64"), ("FP16", "float16", "f16"), ("FP32", "float32", "f32"), ("FP64", "float64", "f64"),
    ("BYTES", "object", "string"),
)
_DTYPES = {name: numpy.dtype(dtype) for name, dtype, _ in _TYPES}
_NAMES = {tenon: name for name, _, tenon in _TYPES}


def datatype_of(element_type: Any) -> str:
    """The protocol's name of one of Tenon's element types."""
    name = _NAMES.get(str(element_type))
    if name is None:
        raise ValueError(f"the Open Inference Protocol has no datatype for {element_type}: give the model other ports by PrePostProcessor")
    return name


def dtype_of(datatype: str) -> numpy.dtype:
    """NumPy's type for the protocol's datatype."""
    try:
        return _DTYPES[datatype]
    except (KeyError, TypeError):
        raise ValueError(f"datatype {datatype!r} is not supported; there are: {', '.join(_DTYPES)}") from None


def checked_shape(name: str, shape: Any) -> tuple:
    """The shape as a tuple of extents."""
    if not isinstance(shape, (list, tuple)) or any(isinstance(extent, bool) or not isinstance(extent, int) or extent < 0 for extent in shape):
        raise ValueError(f"input {name!r}: its shape must be a list of numbers from 0 on, not {shape!r}")
    return tuple(shape)


def split_body(body: bytes, json_length: Optional[int]) -> tuple[dict, list]:
    """The JSON object of a request, and for each input the view of its binary data in `body`, or None where the JSON has its data.

    `json_length`: what the header Inference-Header-Content-Length says; None: the whole body is JSON.
    """
    if json_length is not None and not 0 <= json_length <= len(body):
        raise ValueError(f"Inference-Header-Content-Length says {json_length} bytes, and the body has {len(body)}")
    view = memoryview(body)
    end = len(body) if json_length is None else json_length
    try:
        head = json.loads(bytes(view[:end]))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the request is not JSON: {error}") from None
    inputs = head.get("inputs") if isinstance(head, dict) else None
    if not isinstance(inputs, list):
        raise ValueError('the request has no list "inputs"')
    parts: list = []
    for each in inputs:
        if not isinstance(each, dict) or not isinstance(each.get("name"), str):
            raise ValueError('each of "inputs" must be an object with a "name"')
        parameters = each.get("parameters") or {}
        size = parameters.get("binary_data_size") if isinstance(parameters, dict) else None
        if "data" in each or size is None:
            parts.append(None)
            continue
        if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= len(body) - end:
            raise ValueError(f"input {each['name']!r}: binary_data_size is {size!r}, and {len(body) - end} bytes are left in the body")
        parts.append(view[end:end + size])
        end += size
    if end != len(body):
        raise ValueError(f"{len(body) - end} bytes are left behind the last input's binary data")
    return head, parts


def _strings(name: str, raw: Any) -> list:
    found, at = [], 0
    while at < len(raw):
        if at + 4 > len(raw):
            raise ValueError(f"input {name!r}: {len(raw) - at} bytes are left behind its strings, of which each begins with four bytes of length")
        (size,) = struct.unpack_from("<I", raw, at)
        at += 4
        if size > len(raw) - at:
            raise ValueError(f"input {name!r}: a string of {size} bytes is announced where {len(raw) - at} are left")
        found.append(bytes(raw[at:at + size]))
        at += size
    return found


def array_from(name: str, datatype: str, shape: Any, data: Any = None, raw: Any = None) -> numpy.ndarray:
    """The tensor as an array: over `raw` where its bytes lie, else made out of the list `data`, which may be nested or flat.

    Strings become an array of bytes objects.
    """
    dtype, shape = dtype_of(datatype), checked_shape(name, shape)
    count = 1
    for extent in shape:
        count *= extent
    if raw is not None:
        if datatype == "BYTES":
            values = _strings(name, raw)
            if len(values) != count:
                raise ValueError(f"input {name!r}: {len(values)} strings for shape {list(shape)}")
            array = numpy.empty(count, object)
            array[:] = values
            return array.reshape(shape)
        if len(raw) != count * dtype.itemsize:
            raise ValueError(f"input {name!r}: {len(raw)} bytes for shape {list(shape)} of {datatype}, which has {count * dtype.itemsize}")
        return numpy.frombuffer(raw, dtype).reshape(shape)
    if data is None:
        raise ValueError(f"input {name!r} has no data")
    try:
        if datatype == "BYTES":
            flat = numpy.empty(len(data), object)
            flat[:] = [each.encode() if isinstance(each, str) else each for each in data]
            if not all(isinstance(each, bytes) for each in flat):
                raise ValueError("strings are wanted, in a flat list")
        else:
            flat = numpy.array(data)
            if flat.size and not _fits(flat, dtype):
                raise ValueError(f"its values are no {datatype}")
            flat = flat.astype(dtype).reshape(-1)
    except (ValueError, TypeError, OverflowError) as error:
        raise ValueError(f"input {name!r}: {error}") from None
    if flat.size != count:
        raise ValueError(f"input {name!r}: {flat.size} values for shape {list(shape)}, which has {count}")
    return flat.reshape(shape)


def _fits(values: numpy.ndarray, dtype: numpy.dtype) -> bool:
    """Whether values as JSON has them may become the type: whole numbers in its range, no fractions in whole numbers."""
    if values.dtype.kind in "iu" and dtype.kind in "iu":
        limits = numpy.iinfo(dtype)
        return limits.min <= int(values.min()) and int(values.max()) <= limits.max
    return numpy.can_cast(values.dtype, dtype, "same_kind")


class Port:
    """A name, a datatype and a shape, in which -1 is any extent."""

    __slots__ = ("name", "datatype", "shape")

    def __init__(self, name: str, datatype: str, shape: Sequence[int]):
        self.name, self.datatype, self.shape = name, datatype, list(shape)

    def described(self) -> dict:
        """As the protocol's metadata have it."""
        return {"name": self.name, "datatype": self.datatype, "shape": self.shape}

    def check(self, array: numpy.ndarray, datatype: str) -> None:
        """Whether a tensor may be given to this port."""
        if datatype != self.datatype:
            raise ValueError(f"input {self.name!r}: its datatype is {self.datatype}, not {datatype}")
        if len(array.shape) != len(self.shape) or any(want >= 0 and want != have for want, have in zip(self.shape, array.shape)):
            raise ValueError(f"input {self.name!r}: its shape is {self.shape} (-1: any), not {list(array.shape)}")


def by_name(ports: Sequence[Port], given: Sequence[tuple]) -> dict:
    """Checked arrays by the names of all ports. `given`: name, datatype, array."""
    known = {port.name: port for port in ports}
    found: dict = {}
    for name, datatype, array in given:
        if name not in known:
            raise ValueError(f"there is no input {name!r}; there are: {', '.join(known)}")
        if name in found:
            raise ValueError(f"input {name!r} is given twice")
        known[name].check(array, datatype)
        found[name] = array
    missing = [name for name in known if name not in found]
    if missing:
        raise ValueError(f"input {missing[0]!r} is missing")
    return found
