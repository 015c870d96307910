# SPDX-License-Identifier: Apache-2.0
"""Tenon: one tensor over the memory of media, compute and inference frameworks, and models on it where it lies.

    import tenon as tn
    compiled = tn.compile_model("model.onnx", "CPU")
    print(compiled(array)[0])

Names are OpenVINO's where OpenVINO has them: `import tenon.openvino as ov` runs its scripts.
"""

from __future__ import annotations

import atexit as _atexit
import os as _os
import sys as _sys
from typing import Any as _Any, Optional as _Optional

try:
    _interpreters = __import__("_interpreters" if _sys.version_info >= (3, 13) else "_xxsubinterpreters")
except ImportError:
    pass  # Such a Python makes none.
else:
    # One that shares the process's lock would be let in, and break the module for the main interpreter.
    if _interpreters.get_current() != _interpreters.get_main():
        raise ImportError("tenon works in the main interpreter of a process alone, and this is a subinterpreter")

from . import _native

if not _native._take_unwinder():
    raise ImportError("tenon must be imported before GStreamer here, so put `import tenon` above `from gi.repository import Gst`: PyGObject makes every library that comes "
                      "later use the exceptions of libunwind, and the C++ library, which another package (NumPy...) loaded before, uses those of libgcc. An error would end the process")

from . import _members, errors, properties
from ._calls import LedgerScope, install as _install, ledger
from ._detections import Detection, Detections, install as _install_detections
from ._elements import Sink, Source, Transform, register_element
from ._enums import ZeroCopy
from ._media import Pipeline, Video, open
from ._media import drop_all as _drop_all
from ._native import (
    AsyncInferQueue,
    CompiledModel,
    ConstOutput,
    Constant,
    Core,
    Dimension,
    Frame,
    InferRequest,
    Layout,
    Ledger,
    Model,
    Node,
    Output,
    Parameter,
    PartialShape,
    ProfilingInfo,
    RemoteContext,
    RemoteTensor,
    Result,
    Router,
    Tensor,
    Type,
    VariableState,
    Version,
    __version__,
    absent,
    contexts,
    elements,
    explain,
    from_dlpack,
    layout_helpers,
    make_node,
    map,
    preprocess,
    start_trace,
    write_trace,
)
from ._results import OVDict
from ._shape import Shape
from .errors import Error

_install()
_install_detections()
_members.install()
_atexit.register(_native._leave_interpreter)
_atexit.register(_drop_all)  # Called before the one above.
_os.register_at_fork(after_in_child=_native._note_fork)

_core: _Optional[Core] = None


def core() -> Core:
    """The Core that compile_model() and read_model() use: one per process, made on first use."""
    global _core
    if _core is None:
        _core = Core()
    return _core


def compile_model(model: _Any, device_name: str = "AUTO", config: _Optional[dict] = None) -> CompiledModel:
    """Compiles a Model or the file at a path (ONNX, or the .xml of an OpenVINO IR). @errors MissingFile."""
    if not isinstance(model, (Model, bytes)):
        errors.check_file(model)
    return core().compile_model(model, device_name, config)


def read_model(model: _Any, weights: _Any = None) -> Model:
    """Reads a model from a path or from bytes. Weights are mapped, not copied. @errors MissingFile."""
    errors.check_file(model)
    return core().read_model(model, weights)


def _check_model(model: _Any) -> None:
    if not isinstance(model, Model):
        raise TypeError(f"what is written is a Model, as read_model() gives it, not {model!r}")


def save_model(model: Model, output_model: _Any, compress_to_fp16: bool = False) -> None:
    """Writes a model as OpenVINO IR: the .xml at this path and a .bin beside it. Weights keep their types, or of f32 become f16."""
    _check_model(model)
    if compress_to_fp16:
        model = model.clone()
        _native._run_pass(model, "compress_to_f16")
    model._save(_os.fspath(output_model), "")


def serialize(model: Model, xml_path: _Any, bin_path: _Any = "") -> None:
    """Writes a model as OpenVINO IR to two paths."""
    _check_model(model)
    model._save(_os.fspath(xml_path), _os.fspath(bin_path))


def get_version() -> str:
    """The version of Tenon."""
    return __version__


__all__ = [
    "AsyncInferQueue", "CompiledModel", "ConstOutput", "Constant", "Core", "Detection", "Detections", "Dimension", "Error", "Frame", "InferRequest", "Layout", "Ledger",
    "LedgerScope", "Model", "Node", "OVDict", "Output", "Parameter", "PartialShape", "ProfilingInfo", "RemoteContext", "RemoteTensor",
    "Pipeline", "Result", "Router", "Shape", "Sink", "Source", "Tensor", "Transform", "Type", "VariableState", "Version", "Video", "ZeroCopy", "absent", "compile_model", "contexts", "core", "elements", "errors", "explain",
    "from_dlpack", "get_version", "layout_helpers", "ledger", "make_node", "map", "open", "preprocess", "properties", "read_model", "register_element", "save_model",
    "serialize", "start_trace", "write_trace",
]
