# SPDX-License-Identifier: Apache-2.0
"""Outputs of an inference: arrays by port, index and tensor name."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, Iterator


class NoOutput(KeyError, IndexError):
    """No output of this index or name: OpenVINO's is a KeyError for both."""

    def __str__(self) -> str:
        return str(self.args[0])


class OVDict(Mapping):
    """results[0], results["name"] and results[compiled.output(0)] are NumPy arrays; iteration gives the ports."""

    __slots__ = ("_ports", "_arrays")

    def __init__(self, ports: tuple, arrays: list):
        self._ports = ports
        self._arrays = arrays

    def _index(self, key: Any) -> int:
        if hasattr(key, "__index__"):  # NumPy's numbers, too.
            number, count = operator.index(key), len(self._arrays)
            if not -count <= number < count:
                raise NoOutput(f"there is no output {number}: the model has {count}")
            return number % count
        for index, port in enumerate(self._ports):
            if key in port.names if isinstance(key, str) else port == key:
                return index
        names = ", ".join(repr(sorted(port.names)) for port in self._ports)
        raise NoOutput(f"no output {key!r}; there are: {names}")

    def __getitem__(self, key: Any) -> Any:
        return self._arrays[self._index(key)]

    def __iter__(self) -> Iterator:
        return iter(self._ports)

    def __len__(self) -> int:
        return len(self._ports)

    def __repr__(self) -> str:
        return "{" + ",\n".join(f"{port!r}: {array!r}" for port, array in zip(self._ports, self._arrays)) + "}"

    def names(self) -> tuple:
        """The tensor names of each output."""
        return tuple(port.names for port in self._ports)

    def to_dict(self) -> dict:
        """A dict from ports to arrays."""
        return dict(zip(self._ports, self._arrays))

    def to_tuple(self) -> tuple:
        """The arrays in the order of the model's outputs."""
        return tuple(self._arrays)
