#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records single-operation models with inputs and outputs, computed by OpenVINO's CPU plugin: shared by the files of cases.
The folder to write to is the program's first argument."""
import os
import sys

import numpy as np
import openvino as ov
from openvino import opset1

OUT = sys.argv[1]
os.makedirs(OUT, exist_ok=True)
rng = np.random.default_rng(3)
core = ov.Core()
# Otherwise the plugin may use bf16 or fast approximations, and the reference must be exact.
core.set_property("CPU", {"INFERENCE_PRECISION_HINT": "f32"})
index = []
F = np.float32


def f(*shape, low=-2.0, high=2.0):
    return rng.uniform(low, high, shape).astype(F)


def i(*shape, low=-9, high=9, t=np.int64):
    return rng.integers(low, high, shape).astype(t)


def save(name, array):
    shape = array.shape  # ascontiguousarray would turn rank 0 into rank 1.
    array = np.ascontiguousarray(array)
    array.tofile(os.path.join(OUT, name))
    kind = {"float32": "f32", "float64": "f64", "float16": "f16", "int64": "i64", "int32": "i32", "int8": "i8", "uint8": "u8", "int16": "i16",
            "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "boolean"}[str(array.dtype)]
    return f"{kind} {','.join(map(str, shape)) or '-'} {name}"


def node_attributes(node):
    """Name and text of each attribute, read from the node's serialised form by the caller's schema names."""
    pairs = []
    for key, value in node.get_attributes().items():
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, (list, tuple)) or type(value).__name__ in ("Shape", "Strides", "CoordinateDiff", "AxisSet", "ndarray"):
            value = ",".join(str(x) for x in value)
        elif isinstance(value, float):
            value = repr(value)
        pairs.append(f"{key}={value}")
    return pairs


def case(label, inputs, build, opset=None, tolerance=1e-4, constants=(), outputs=None):
    """inputs: arrays. Those whose position is in `constants` are baked in (what shape functions read)."""
    params, nodes = [], []
    for position, array in enumerate(inputs):
        array = np.asarray(array)
        if position in constants:
            nodes.append(opset1.constant(array))
        else:
            p = opset1.parameter(list(array.shape), ov.Type(array.dtype))
            params.append(p)
            nodes.append(p)
    node = build(*nodes)
    count = node.get_output_size() if outputs is None else outputs
    model = ov.Model([opset1.result(node.output(k)) for k in range(count)], params, "m")
    compiled = core.compile_model(model, "CPU")
    feed = [np.asarray(a) for p, a in enumerate(inputs) if p not in constants]
    results = compiled(feed)
    results = [np.array(results[k]) for k in range(count)]
    info = node.get_type_info()
    version = info.version_id.replace("opset", "") or "0"
    number = len(index)
    lines = [f"case {label}", f"node {info.name} {version} {tolerance}"]
    lines += [f"attribute {a}" for a in node_attributes(node)]
    for position, array in enumerate(inputs):
        word = "constant" if position in constants else "input"
        lines.append(f"{word} " + save(f"{number}_in{position}.bin", np.asarray(array)))
    for k, array in enumerate(results):
        # The plugin may compute i64 in a narrower type; the model's own type is used.
        array = array.astype(node.get_output_element_type(k).to_dtype())
        lines.append("output " + save(f"{number}_out{k}.bin", array))
    index.append("\n".join(lines))


def attempt(*arguments, **named):
    try:
        case(*arguments, **named)
    except Exception as error:  # The plugin itself lacks this case: report it, and let the C++ side count.
        print(f"no judgement on {arguments[0]}: {str(error).splitlines()[0][:150]}", file=sys.stderr)


def raw(opset, name, inputs, attributes):
    from openvino.utils.node_factory import NodeFactory
    return NodeFactory(opset).create(name, [i.output(0) for i in inputs], attributes)
