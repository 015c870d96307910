#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that load libopenvino_c by its name, as other languages' bindings do: plain_test.py LIBRARY. It has each name of the API under the
original's linker name, and compiles and runs a model."""
import ctypes
import json
import os
import pathlib
import subprocess
import sys
import tempfile

MODEL = b"""<?xml version="1.0"?><net name="m" version="11"><layers>
<layer id="0" name="x" type="Parameter" version="opset1"><data shape="1,4" element_type="f32"/><output><port id="0" precision="FP32" names="x">
<dim>1</dim><dim>4</dim></port></output></layer>
<layer id="1" name="relu" type="ReLU" version="opset1"><input><port id="0" precision="FP32"><dim>1</dim><dim>4</dim></port></input>
<output><port id="1" precision="FP32" names="y"><dim>1</dim><dim>4</dim></port></output></layer>
<layer id="2" name="y" type="Result" version="opset1"><input><port id="0" precision="FP32"><dim>1</dim><dim>4</dim></port></input></layer></layers>
<edges><edge from-layer="0" from-port="0" to-layer="1" to-port="0"/><edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></net>"""


def main():
    library = ctypes.CDLL(sys.argv[1])
    generate = pathlib.Path(__file__).with_name("generate.py")
    names = json.loads(subprocess.run([sys.executable, str(generate), "--names"], check=True, capture_output=True, text=True).stdout)
    all_names = {name for header in names.values() for kind in ("functions", "keys") for name in header[kind]}
    missing = sorted(name for name in all_names if not hasattr(library, name))
    assert not missing and len(all_names) > 200, f"not in the library: {missing}"

    def call(name, *arguments):
        status = getattr(library, name)(*arguments)
        assert status == 0, f"{name}: {status}"

    core, model, compiled, request, tensor, data = (ctypes.c_void_p() for _ in range(6))
    call("ov_core_create", ctypes.byref(core))
    call("ov_core_read_model_from_memory_buffer", core, MODEL, ctypes.c_size_t(len(MODEL)), None, ctypes.byref(model))
    call("ov_core_compile_model", core, model, b"CPU", ctypes.c_size_t(0), ctypes.byref(compiled))
    call("ov_compiled_model_create_infer_request", compiled, ctypes.byref(request))
    call("ov_infer_request_get_input_tensor", request, ctypes.byref(tensor))
    call("ov_tensor_data", tensor, ctypes.byref(data))
    values = ctypes.cast(data, ctypes.POINTER(ctypes.c_float))
    for index, value in enumerate((-1, 2, -3, 4)):
        values[index] = value
    library.ov_tensor_free(tensor)
    call("ov_infer_request_infer", request)
    call("ov_infer_request_get_output_tensor", request, ctypes.byref(tensor))
    call("ov_tensor_data", tensor, ctypes.byref(data))
    result = ctypes.cast(data, ctypes.POINTER(ctypes.c_float))[:4]
    assert result == [0, 2, 0, 4], result
    with tempfile.TemporaryDirectory() as folder:  # An export takes the place of a link instead of following it.
        precious, blob = pathlib.Path(folder) / "precious", pathlib.Path(folder) / "model.blob"
        precious.write_text("mine")
        blob.symlink_to(precious)
        call("ov_compiled_model_export_model", compiled, str(blob).encode())
        assert precious.read_text() == "mine" and not blob.is_symlink() and blob.stat().st_size > 100, os.listdir(folder)
        assert library.ov_compiled_model_export_model(compiled, f"{folder}/none/model.blob".encode()) == -1
        assert sorted(os.listdir(folder)) == ["model.blob", "precious"], os.listdir(folder)
    for name, handle in (("tensor", tensor), ("infer_request", request), ("compiled_model", compiled), ("model", model), ("core", core)):
        getattr(library, f"ov_{name}_free")(handle)
    print(f"{len(all_names)} names, {result}")


if __name__ == "__main__":
    main()
