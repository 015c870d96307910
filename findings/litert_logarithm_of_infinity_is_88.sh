#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# LiteRT (ai-edge-litert 2.3.0) on x86-64 with its default delegate, XNNPACK: LOG of infinity is 88.376 and of NaN 88.78, EXP of NaN is 0,
# and RSQRT of 0 is NaN, not infinity; of 3e38 it is 8.66e-20, half again too large. LOG is 88.376 for all of 2.5e38 to infinity. Without
# the delegate each is right.
# Guess before the run: the delegate is right up to a few units in the last place, and hands on NaN and infinity.
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


def run(operation, x, shape, axis=None, delegate=True):
    """A model of one operator on x, of f32, whose output has a shape; with an axis, it reduces over that."""
    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.buffers, graph.tensors = 3, [schema.BufferT()], []
    values = [(x.shape, schema.TensorType.FLOAT32, None), (shape, schema.TensorType.FLOAT32, None)]
    if axis is not None:
        values.append(((1,), schema.TensorType.INT32, np.array([axis], np.int32)))
    for index, (extents, element, data) in enumerate(values):
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.type, tensor.buffer = str(index), list(extents), element, 0
        if data is not None:
            model.buffers.append(schema.BufferT())
            tensor.buffer, model.buffers[-1].data = 1, np.frombuffer(data.tobytes(), np.uint8)
        graph.tensors.append(tensor)
    code, node = schema.OperatorCodeT(), schema.OperatorT()
    code.builtinCode = code.deprecatedBuiltinCode = getattr(schema.BuiltinOperator, operation)
    code.version, node.opcodeIndex, node.outputs = 1, 0, [1]
    node.inputs = [0] if axis is None else [0, 2]
    if axis is not None:
        node.builtinOptions, node.builtinOptionsType = schema.ReducerOptionsT(), schema.BuiltinOptions.ReducerOptions
    graph.inputs, graph.outputs, graph.operators = [0], [1], [node]
    model.operatorCodes, model.subgraphs = [code], [graph]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    resolver = OpResolverType.AUTO if delegate else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(model_content=bytes(builder.Output()), experimental_op_resolver_type=resolver, num_threads=1)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


nan, infinity = np.nan, np.inf
seen = {"EXP": {nan: 0, infinity: infinity, -1: 0.36787945}, "LOG": {nan: 88.78173, infinity: 88.37627, 3e38: 88.37627, 2: 0.6931472},
        "RSQRT": {nan: nan, infinity: 0, 0.0: nan, 3e38: 8.6595884e-20, 4: 0.5}}
for operation, pairs in seen.items():
    x = np.tile(np.array(list(pairs), np.float32), 5)[None]
    found, right = run(operation, x, x.shape)[0], run(operation, x, x.shape, delegate=False)[0]
    for index, (number, expected) in enumerate(pairs.items()):
        print(f"{operation}({number}) is {found[index]:.8g} by default and {right[index]:.8g} without the delegate")
        assert np.allclose(found[index::len(pairs)], expected, rtol=1e-5, equal_nan=True)
    with np.errstate(all="ignore"):
        exact = {"EXP": np.exp, "LOG": np.log, "RSQRT": lambda y: 1 / np.sqrt(y)}[operation](x[0])
    assert np.allclose(right, exact, rtol=1e-5, equal_nan=True)
PYTHON
