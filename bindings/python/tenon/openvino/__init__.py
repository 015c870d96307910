# SPDX-License-Identifier: Apache-2.0
"""OpenVINO's Python interface over Tenon: `import tenon.openvino as ov` runs scripts that were written for `import openvino as ov`.

Names that Tenon lacks raise AttributeError with the reason; docs/reference/python_openvino_names.md lists them.
"""

from __future__ import annotations

import sys as _sys
from typing import Any, Optional

import tenon as _tn
from tenon import _native
from tenon import (
    AsyncInferQueue,
    CompiledModel,
    ConstOutput,
    Core,
    Dimension,
    InferRequest,
    Layout,
    Model,
    Node,
    Output,
    PartialShape,
    ProfilingInfo,
    RemoteContext,
    RemoteTensor,
    Shape,
    Tensor,
    Type,
    Version,
    compile_model,
    layout_helpers,
    serialize,
)
from tenon._members import DiscreteTypeInfo, OVAny, RTMap

from . import _modules, _opsets
from ._convert import convert_model, get_batch, read_model, save_model, set_batch, shutdown, tensor_from_file
from ._lists import AxisSet, AxisVector, Coordinate, CoordinateDiff, Strides, TensorVector
from ._version import get_version

Input = _native.Input
globals().update(_opsets.install(__name__))
_sys.modules[f"{__name__}.layout_helpers"] = layout_helpers
from . import exceptions, helpers, op, passes, preprocess, properties, utils  # noqa: E402  They use the operation sets.

__version__ = get_version()
# What type checkers see of this module; the operation sets are modules of their own.
__all__ = [
    "AsyncInferQueue", "AxisSet", "AxisVector", "CompiledModel", "ConstOutput", "Coordinate", "CoordinateDiff", "Core", "Dimension",
    "DiscreteTypeInfo", "InferRequest", "Input", "Layout", "Model", "Node", "OVAny", "Output", "PartialShape", "ProfilingInfo", "RTMap",
    "RemoteContext", "RemoteTensor", "Shape", "Strides", "Tensor", "TensorVector", "Type", "Version", "compile_model", "convert_model",
    "exceptions", "get_batch", "get_version", "helpers", "layout_helpers", "op", "passes", "preprocess", "properties", "read_model",
    "save_model", "serialize", "set_batch", "shutdown", "tensor_from_file", "utils",
]


def __getattr__(name: str) -> Any:
    if name == "runtime":
        import importlib

        return importlib.import_module(f"{__name__}.runtime")
    raise _modules.refuse(__name__, name)
