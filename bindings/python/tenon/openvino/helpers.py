# SPDX-License-Identifier: Apache-2.0
"""Elements below a byte: packed into bytes, and out of them."""

from __future__ import annotations

from typing import Any

from tenon import Type

from ._modules import module_of

__path__: list = []


def _bits(kind: Any) -> int:
    kind = Type(kind)
    if kind.bitwidth not in (1, 2, 4):
        raise ValueError(f"elements of {kind} are not packed into bytes")
    return kind.bitwidth


def pack_data(array: Any, type: Any) -> Any:
    """Packs numbers of a byte each, the first into the highest bits of the first byte, as OpenVINO's helper does."""
    import numpy

    bits = _bits(type)
    values = numpy.asarray(array).ravel().astype(numpy.int64)
    low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if Type(type).is_signed() else (0, 1 << bits)
    if values.size and (values.min() < low or values.max() >= high):
        raise ValueError(f"{Type(type)} holds {low} to {high - 1}, not {values.min()} to {values.max()}")
    places = numpy.unpackbits((values & ((1 << bits) - 1)).astype(numpy.uint8)[:, None], axis=1)[:, 8 - bits:]
    return numpy.packbits(places.ravel())


def unpack_data(array: Any, type: Any, shape: Any) -> Any:
    """The numbers of packed bytes, a byte each, in the shape."""
    import numpy

    bits, count = _bits(type), int(numpy.prod(list(shape)))
    places = numpy.unpackbits(numpy.asarray(array).ravel().view(numpy.uint8))
    if places.size < count * bits:
        raise ValueError(f"{list(shape)} of {Type(type)} takes {count * bits} bits, and the array has {places.size}")
    values = places[:count * bits].reshape(count, bits).astype(numpy.int16) @ (1 << numpy.arange(bits - 1, -1, -1, dtype=numpy.int16))
    if Type(type).is_signed():
        values = values - ((values >> (bits - 1)) << bits)
    return values.astype(numpy.int8 if Type(type).is_signed() else numpy.uint8).reshape(list(shape))


module_of(f"{__name__}.packing", "Packing of bits.", {"pack_data": pack_data, "unpack_data": unpack_data})
