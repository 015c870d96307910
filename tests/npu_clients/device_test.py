# SPDX-License-Identifier: Apache-2.0
"""The software NPU as OpenVINO's NPU plugin reports it: devices, properties, platforms, which operations run."""
import re
import unittest

import numpy as np
import openvino as ov
import openvino.opset13 as ops

from client import NpuTest, conv_model, core, relu_model


class Device(NpuTest):
    def test_is_available(self):
        self.assertIn("NPU", core().available_devices)

    def test_answers_every_property_that_it_lists(self):
        listed = core().get_property("NPU", "SUPPORTED_PROPERTIES")
        self.assertGreater(len(listed), 20)
        unanswered = {}
        for name in listed:
            try:
                core().get_property("NPU", name)
            except RuntimeError as error:
                unanswered[name] = str(error).strip().splitlines()[-1]
        self.assertEqual(unanswered, {})

    def test_says_what_it_is(self):
        get = lambda name: core().get_property("NPU", name)
        self.assertTrue(get("FULL_DEVICE_NAME"))
        self.assertIn("4000", str(get("DEVICE_ARCHITECTURE")))
        self.assertIn("INTEGRATED", str(get("DEVICE_TYPE")).upper())
        self.assertRegex(str(get("DEVICE_UUID")), re.compile("^[0-9a-f]{32}$", re.I))
        self.assertGreater(get("NPU_DEVICE_TOTAL_MEM_SIZE"), 1 << 28)
        self.assertGreater(get("NPU_DRIVER_VERSION"), 0)
        self.assertIn(get("NPU_MAX_TILES"), range(1, 7))
        self.assertGreater(max(core().get_property("NPU", "DEVICE_GOPS").values()), 0)

    def test_accounts_for_its_memory(self):
        before = core().get_property("NPU", "NPU_DEVICE_ALLOC_MEM_SIZE")
        model = relu_model((1, 1 << 22))
        compiled = self.compile(model)
        request = compiled.create_infer_request()
        request.infer()
        during = core().get_property("NPU", "NPU_DEVICE_ALLOC_MEM_SIZE")
        # The driver allocated the input and the output of 16 MB each.
        self.assertGreaterEqual(during - before, 32 << 20)
        self.assertLess(during, core().get_property("NPU", "NPU_DEVICE_TOTAL_MEM_SIZE"))

    def test_recommends_requests_by_the_table(self):
        for platform, throughput in (("4000", 8), ("3720", 4)):
            body = """
                answer = {}
                for hint in ("LATENCY", "THROUGHPUT"):
                    compiled = core.compile_model(client.relu_model(), "NPU", {"PERFORMANCE_HINT": hint})
                    answer[hint] = compiled.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS")
                answer["architecture"] = str(core.get_property("NPU", "DEVICE_ARCHITECTURE"))
            """
            answer = self.in_fresh_process(body, {"TENON_NPU_PLATFORM": platform})
            self.assertIn(platform, answer["architecture"])
            self.assertEqual((answer["LATENCY"], answer["THROUGHPUT"]), (1, throughput), platform)

    def test_serves_a_client_that_uses_one_device_where_there_are_several(self):
        body = """
            answer = [core.available_devices, float(core.compile_model(client.relu_model(), "NPU")(np.full((1, 16), -2, np.float32))[0].max())]
        """
        devices, largest = self.in_fresh_process(body, {"TENON_NPU_PLATFORM": "4000,3720"})
        self.assertTrue(any(name.startswith("NPU") for name in devices), devices)
        self.assertEqual(largest, 0)

    def test_is_chosen_by_its_platform(self):
        compiled = core().compile_model(relu_model(), "NPU.4000")
        self.assertEqual(compiled(np.full((1, 16), 3, np.float32))[0].max(), 3)
        with self.assertRaises(RuntimeError):
            core().compile_model(relu_model(), "NPU.1234")

    def test_takes_settings_and_keeps_them(self):
        for name, value in (("PERFORMANCE_HINT", "LATENCY"), ("NPU_TURBO", True), ("NPU_TILES", 2), ("NPU_DEFER_WEIGHTS_LOAD", True),
                            ("NPU_COMPILATION_MODE_PARAMS", "optimization-level=2 performance-hint-override=latency"),
                            ("NPU_COMPILATION_MODE_PARAMS", "compute-layers-with-higher-precision=Sqrt,Power,ReduceMean,Add_RMSNorm"),
                            ("NPU_COMPILATION_MODE_PARAMS", "optimization-level=3 enable-activation-sparsity=true no-such-thing=1"),
                            ("MODEL_PRIORITY", "HIGH"), ("PERF_COUNT", True), ("NPU_BYPASS_UMD_CACHING", True),
                            ("COMPILATION_NUM_THREADS", 2), ("WORKLOAD_TYPE", "EFFICIENT")):
            with self.subTest(name):
                compiled = self.compile(relu_model(), {name: value})
                kept = compiled.get_property(name)
                expected = str(value).upper()
                self.assertIn(expected, (str(kept).upper(), str(kept).upper().split(".")[-1]))
                np.testing.assert_array_equal(compiled(np.arange(-8, 8, dtype=np.float32).reshape(1, 16))[0].ravel(),
                                              np.maximum(np.arange(-8, 8), 0))

    def test_refuses_a_setting_that_nobody_knows(self):
        with self.assertRaises(RuntimeError):
            self.compile(relu_model(), {"NPU_NO_SUCH_PROPERTY": 1})
        with self.assertRaises(RuntimeError):
            self.compile(relu_model(), {"NPU_COMPILATION_MODE_PARAMS": "optimization-level=7"})

    def test_says_which_operations_run(self):
        model = conv_model()
        answer = core().query_model(model, "NPU")
        self.assertEqual({op.get_friendly_name() for op in model.get_ops() if op.get_type_name() == "Convolution"} - set(answer), set())
        self.assertTrue(all(device.startswith("NPU") for device in answer.values()), answer)

    def test_says_why_a_model_does_not_compile(self):
        # Parameters without bounds can't have buffers on an NPU.
        x = ops.parameter(ov.PartialShape([1, -1]), np.float32)
        x.output(0).set_names({"x"})
        with self.assertRaises(RuntimeError) as raised:
            self.compile(ov.Model([ops.relu(x)], [x]))
        self.assertRegex(str(raised.exception).lower(), "bound|dynamic")


if __name__ == "__main__":
    unittest.main()
