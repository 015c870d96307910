#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# LiteRT (ai-edge-litert 2.3.0) on x86-64: REDUCE_MIN and REDUCE_MAX of a row with a NaN neither hand on the NaN nor skip it: they forget
# what came before it, so the least of [1, NaN, 3, 2] is 2 and the greatest of [9, NaN, 3, 2] is 3. In longer rows it depends on the places
# of both. The default delegate and the built-in kernels agree in it.
# Guess before the run: the answer is NaN, or the least of the numbers.
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


nan = np.nan
for operation, row, seen in (("REDUCE_MIN", [1, nan, 3, 2], 2), ("REDUCE_MIN", [nan, 1, 3, 2], 1), ("REDUCE_MIN", [1, 3, 2, nan], nan),
                             ("REDUCE_MAX", [9, nan, 3, 2], 3), ("REDUCE_MAX", [nan, 9, 3, 2], 9)):
    for delegate in (True, False):
        found = run(operation, np.array([row], np.float32), (1,), axis=1, delegate=delegate)[0]
        print(f"{operation} of {row} {'by default' if delegate else 'without the delegate'}: {found}")
        assert np.array_equal(found, np.float32(seen), equal_nan=True)
lost = 0
for least in range(32):
    for broken in range(32):
        row = np.full((1, 32), 10, np.float32)
        row[0, least], row[0, broken] = 1, nan
        lost += least != broken and run("REDUCE_MIN", row, (1,), axis=1)[0] == 10
print("of 992 rows of 32 numbers with one least and one NaN, the least is lost without a trace in", lost)
assert lost > 0
PYTHON
