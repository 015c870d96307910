# SPDX-License-Identifier: Apache-2.0
"""Passes over models: Tenon's own, and ones written in Python that match patterns."""

from __future__ import annotations

import os
from enum import Enum
from typing import Any, Callable, Union

from tenon import Constant, Node, Output, _native
from tenon._native import make_node

from ._modules import module_of, refuse
from ._patterns import (
    AnyInput, Matcher, Optional, Or, Predicate, WrapType, attrs_match, consumers_count, has_static_dim, has_static_dims, has_static_rank,
    has_static_shape, rank_equals, shape_matches, type_matches, type_matches_any,
)

__path__: list = []


class Version(Enum):
    """Versions of IR files; Tenon writes 11."""

    UNSPECIFIED = 0
    IR_V10 = 10
    IR_V11 = 11


class PassBase:
    """A pass with a name."""

    _name = ""

    def set_name(self, name: str) -> None:
        self._name = name

    def get_name(self) -> str:
        return self._name or type(self).__name__


class ModelPass(PassBase):
    """A pass of yours: run_on_model(model) returns whether it changed the model."""

    def run_on_model(self, model: Any) -> bool:
        raise NotImplementedError(f"{type(self).__name__}.run_on_model is for the pass to write")


class _Native(ModelPass):
    _which = ""

    def run_on_model(self, model: Any) -> bool:
        return _native._run_pass(model, self._which)


class ConstantFolding(_Native):
    """Replaces what depends on no input by its value."""

    _which = "fold_constants"


class ConvertFP32ToFP16(_Native):
    """Stores f32 constants of 32 elements and more as f16; results stay f32."""

    _which = "compress_to_f16"


class Serialize(ModelPass):
    """Writes the model as IR."""

    def __init__(self, path_to_xml: Any, path_to_bin: Any = "", version: Any = None):
        if version not in (None, "UNSPECIFIED", "IR_V11", Version.UNSPECIFIED, Version.IR_V11):
            raise NotImplementedError(f"Serialize: Tenon writes IR_V11, not {version}")
        self._paths = os.fspath(path_to_xml), os.fspath(path_to_bin or "")

    def run_on_model(self, model: Any) -> bool:
        model._save(*self._paths)
        return False


class MakeStateful(ModelPass):
    """Makes states of pairs of a parameter and a result: MakeStateful([(parameter, result)]) or ({"input": "output"})."""

    def __init__(self, pairs_to_replace: Any):
        self._pairs = list(pairs_to_replace.items()) if isinstance(pairs_to_replace, dict) else list(pairs_to_replace)

    def run_on_model(self, model: Any) -> bool:
        for first, second in self._pairs:
            parameter = model.input(first).node if isinstance(first, str) else first
            result = model.output(second).node if isinstance(second, str) else second
            name = f"{first if isinstance(first, str) else parameter.friendly_name}{second if isinstance(second, str) else result.friendly_name}"
            shape, kind = parameter.partial_shape, parameter.get_element_type()
            start = Constant(kind, [each.get_length() if each.is_static else 0 for each in shape], [0])
            state = {"variable_id": name, "variable_type": kind, "variable_shape": shape}
            read = make_node("ReadValue", [start], state, "opset6", parameter.friendly_name)
            value = result.input_value(0)
            parameter.output(0).replace(read.output(0))
            if value.node == parameter:
                value = read.output(0)
            model.add_sinks([make_node("Assign", [value], {"variable_id": name}, "opset6")])
            model.remove_result(result)
            model.remove_parameter(parameter)
        model.validate_nodes_and_infer_types()
        return bool(self._pairs)


class MatcherPass(ModelPass):
    """Calls a function for each part of a model that a Matcher finds; it returns whether it changed the model."""

    def __init__(self, matcher: Any = None, callback: Any = None):
        self._matcher, self._callback = matcher, callback

    def register_matcher(self, matcher: Matcher, callback: Callable) -> None:
        self._matcher, self._callback = matcher, callback

    def register_new_node(self, node: Node) -> Node:
        """Nodes that a callback makes are seen by the next pass."""
        return node

    def apply(self, node: Node) -> bool:
        if self._matcher is None:
            raise RuntimeError(f"{self.get_name()}: register_matcher() was not called")
        return bool(self._matcher.match(node) and self._callback(self._matcher))

    def run_on_model(self, model: Any) -> bool:
        changed = False
        for node in model.get_ordered_ops():
            changed |= self.apply(node)
        return changed


class GraphRewrite(ModelPass):
    """Several MatcherPasses: the first that changes a node ends its turn."""

    def __init__(self) -> None:
        self._passes: list = []

    def add_matcher(self, added: MatcherPass) -> None:
        self._passes.append(added)

    def run_on_model(self, model: Any) -> bool:
        changed = False
        for node in model.get_ordered_ops():
            changed |= any(each.apply(node) for each in self._passes)
        return changed


class Manager:
    """Runs passes in order."""

    def __init__(self) -> None:
        self._passes: list = []
        self._validates = True

    def register_pass(self, made: Union[PassBase, str], *arguments: Any) -> Any:
        """A pass; or the name of one of these with its arguments."""
        if isinstance(made, str):
            kind = globals().get(made)
            if not (isinstance(kind, type) and issubclass(kind, PassBase)):
                raise NotImplementedError(f"Manager: Tenon has no pass {made!r}")
            made = kind(*arguments)
        if not isinstance(made, PassBase):
            raise TypeError(f"Manager.register_pass takes a pass, not {made!r}")
        self._passes.append(made)
        return made

    def set_per_pass_validation(self, new_state: bool) -> None:
        self._validates = bool(new_state)

    def run_passes(self, model: Any) -> bool:
        changed = False
        for each in self._passes:
            did = bool(each.run_on_model(model))
            if did and self._validates:
                model.validate_nodes_and_infer_types()
            changed |= did
        return changed


module_of(f"{__name__}.manager", "Manager.", {"Manager": Manager, "PassBase": PassBase})
module_of(f"{__name__}.graph_rewrite", "Rewriting.", {"GraphRewrite": GraphRewrite, "MatcherPass": MatcherPass})


def __getattr__(name: str) -> Any:
    raise refuse(__name__, name)
