# SPDX-License-Identifier: Apache-2.0
"""The graph extension in every version that the driver can report (TENON_NPU_GRAPH_VERSION): the plugin falls back, with the same results."""
import unittest

from client import NpuTest

BODY = """
    model = client.conv_model()
    inputs = client.random_inputs(model)
    compiled = core.compile_model(model, "NPU")
    answer = [client.disagreement(a, b) for a, b in zip(compiled(inputs).to_tuple(), client.on_cpu(model, inputs))]
    request = core.compile_model(client.counter_model(), "NPU").create_infer_request()
    answer += [float(request.infer([np.ones((1, 4), np.float32)])[0].max()) for _ in range(3)]
    blob = compiled.export_model()
    import io
    again = core.import_model(io.BytesIO(blob.getvalue() if hasattr(blob, "getvalue") else bytes(blob)), "NPU")
    answer += [client.disagreement(a, b) for a, b in zip(again(inputs).to_tuple(), client.on_cpu(model, inputs))]
"""


class Versions(NpuTest):
    def test_all_serve_the_plugin(self):
        for minor in range(5, 19):
            with self.subTest(f"1.{minor}"):
                answer = self.in_fresh_process(BODY, {"TENON_NPU_GRAPH_VERSION": f"1.{minor}", "OV_NPU_LOG_LEVEL": "LOG_INFO"})
                self.assertEqual(answer, ["", "", 1.0, 2.0, 3.0, "", ""])
                self.assertIn(f"Graph Extension Version 1.{minor} ", self.output)

    def test_a_driver_without_mutable_lists_serves_the_plugin(self):
        # The plugin then recreates its lists when tensors change.
        answer = self.in_fresh_process("""
            request = core.compile_model(client.relu_model(), "NPU").create_infer_request()
            answer = []
            for k in range(-2, 3):
                request.set_tensor("x", ov.Tensor(np.full((1, 16), k, np.float32)))
                request.infer()
                answer.append(float(request.get_tensor("y").data.max()))
        """, {"TENON_NPU_WITHOUT": "mutable", "OV_NPU_LOG_LEVEL": "LOG_DEBUG"})
        self.assertEqual(answer, [0, 0, 0, 1, 2])
        self.assertIn("Mutable command list version 0.0", self.output)

    def test_mutable_lists_are_used(self):
        self.in_fresh_process("core.compile_model(client.relu_model(), 'NPU')", {"OV_NPU_LOG_LEVEL": "LOG_DEBUG"})
        self.assertIn("Mutable command list version 1.1", self.output)


if __name__ == "__main__":
    unittest.main()
