#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# IREE 3.13.0 for CPUs: Pow of an ONNX model is NaN for each negative base if the exponents are a tensor of the model, even for whole
# exponents: (-3) ** 2 is NaN, not 9. For int32 it goes by floats and gives -2147483648, and 16777219 ** 1 is 16777216.
# Positive bases are right, and so is an exponent of 2 that is a constant. ONNX Runtime is right in each.
# Guess before the run: whole exponents of negative bases are right, as in C's pow, and powers of integers are exact.
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
from onnx import helper, numpy_helper


def run(base, exponent, constant):
    """Base to the power of exponent by IREE and by ONNX Runtime."""
    values = {"x": base} if constant else {"x": base, "e": exponent}
    infos = [helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for name, x in (values | {"y": base}).items()]
    graph = helper.make_graph([helper.make_node("Pow", ["x", "e"], ["y"])], "graph", infos[:-1], infos[-1:],
                              [numpy_helper.from_array(exponent, "e")] if constant else [])
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


cases = {"float32": ([-3, -2, 2, 3], [2, 3, 0.5, 2], np.float32, False, [np.nan, np.nan, 2**0.5, 9]),
         "int32": ([-3, -2, 3, 16777219], [2, 3, 2, 1], np.int32, False, [-(2**31), -(2**31), 9, 16777216]),
         "float32, constant": ([-3, -2, 2, 3], [2, 2, 2, 2], np.float32, True, [9, 4, 4, 9])}
for name, (base, exponent, dtype, constant, seen) in cases.items():
    found, right = run(np.array(base, dtype), np.array(exponent[0] if constant else exponent, dtype), constant)
    print(f"{name}, {base} to the power of {exponent}: IREE {found.tolist()}, ONNX Runtime {right.tolist()}")
    assert np.allclose(found.astype(float), seen, rtol=1e-6 if dtype == np.float32 else 0, equal_nan=True)
    assert np.allclose(right, np.power(np.float64(base), exponent), rtol=1e-6)
PYTHON
