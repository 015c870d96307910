# SPDX-License-Identifier: Apache-2.0
"""Patterns of nodes, for passes written in Python."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Iterator

from tenon import Node, Output, Type


class Predicate:
    """A condition on an output; & and | join two."""

    def __init__(self, predicate: Any = None):
        self._holds: Callable = predicate._holds if isinstance(predicate, Predicate) else predicate or (lambda port: True)

    def __call__(self, port: Output) -> bool:
        return bool(self._holds(port))

    def __and__(self, other: "Predicate") -> "Predicate":
        return Predicate(lambda port: self(port) and other(port))

    def __or__(self, other: "Predicate") -> "Predicate":
        return Predicate(lambda port: self(port) or other(port))

    def __invert__(self) -> "Predicate":
        return Predicate(lambda port: not self(port))


def consumers_count(n: int) -> Predicate:
    return Predicate(lambda port: len(port.get_target_inputs()) == n)


def has_static_shape() -> Predicate:
    return Predicate(lambda port: port.partial_shape.is_static)


def has_static_rank() -> Predicate:
    return Predicate(lambda port: port.partial_shape.rank.is_static)


def has_static_dim(pos: int) -> Predicate:
    return has_static_dims([pos])


def has_static_dims(dims: Iterable[int]) -> Predicate:
    wanted = list(dims)
    return Predicate(lambda port: port.partial_shape.rank.is_static and all(port.partial_shape[axis].is_static for axis in wanted))


def rank_equals(rank: Any) -> Predicate:
    return Predicate(lambda port: port.partial_shape.rank.is_static and len(port.partial_shape) == int(getattr(rank, "min_length", rank)))


def type_matches(type: Any) -> Predicate:
    return type_matches_any([type])


def type_matches_any(types: Iterable[Any]) -> Predicate:
    wanted = [Type(each) for each in types]
    return Predicate(lambda port: any(port.element_type == each for each in wanted))


def shape_matches(shape: str) -> Predicate:
    """A shape as "[1,?,3]"; ? is any extent, other words are names of extents and must be equal where they repeat."""
    words = [word.strip() for word in shape.strip("[] ").split(",") if word.strip()]

    def holds(port: Output) -> bool:
        if not port.partial_shape.rank.is_static or len(port.partial_shape) != len(words):
            return False
        named: dict = {}
        return all(word == "?" or (extent == int(word) if word.isdigit() else named.setdefault(word, extent) == extent)
                   for word, extent in zip(words, port.partial_shape))

    return Predicate(holds)


def attrs_match(attrs: dict) -> Predicate:
    return Predicate(lambda port: all(port.node.get_attributes().get(key) == value for key, value in attrs.items()))


def _pattern(value: Any) -> Any:
    return value if isinstance(value, Pattern) else Exactly(value)


def _patterns(inputs: Any) -> list:
    listed = inputs if isinstance(inputs, (list, tuple)) else [] if inputs is None else [inputs]
    return [_pattern(each) for each in listed]


class Pattern:
    """Part of a pattern: `found` gets what it matched."""

    def output(self, index: int) -> "Pattern":
        return self

    def matches(self, port: Output, found: dict) -> bool:
        raise NotImplementedError

    def seen(self, port: Output, found: dict) -> bool:
        """The same part of a pattern matches one output only."""
        if self in found:
            return found[self] == port
        found[self] = port
        return True


class Exactly(Pattern):
    def __init__(self, value: Any):
        self._port = value.output(0) if isinstance(value, Node) else value

    def matches(self, port: Output, found: dict) -> bool:
        return port == self._port


class AnyInput(Pattern):
    """Any output for which the condition holds."""

    def __init__(self, predicate: Any = None):
        self._holds = Predicate(predicate)

    def matches(self, port: Output, found: dict) -> bool:
        return self._holds(port) and self.seen(port, found)


class WrapType(Pattern):
    """A node of one of these operations, such as "opset13.Relu", over these inputs."""

    def __init__(self, type_name: Any, inputs: Any = None, pred: Any = None):
        names = [type_name] if isinstance(type_name, str) else list(type_name)
        if callable(inputs) and not isinstance(inputs, Pattern):
            inputs, pred = None, inputs
        self._kinds = {name.rpartition(".")[2] for name in names}
        self._inputs, self._holds = _patterns(inputs), Predicate(pred)

    def matches(self, port: Output, found: dict) -> bool:
        node = port.node
        if node.get_type_name() not in self._kinds or not self._holds(port):
            return False
        return self._match_inputs(node, found) and self.seen(port, found)

    def _match_inputs(self, node: Node, found: dict) -> bool:
        if not self._inputs:
            return True
        ports = node.input_values()
        if len(ports) != len(self._inputs):
            return False
        before = dict(found)
        orders = [ports, ports[::-1]] if len(ports) == 2 and node.get_type_name() in _COMMUTES else [ports]
        for order in orders:
            found.clear()
            found.update(before)
            if all(pattern.matches(port, found) for pattern, port in zip(self._inputs, order)):
                return True
        found.clear()
        found.update(before)
        return False


_COMMUTES = {"Add", "Multiply", "Maximum", "Minimum", "Equal", "NotEqual", "LogicalAnd", "LogicalOr", "LogicalXor"}


class Or(Pattern):
    """One of several patterns."""

    def __init__(self, inputs: Iterable[Any]):
        self._either = _patterns(list(inputs))

    def matches(self, port: Output, found: dict) -> bool:
        for each in self._either:
            trial = dict(found)
            if each.matches(port, trial):
                found.update(trial)
                return self.seen(port, found)
        return False


class Optional(Pattern):
    """A node of these operations, or its input without it."""

    def __init__(self, type_names: Any, inputs: Any = None, pred: Any = None):
        if callable(inputs) and not isinstance(inputs, Pattern):
            inputs, pred = None, inputs
        self._node = WrapType(type_names, inputs, pred)
        self._inputs = _patterns(inputs)

    def matches(self, port: Output, found: dict) -> bool:
        trial = dict(found)
        if self._node.matches(port, trial):
            found.update(trial)
            return self.seen(port, found)
        return bool(self._inputs) and self._inputs[0].matches(port, found)


class Matcher:
    """Finds a pattern that ends in a node."""

    def __init__(self, node: Any, name: str = ""):
        self._pattern, self._name, self._found = _pattern(node), name, {}

    def get_name(self) -> str:
        return self._name

    def match(self, value: Any) -> bool:
        ports = [value] if isinstance(value, Output) else [value.output(i) for i in range(value.get_output_size())]
        for port in ports:
            self._found = {}
            if self._pattern.matches(port, self._found):
                self._value = port
                return True
        return False

    def get_match_value(self) -> Output:
        return self._value

    def get_match_root(self) -> Node:
        return self._value.node

    def get_match_values(self) -> list:
        return list(self._found.values())

    def get_match_nodes(self) -> list:
        return [port.node for port in self._found.values()]

    def get_pattern_value_map(self) -> dict:
        return dict(self._found)

    def __iter__(self) -> Iterator:
        return iter(self._found.items())
