# SPDX-License-Identifier: Apache-2.0
"""Compiled models on disk, exported and imported."""
import io
import os
import tempfile

import numpy as np

import openvino as ov
import openvino.opset10 as ops
import openvino.properties as props
import openvino.properties.hint as hints

x = ops.parameter([1, 16], np.float32, name="x")
x.output(0).set_names({"x"})
y = ops.matmul(x, ops.constant(np.eye(16, dtype=np.float32) * 3), False, False)
y.output(0).set_names({"y"})
model = ov.Model([y], [x], "cached")
data = np.arange(16, dtype=np.float32).reshape(1, 16)

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.xml")
    ov.save_model(model, path)
    print(sorted(os.listdir(folder)))
    for turn in range(2):
        core = ov.Core()
        core.set_property({props.cache_dir: os.path.join(folder, "cache")})
        compiled = core.compile_model(path, "CPU", {hints.inference_precision: ov.Type.f32})
        print(turn, compiled.get_property(props.loaded_from_cache), compiled(data)["y"].tolist()[0][:4], len(os.listdir(os.path.join(folder, "cache"))) > 0)

core = ov.Core()
compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
blob = compiled.export_model()
print(len(blob.getvalue()) > 100)
print(core.import_model(blob, "CPU")(data)[0].tolist()[0][-2:])
stream = io.BytesIO()
compiled.export_model(stream)
stream.seek(0)
again = core.import_model(stream, "CPU")
print(again.input().any_name, again.output("y").shape, again({"x": data})["y"].tolist()[0][-2:])
try:
    core.import_model(b"no model", "CPU")
except RuntimeError:
    print("refused")
