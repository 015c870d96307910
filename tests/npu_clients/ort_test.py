# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's OpenVINO provider on the software NPU or GPU; the reference is its own CPU provider. matrix.py installs it."""
import importlib.util
import os
import tempfile
import unittest
from pathlib import Path

import numpy as np

DEVICE = os.environ.get("TENON_CLIENT_DEVICE", "NPU")  # As client.py, which needs OpenVINO's own package.


@unittest.skipUnless(importlib.util.find_spec("onnxruntime") and importlib.util.find_spec("onnx"), "no onnxruntime-openvino and onnx")
class OrtProvider(unittest.TestCase):
    def model(self, folder):
        import onnx  # pylint: disable=import-outside-toplevel
        from onnx import TensorProto, helper, numpy_helper  # pylint: disable=import-outside-toplevel

        random = np.random.default_rng(5)
        weights = [numpy_helper.from_array(random.normal(0, 0.2, shape).astype(np.float32), name)
                   for name, shape in (("w0", (8, 3, 3, 3)), ("w1", (8, 10)))]
        nodes = [helper.make_node("Conv", ["x", "w0"], ["c"], pads=[1, 1, 1, 1]), helper.make_node("Relu", ["c"], ["r"]),
                 helper.make_node("GlobalAveragePool", ["r"], ["g"]), helper.make_node("Flatten", ["g"], ["f"]),
                 helper.make_node("MatMul", ["f", "w1"], ["m"]), helper.make_node("Softmax", ["m"], ["y"])]
        graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 16, 16])],
                                  [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])], weights)
        path = Path(folder) / "model.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
        return str(path)

    def test_agrees_with_its_own_cpu(self):
        import onnxruntime as ort  # pylint: disable=import-outside-toplevel

        if "OpenVINOExecutionProvider" not in ort.get_available_providers():
            self.skipTest("this onnxruntime has no OpenVINO provider")
        with tempfile.TemporaryDirectory() as folder:
            path = self.model(folder)
            x = np.random.default_rng(6).normal(0, 1, (1, 3, 16, 16)).astype(np.float32)
            expected = ort.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
            session = ort.InferenceSession(path, providers=[("OpenVINOExecutionProvider", {"device_type": DEVICE})])
            self.assertEqual(session.get_providers()[0], "OpenVINOExecutionProvider")
            for _ in range(3):
                np.testing.assert_allclose(session.run(None, {"x": x})[0], expected, rtol=0.02, atol=0.002)


if __name__ == "__main__":
    unittest.main()
