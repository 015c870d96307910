#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# LiteRT (ai-edge-litert 2.3.0) on x86-64: with the default delegate, EXP of NaN is 0, an ordinary weight or probability, and EXP of 88.5 infinity,
# though 2.7e38 fits in float32. MAX_POOL_2D of NaN and 1 is -infinity, neither of them. RSQRT of 0 is NaN. Without the delegate they are
# NaN, 2.7e38, 1 and infinity.
# Guess before the run: both kinds of kernels agree, and a NaN stays NaN.
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


pool = schema.Pool2DOptionsT()
pool.padding, pool.strideW, pool.strideH, pool.filterWidth, pool.filterHeight = schema.Padding.VALID, 2, 1, 2, 1
nan, inf = np.nan, np.inf
for operation, x, options, shape, seen, plain in (
        ("EXP", [nan, 88.5, 1, -inf], schema.ExpOptionsT(), None, [0, inf, np.e, 0], [nan, np.exp(88.5), np.e, 0]),
        ("RSQRT", [0, 4, inf, nan], None, None, [nan, 0.5, 0, nan], [inf, 0.5, 0, nan]),
        ("MAX_POOL_2D", [[[[nan], [1], [2], [nan], [3], [4]]]], pool, (1, 1, 3, 1), [-inf, 2, 4], [1, 2, 4])):
    by_default, without = run(operation, np.array(x, np.float32), options, shape)
    assert np.allclose(by_default, seen, rtol=1e-5, equal_nan=True)
    assert np.allclose(without, plain, rtol=1e-5, equal_nan=True)
PYTHON
