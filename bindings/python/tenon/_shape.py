# SPDX-License-Identifier: Apache-2.0
"""Shapes: tuples of extents that also compare equal to lists, as OpenVINO's do."""

from __future__ import annotations

from operator import index
from typing import Any, Iterable


class Shape(tuple):
    """Extents of a tensor, outermost first: a tuple of int."""

    __slots__ = ()

    def __new__(cls, extents: Iterable[int] = ()) -> "Shape":
        if isinstance(extents, str):
            text = extents.strip()
            if text[:1] == "[" and text[-1:] == "]":
                text = text[1:-1]
            extents = [int(part) for part in text.split(",")] if text.strip() else []
        shape = super().__new__(cls, [index(extent) for extent in extents])
        if any(extent < 0 for extent in shape):
            raise TypeError(f"extents are at least 0, and a shape of {tuple(shape)} has others: PartialShape has open ones")
        return shape

    def __eq__(self, other: object) -> bool:
        if isinstance(other, list):
            return list(self) == other
        return tuple.__eq__(self, other) if isinstance(other, tuple) else NotImplemented

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    __hash__ = tuple.__hash__

    def __getitem__(self, place: Any) -> Any:
        part = tuple.__getitem__(self, place)
        return Shape(part) if isinstance(place, slice) else part

    def __str__(self) -> str:
        return "[" + ",".join(map(str, self)) + "]"

    def __repr__(self) -> str:
        return f"<Shape: {self}>"

    def to_string(self) -> str:
        return str(self)
