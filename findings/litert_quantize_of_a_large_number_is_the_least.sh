#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# LiteRT (ai-edge-litert 2.3.0) on x86-64, without the default delegate, as on devices that lack it: QUANTIZE to int8 saturates only up to 2 ** 31
# scales. Beyond, 1e10 with scale 0.5 becomes -128, the least, in place of 127, so that the largest activation turns into the smallest.
# Infinity and NaN do so, too. With the delegate all of these are 127.
# Guess before the run: large numbers saturate at 127 in both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check ai-edge-litert==2.3.0 flatbuffers==25.12.19 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

resolvers = {"by default": OpResolverType.AUTO, "without the delegate": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES}


def run(operation, x, options, shape=None, scale=None):
    """A model of one operator from x, of f32: the answers by default and without the delegate. With a scale, the output is int8."""
    model, graph, code, node, target = schema.ModelT(), schema.SubGraphT(), schema.OperatorCodeT(), schema.OperatorT(), schema.TensorT()
    source = schema.TensorT()
    source.name, source.shape, source.type = "x", list(x.shape), schema.TensorType.FLOAT32
    target.name, target.shape = "y", list(shape or x.shape)
    target.type = schema.TensorType.FLOAT32 if scale is None else schema.TensorType.INT8
    if scale is not None:
        target.quantization = schema.QuantizationParametersT()
        target.quantization.scale, target.quantization.zeroPoint = [scale], [0]
    code.builtinCode = code.deprecatedBuiltinCode = getattr(schema.BuiltinOperator, operation)
    code.version, node.inputs, node.outputs = 1, [0], [1]
    if options is not None:
        node.builtinOptions, node.builtinOptionsType = options, getattr(schema.BuiltinOptions, type(options).__name__[:-1])
    graph.tensors, graph.inputs, graph.outputs, graph.operators = [source, target], [0], [1], [node]
    model.version, model.buffers, model.operatorCodes, model.subgraphs = 3, [schema.BufferT()], [code], [graph]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    answers = {}
    for name, resolver in resolvers.items():
        interpreter = Interpreter(model_content=bytes(builder.Output()), experimental_op_resolver_type=resolver, num_threads=1)
        interpreter.allocate_tensors()
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
        interpreter.invoke()
        answers[name] = interpreter.get_tensor(interpreter.get_output_details()[0]["index"]).ravel().tolist()
    print(f"{operation} of {x.ravel().tolist()}: {answers}")
    return answers.values()


numbers = np.float32([0.25, 60, 100, 1e9, 1.1e9, 1e10, 1e30, np.inf, np.nan, -1e10, -1e30])
by_default, without = run("QUANTIZE", numbers, schema.QuantizeOptionsT(), scale=0.5)
assert by_default == [0, 120, 127, 127, 127, 127, 127, 127, 127, -128, -128]
assert without == [0, 120, 127, 127, -128, -128, -128, -128, -128, -128, -128]
_, fine = run("QUANTIZE", np.float32([20, 21, 22, 100]), schema.QuantizeOptionsT(), scale=1e-8)
assert fine == [127, 127, -128, -128]
PYTHON
