# SPDX-License-Identifier: Apache-2.0
"""Lists that OpenVINO has classes for."""

from __future__ import annotations

from typing import Any, Iterable


class _Numbers(list):
    """A list of int that also equals tuples."""

    def __init__(self, values: Iterable[int] = ()):
        super().__init__(int(value) for value in values)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, (list, tuple)) else NotImplemented

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: ({', '.join(map(str, self))})>"

    def __str__(self) -> str:
        return f"[{','.join(map(str, self))}]"


class Strides(_Numbers):
    """Distances between windows, by spatial axis."""

    def __str__(self) -> str:
        return ", ".join(map(str, self))


class CoordinateDiff(_Numbers):
    """Distances, which may be negative."""


class Coordinate(_Numbers):
    """A position by axis."""


class AxisVector(_Numbers):
    """Axes in an order."""


class AxisSet(set):
    """Axes without an order."""

    def __repr__(self) -> str:
        return f"<AxisSet {{{', '.join(map(str, sorted(self)))}}}>"


class TensorVector(list):
    """Tensors."""

    def __init__(self, tensors: Iterable[Any] = ()):
        super().__init__(tensors)
