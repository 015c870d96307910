#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenVINO 2026.4.1 reads a TFLite model with RESIZE_NEAREST_NEIGHBOR and takes its places as if half_pixel_centers were not set: a row of 0 to 5
# halved is 0, 2, 4, whether it is set or not, and 0 to 7 made two pixels is 0, 4. LiteRT (ai-edge-litert 2.3.0), for which the format was
# made, heeds it and gives 1, 3, 5 and 2, 6. Doubling is the same for both settings and hides it. No warning.
# Guess before the run: nearest pixels are copied, so both give the same row.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ai-edge-litert==2.3.0 flatbuffers==25.12.19 openvino==2026.4.1 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - "$folder/model.tflite" <<'PYTHON'
import pathlib
import sys

import flatbuffers
import numpy as np
import openvino as ov
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter

path = pathlib.Path(sys.argv[1])


def both(width, result, centres):
    """A row of 0, 1, 2 and so on, resized to another width by LiteRT and by OpenVINO."""
    model, graph, size = schema.ModelT(), schema.SubGraphT(), schema.BufferT()
    size.data = np.frombuffer(np.int32([1, result]).tobytes(), np.uint8)
    model.version, model.buffers, graph.tensors = 3, [schema.BufferT(), size], []
    kinds = schema.TensorType
    for index, (shape, kind) in enumerate((((1, 1, width, 1), kinds.FLOAT32), ((2,), kinds.INT32), ((1, 1, result, 1), kinds.FLOAT32))):
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.type, tensor.buffer = f"t{index}", list(shape), kind, int(index == 1)
        graph.tensors.append(tensor)
    code, node, settings = schema.OperatorCodeT(), schema.OperatorT(), schema.ResizeNearestNeighborOptionsT()
    code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.RESIZE_NEAREST_NEIGHBOR
    code.version, node.opcodeIndex, node.inputs, node.outputs = 3, 0, [0, 1], [2]
    settings.halfPixelCenters = centres
    node.builtinOptions, node.builtinOptionsType = settings, schema.BuiltinOptions.ResizeNearestNeighborOptions
    graph.inputs, graph.outputs, graph.operators = [0], [2], [node]
    model.operatorCodes, model.subgraphs = [code], [graph]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(bytes(builder.Output()))
    row = np.arange(width, dtype=np.float32).reshape(1, 1, width, 1)
    interpreter = Interpreter(model_path=str(path), num_threads=1)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], row)
    interpreter.invoke()
    by_litert = interpreter.get_tensor(interpreter.get_output_details()[0]["index"])
    by_openvino = ov.compile_model(ov.Core().read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([row])[0]
    return [found.ravel().astype(int).tolist() for found in (by_litert, by_openvino)]


for width, result in ((6, 3), (8, 2), (6, 9), (4, 8), (5, 3)):
    place = (np.arange(result) + 0.5) * width / result
    for centres in (True, False):
        by_litert, by_openvino = both(width, result, centres)
        print(f"0 to {width - 1} to {result} pixels, half_pixel_centers {centres}: LiteRT {by_litert}, OpenVINO {by_openvino}")
        if centres:
            assert by_litert == np.floor(place).astype(int).tolist()
        else:
            assert by_litert == by_openvino
        assert by_openvino == (np.arange(result) * width // result).tolist()
assert both(6, 3, True) == [[1, 3, 5], [0, 2, 4]] and both(8, 2, True) == [[2, 6], [0, 4]]
PYTHON
