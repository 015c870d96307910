#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# IREE 3.13.0 for CPUs: Div and Mod of an ONNX model take unsigned integers for signed ones: 255 / 2 of uint8 is 0, not 127, and 137 / 3 is 217,
# not 45; 65535 / 2 and 4294967295 / 2 are 0, too. Numbers below half of the range are right, as bytes of dark pixels, and Greater is
# right for all. The outputs come back as arrays of signed integers of the same bits. ONNX Runtime is right.
# Guess before the run: an unsigned division, or a refusal, as the model declares the type.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check iree-base-compiler==3.13.0 iree-base-runtime==3.13.0 onnx==1.23.2 onnxruntime==1.32.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import pathlib
import subprocess
import sys
import tempfile

import iree.compiler
import iree.runtime
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper


def run(operator, kind, x, w):
    """The result of an operator by IREE and by ONNX Runtime."""
    values = {"x": x, "w": w}
    infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(each.dtype), each.shape) for name, each in values.items()]
    node = helper.make_node(operator, ["x", "w"], ["y"])
    graph = helper.make_graph([node], "graph", infos, [helper.make_tensor_value_info("y", kind, x.shape)])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "model.onnx"), pathlib.Path(folder, "model.mlir")
        onnx.save(model, source)
        subprocess.run([pathlib.Path(sys.executable).parent / "iree-import-onnx", source, "-o", target], check=True)
        program = iree.compiler.compile_file(str(target), target_backends=["llvm-cpu"], input_type="onnx",
                                             extra_args=["--iree-llvmcpu-target-cpu=generic"])
    context = iree.runtime.SystemContext(config=iree.runtime.Config("local-sync"))
    module = iree.runtime.VmModule.copy_buffer(context.instance, program)
    context.add_vm_module(module)
    return np.asarray(context.modules[module.name]["graph"](*values.values()).to_host()), session.run(None, values)[0]


for dtype in (np.uint8, np.uint16, np.uint32):
    most = np.iinfo(dtype).max
    x, w = np.array([most, 7, most // 2 + 10], dtype), np.array([2, 2, 3], dtype)
    signed = np.dtype(f"i{x.itemsize}")
    for operator, right in (("Div", x // w), ("Mod", x % w)):
        found, expected = run(operator, helper.np_dtype_to_tensor_dtype(x.dtype), x, w)
        print(f"{operator} of {x.dtype} {x.tolist()} by {w.tolist()}: IREE {found.dtype} {found.view(dtype).tolist()}, ONNX Runtime {expected.tolist()}")
        assert np.array_equal(expected, right) and found.dtype == signed
        assert found.view(dtype)[1] == right[1] and found.view(dtype)[2] != right[2]
        if operator == "Div":
            quotient = np.trunc(x.view(signed) / w.view(signed)).astype(signed)
            assert np.array_equal(found, quotient), "that of signed integers"
found, right = run("Greater", TensorProto.BOOL, np.array([255, 3], np.uint8), np.array([1, 200], np.uint8))
assert found.tolist() == right.tolist() == [True, False]
PYTHON
