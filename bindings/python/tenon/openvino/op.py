# SPDX-License-Identifier: Apache-2.0
"""Operations that are classes of their own."""

from typing import Any

from tenon import Constant, Parameter, Result, _native
from tenon._members import Variable, VariableInfo

from ._modules import module_of, refuse
from ._opsets import assign, read_value

__path__: list = []
if_op, loop, tensor_iterator = _native.if_op, _native.loop, _native.tensor_iterator

module_of(f"{__name__}.util", "States, and how bodies of control flow are fed.", {
    "Variable": Variable, "VariableInfo": VariableInfo,
    **{name: getattr(_native, name) for name in (
        "SliceInputDescription", "MergedInputDescription", "InvariantInputDescription", "BodyOutputDescription", "ConcatOutputDescription")},
})


def __getattr__(name: str) -> Any:
    raise refuse(__name__, name)
