# SPDX-License-Identifier: Apache-2.0
"""What a list of cases is made of: models of few nodes, their inputs, and how they are written as folders of ONNX's form."""
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

RANDOM = np.random.default_rng(13)
CASES = {}


def case(name, nodes, inputs, constants=None, opset=21, outputs=("y",), sparse=(), microsoft=False, is_open=False, expected=None, learned=0):
    """@param inputs, constants  arrays by name; the model's inputs have their shapes, or with is_open (vectors apart) their ranks only.
    @param learned  the version of ai.onnx.ml, if nodes are of it.
    @param expected  outputs by the formula of the operation's documentation, where ONNX Runtime has no kernel for this processor."""
    assert name not in CASES
    CASES[name] = (nodes, inputs, constants or {}, opset, outputs, sparse, microsoft, is_open, expected, learned)


def node(kind, inputs, outputs="y", **attributes):
    split = lambda names: names.split() if isinstance(names, str) else names
    return helper.make_node(kind, [n if n != "-" else "" for n in split(inputs)], [n if n != "-" else "" for n in split(outputs)],
                            **attributes)


def reals(*shape, scale=1.0):
    return (RANDOM.standard_normal(shape) * scale).astype(np.float32)


def fused(kind, inputs, outputs="y", **attributes):
    return node(kind, inputs, outputs, domain="com.microsoft", **attributes)


def computed(model, outputs, inputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(list(outputs), inputs)


def write(folder, nodes, inputs, constants, opset, outputs, sparse, microsoft, is_open, expected, learned):
    values = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), [None] * a.ndim if is_open and a.ndim > 1 else a.shape)
              for n, a in inputs.items()]
    results = [onnx.ValueInfoProto(name=n) for n in outputs]
    graph = helper.make_graph(nodes, "case", values, results, [numpy_helper.from_array(np.asarray(a), n) for n, a in constants.items()],
                              sparse_initializer=list(sparse))
    domains = [helper.make_opsetid("", opset)] + ([helper.make_opsetid("com.microsoft", 1)] if microsoft else [])
    domains += [helper.make_opsetid("ai.onnx.ml", learned)] if learned else []
    model = helper.make_model(graph, opset_imports=domains, ir_version=10)
    made = computed(model, outputs, inputs) if expected is None else expected
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
    for prefix, arrays in (("input", inputs.values()), ("output", made)):
        for k, array in enumerate(arrays):
            (data / f"{prefix}_{k}.pb").write_bytes(numpy_helper.from_array(np.asarray(array)).SerializeToString())
