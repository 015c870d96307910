# SPDX-License-Identifier: Apache-2.0
# Models from streams and to them, and numbers at the ends of their types.
import io
import os
import tempfile

import numpy as np
import openvino as ov
from openvino import opset13 as ops

core = ov.Core()
x = ops.parameter([2, 3], np.float32, name="x")
model = ov.Model([ops.result(ops.add(x, ops.constant(np.arange(6, dtype=np.float32).reshape(2, 3)))), ops.result(ops.relu(x))], [x], "two")
with tempfile.TemporaryDirectory() as folder:
    ov.serialize(model, os.path.join(folder, "two.xml"), os.path.join(folder, "two.bin"))
    with open(os.path.join(folder, "two.xml"), "rb") as file:
        text = file.read()
    with open(os.path.join(folder, "two.bin"), "rb") as file:
        weights = file.read()
given = -np.ones((2, 3), np.float32)
for read in (core.read_model(io.BytesIO(text), io.BytesIO(weights)), core.read_model(text, weights)):
    print("read", core.compile_model(read, "CPU")(given)[0].tolist())
compiled = core.compile_model(text, "CPU", weights=weights)
print("compiled with weights", compiled(given)[0].tolist())
stream = io.BytesIO()
compiled.export_model(stream)
print("imported from where the stream is", core.import_model(stream, "CPU")(given)[0].tolist())
results = compiled(given)
print("last output", results[-1].tolist(), (results[-1] == results[1]).all())
print("large", ov.op.Constant(ov.Type.u64, ov.Shape([3]), [2**63 + 5, 2**64 - 1, 7]).data.tolist())
print("packed", ov.Tensor(np.array([0x21, 0x43], np.uint8), ov.Shape([4]), ov.Type.u4).data.tolist())
print("part of a shape", ov.PartialShape([1, -1, 3])[1:], ov.PartialShape([1, -1, 3])[::-1], ov.PartialShape([1, 2])[5:])
for wrong in ([-1], [1.5]):
    try:
        ov.Shape(wrong)
    except TypeError:
        print("refused", wrong)
