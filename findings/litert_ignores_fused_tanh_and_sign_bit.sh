#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# LiteRT (ai-edge-litert 2.3.0) on x86-64: the file format knows six activations that an operator can be fused with. LiteRT applies RELU, RELU6 and
# RELU_N1_TO_1, and leaves TANH and SIGN_BIT out without an error: ADD with TANH is a plain sum, and so it is with SUB, MUL, DIV and
# MAX_POOL_2D. The default delegate and the built-in kernels agree in it. OpenVINO 2026.4.1 reads the same file and applies TANH; it
# refuses SIGN_BIT.
# Guess before the run: an activation of the format is applied, or the model is refused.
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
from ai_edge_litert.interpreter import Interpreter, OpResolverType

path = pathlib.Path(sys.argv[1])


def build(operation, settings, *inputs):
    """A model of one operator of f32 whose output has the shape of its first input."""
    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.buffers, graph.tensors = 3, [schema.BufferT()], []
    for index, value in enumerate((*inputs, inputs[0])):
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.type, tensor.buffer = f"t{index}", list(value.shape), schema.TensorType.FLOAT32, 0
        graph.tensors.append(tensor)
    code, node = schema.OperatorCodeT(), schema.OperatorT()
    code.builtinCode = code.deprecatedBuiltinCode = getattr(schema.BuiltinOperator, operation)
    code.version, node.opcodeIndex = 1, 0
    node.builtinOptions, node.builtinOptionsType = settings, getattr(schema.BuiltinOptions, type(settings).__name__[:-1])
    node.inputs, node.outputs = list(range(len(inputs))), [len(inputs)]
    graph.inputs, graph.outputs, graph.operators = node.inputs, node.outputs, [node]
    model.operatorCodes, model.subgraphs = [code], [graph]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    path.write_bytes(bytes(builder.Output()))


def by_litert(resolver, *inputs):
    interpreter = Interpreter(model_path=str(path), experimental_op_resolver_type=resolver, num_threads=1)
    interpreter.allocate_tensors()
    for detail, value in zip(interpreter.get_input_details(), inputs):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


a, b = np.float32([[-3, -0.75, 0.25, 8]]), np.float32([[0.5, 0.5, 0.5, 0.5]])
picture = a.reshape(1, 2, 2, 1)
pool = schema.Pool2DOptionsT()
pool.padding, pool.strideH, pool.strideW, pool.filterHeight, pool.filterWidth = schema.Padding.SAME, 1, 1, 1, 1
cases = {"ADD": (schema.AddOptionsT(), (a, b), a + b), "SUB": (schema.SubOptionsT(), (a, b), a - b), "MUL": (schema.MulOptionsT(), (a, b), a * b),
         "DIV": (schema.DivOptionsT(), (a, b), a / b), "MAX_POOL_2D": (pool, (picture,), picture)}
activations = {"NONE": lambda x: x, "RELU": lambda x: np.maximum(x, 0), "RELU6": lambda x: np.clip(x, 0, 6),
               "RELU_N1_TO_1": lambda x: np.clip(x, -1, 1), "TANH": np.tanh, "SIGN_BIT": None}
for operation, (settings, inputs, plain) in cases.items():
    for name, activation in activations.items():
        settings.fusedActivationFunction = getattr(schema.ActivationFunctionType, name)
        build(operation, settings, *inputs)
        ignored = name in ("TANH", "SIGN_BIT")
        for resolver in (OpResolverType.AUTO, OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES):
            found = by_litert(resolver, *inputs)
            assert np.allclose(found, plain if ignored else activation(plain), atol=1e-6)
        try:
            other = ov.compile_model(ov.Core().read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(list(inputs))[0]
            assert np.allclose(other, activation(plain), atol=1e-5)
            other = [round(float(value), 4) for value in other.ravel()]
        except RuntimeError:
            assert name == "SIGN_BIT"
            other = "refused"
        print(f"{operation} with {name}: LiteRT {[round(float(value), 4) for value in found.ravel()]}, OpenVINO {other}")
PYTHON
