# SPDX-License-Identifier: Apache-2.0
"""Functions of OpenVINO's package: models from files and to files, batches."""

from __future__ import annotations

import os
from typing import Any, Optional

import tenon as _tn
from tenon import _native


def read_model(model: Any, weights: Any = None) -> _native.Model:
    """Reads ONNX or OpenVINO IR from a path or from bytes."""
    return _tn.read_model(model, weights)


def save_model(model: _native.Model, output_model: Any, compress_to_fp16: bool = True) -> None:
    """Writes a model as OpenVINO IR, by default with f32 weights of 32 elements and more at half their size."""
    _tn.save_model(model, output_model, compress_to_fp16)


def _shapes(model: _native.Model, wanted: Any) -> dict:
    """Shapes by port from what convert_model takes: a shape, (name, shape), lists and dicts of these."""
    ports = model.inputs
    if isinstance(wanted, dict):
        return {model.input(name): shape for name, shape in wanted.items()}
    if isinstance(wanted, tuple) and len(wanted) >= 2 and isinstance(wanted[0], str):
        return {model.input(wanted[0]): next(part for part in wanted[1:] if not isinstance(part, (type, _native.Type)))}
    if isinstance(wanted, list) and wanted and all(isinstance(each, (list, tuple, _native.PartialShape)) for each in wanted):
        shapes: dict = {}
        for index, each in enumerate(wanted):
            shapes.update(_shapes(model, each) if isinstance(each, tuple) and isinstance(each[0], str) else {ports[index]: each})
        return shapes
    return {ports[0]: wanted}


def convert_model(input_model: Any, input: Any = None, output: Any = None, example_input: Any = None, extension: Any = None,
                  verbose: bool = False, share_weights: bool = True, dynamo: bool = False) -> _native.Model:
    """Reads an ONNX file, an IR, or the bytes of an ONNX model, and sets the shapes of its inputs."""
    if extension is not None:
        raise NotImplementedError("convert_model: extension: Tenon's readers take no extensions")
    if isinstance(input_model, (list, tuple)) and len(input_model) == 1:
        input_model = input_model[0]
    if isinstance(input_model, (str, os.PathLike)):
        path = os.fspath(input_model)
        if not os.path.exists(path):
            raise FileNotFoundError(f'convert_model: input_model must be an existing file, but "{path}" does not exist')
        model = _tn.read_model(path)
    elif isinstance(input_model, (bytes, bytearray, memoryview)):
        model = _tn.read_model(bytes(input_model))
    elif hasattr(input_model, "SerializeToString"):
        model = _tn.read_model(input_model.SerializeToString())
    elif hasattr(input_model, "getvalue"):
        model = _tn.read_model(input_model.getvalue())
    else:
        raise NotImplementedError(f"convert_model reads ONNX and OpenVINO IR, no {type(input_model).__module__}.{type(input_model).__name__}: "
                                  "export the model to ONNX first (torch.onnx.export, tf2onnx, paddle2onnx)")
    if input is not None:
        model.reshape(_shapes(model, input))
    if output is not None:
        names = [output] if isinstance(output, str) else list(output)
        outputs = [model.output(name) for name in names]
        model = _native.Model([port.node.input_value(0) for port in outputs], model.sinks, model.parameters, model.friendly_name)
    return model


def _batch_axis(port: Any) -> Optional[int]:
    layout = _native.layout_helpers.get_layout(port)
    return _native.layout_helpers.batch_idx(layout) if _native.layout_helpers.has_batch(layout) else None


def get_batch(model: _native.Model) -> _native.Dimension:
    """The extent of the axis that the inputs' layouts call N."""
    found = [port.partial_shape[axis] for port in model.inputs for axis in [_batch_axis(port)] if axis is not None]
    if not found:
        raise RuntimeError("Get original batch size fails due to batch is not set in any layout for any input: "
                           "set_layout of an input says which axis is N")
    if any(each != found[0] for each in found):
        raise RuntimeError(f"inputs have different batches: {', '.join(map(str, found))}")
    return found[0]


def set_batch(model: _native.Model, dimension: Any = -1) -> None:
    """Sets the extent of the axis that the inputs' layouts call N."""
    get_batch(model)
    shapes = {}
    for port in model.inputs:
        axis = _batch_axis(port)
        if axis is not None:
            shapes[port] = [dimension if i == axis else each for i, each in enumerate(port.partial_shape)]
    model.reshape(shapes)


def tensor_from_file(path: Any) -> _native.Tensor:
    """The bytes of a file as a tensor of u8."""
    import numpy

    return _native.Tensor(numpy.fromfile(path, dtype=numpy.uint8))


def shutdown() -> None:
    """Lets go of the Core that compile_model and read_model made."""
    _tn._core = None
