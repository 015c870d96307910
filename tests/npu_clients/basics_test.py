# SPDX-License-Identifier: Apache-2.0
"""What every client does, in calls that OpenVINO has had since 2024: matrix.py runs it with one version after the other."""
import io
import tempfile
import threading
import unittest

import numpy as np
import openvino as ov

import client
from client import NpuTest, conv_model, core, counter_model, on_cpu, random_inputs, relu_model


class Basics(NpuTest):
    def test_agrees_with_the_cpu_for_every_setting(self):
        for settings in ({}, {"PERFORMANCE_HINT": "LATENCY"}, {"PERFORMANCE_HINT": "THROUGHPUT"}, {"PERF_COUNT": True}, {"NPU_TURBO": True},
                         {"MODEL_PRIORITY": "HIGH"}, {"LOG_LEVEL": "LOG_WARNING"},
                         {"NPU_COMPILATION_MODE_PARAMS": "optimization-level=1"}):
            with self.subTest(settings):
                self.assert_agrees_with_cpu(conv_model(), settings)

    def test_takes_bytes_where_the_application_has_bytes(self):
        model = relu_model((1, 3, 8, 8))
        ppp = ov.preprocess.PrePostProcessor(model)
        ppp.input().tensor().set_element_type(ov.Type.u8)
        self.assert_agrees_with_cpu(ppp.build())

    def test_its_caches_and_blobs_come_back(self):
        model, inputs = conv_model(), random_inputs(conv_model())
        expected = on_cpu(model, inputs)
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):
                compiled = core().compile_model(model, "NPU", {"CACHE_DIR": folder})
                self.assertEqual("", client.disagreement(compiled(inputs)[0], expected[0]))
        blob = core().compile_model(model, "NPU").export_model()
        again = core().import_model(blob if hasattr(blob, "read") else io.BytesIO(bytes(blob)), "NPU")
        self.assertEqual("", client.disagreement(again(inputs)[0], expected[0]))

    def test_a_state_is_kept_and_reset(self):
        request = core().compile_model(counter_model(), "NPU").create_infer_request()
        ones = [np.ones((1, 4), np.float32)]
        self.assertEqual([1, 2, 3], [float(request.infer(ones)[0].max()) for _ in range(3)])
        request.reset_state()
        self.assertEqual(1, float(request.infer(ones)[0].max()))

    def test_a_queue_of_requests_calls_back_for_each(self):
        compiled = core().compile_model(relu_model(), "NPU")
        queue, lock, seen = ov.AsyncInferQueue(compiled, 4), threading.Lock(), {}

        def done(request, number):
            with lock:
                seen[number] = float(request.get_output_tensor().data.max())

        queue.set_callback(done)
        for number in range(50):
            queue.start_async([np.full((1, 16), number, np.float32)], number)
        queue.wait_all()
        self.assertEqual(seen, {number: float(number) for number in range(50)})

    def test_the_device_describes_itself(self):
        for key in core().get_property("NPU", "SUPPORTED_PROPERTIES"):
            with self.subTest(key):
                try:
                    core().get_property("NPU", key)
                except RuntimeError as error:  # Some are only readable of a compiled model, or written.
                    self.assertNotIn("ZE_RESULT", str(error))


if __name__ == "__main__":
    unittest.main()
