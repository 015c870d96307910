# SPDX-License-Identifier: Apache-2.0
"""Inference through OpenVINO's NPU plugin: requests, callbacks, threads, profiling, states, batches, dynamic shapes, types."""
import threading
import unittest

import numpy as np
import openvino as ov
import openvino.opset13 as ops
from openvino.preprocess import PrePostProcessor

from client import NpuTest, conv_model, core, counter_model, named, on_cpu, random_inputs, relu_model


class Infer(NpuTest):
    def test_agrees_with_the_cpu(self):
        self.assert_agrees_with_cpu(relu_model())
        self.assert_agrees_with_cpu(conv_model())

    def test_agrees_for_every_way_of_compiling(self):
        for settings in ({"NPU_TILES": 1}, {"PERFORMANCE_HINT": "THROUGHPUT"}, {"NPU_TURBO": True},
                         {"NPU_COMPILATION_MODE_PARAMS": "optimization-level=0"}, {"NPU_COMPILATION_MODE_PARAMS": "optimization-level=2"},
                         {"NPU_DEFER_WEIGHTS_LOAD": True}, {"NPU_BYPASS_UMD_CACHING": True}, {"PERF_COUNT": True},
                         {"MODEL_PRIORITY": "LOW"}):
            with self.subTest(settings):
                self.assert_agrees_with_cpu(conv_model(), settings)

    def test_a_request_is_used_again_and_again(self):
        request = self.compile(relu_model()).create_infer_request()
        for k in range(20):
            values = np.full((1, 16), k - 10, np.float32)
            np.testing.assert_array_equal(request.infer([values])[0], np.maximum(values, 0))

    def test_writes_where_get_tensor_says(self):
        request = self.compile(relu_model()).create_infer_request()
        x, y = request.get_tensor("x"), request.get_tensor("y")
        before = y.data.ctypes.data
        for sign in (1, -1):
            x.data[:] = sign * np.arange(16, dtype=np.float32)
            request.infer()
            np.testing.assert_array_equal(y.data, np.maximum(x.data, 0))
        self.assertEqual(request.get_tensor("y").data.ctypes.data, before)

    def test_takes_the_callers_tensors(self):
        request = self.compile(relu_model()).create_infer_request()
        inputs = [np.full((1, 16), v, np.float32) for v in (1, -2, 3, 4)]
        outputs = [np.zeros((1, 16), np.float32) for _ in inputs]
        for _ in range(3):
            for value, result in zip(inputs, outputs):
                request.set_tensor("x", ov.Tensor(value, shared_memory=True))
                request.set_tensor("y", ov.Tensor(result, shared_memory=True))
                request.infer()
                np.testing.assert_array_equal(result, np.maximum(value, 0))

    def test_calls_back(self):
        compiled = self.compile(conv_model())
        inputs = random_inputs(conv_model())
        expected = on_cpu(conv_model(), inputs)
        done = {}
        queue = ov.AsyncInferQueue(compiled, 4)
        queue.set_callback(lambda request, k: done.__setitem__(k, [np.array(t.data) for t in request.output_tensors]))
        for k in range(32):
            queue.start_async([inputs[0] * (1 if k % 2 == 0 else 0)], k)
        queue.wait_all()
        self.assertEqual(sorted(done), list(range(32)))
        for k in range(0, 32, 2):
            self.assert_agrees(done[k], expected, f"job {k}")

    def test_start_async_returns_and_wait_waits(self):
        request = self.compile(relu_model()).create_infer_request()
        request.set_tensor("x", ov.Tensor(np.full((1, 16), -1, np.float32)))
        request.start_async()
        self.assertTrue(request.wait_for(20000))
        self.assertEqual(request.get_tensor("y").data.max(), 0)

    def test_serves_many_threads(self):
        compiled = self.compile(conv_model())
        inputs = random_inputs(conv_model())
        expected = on_cpu(conv_model(), inputs)
        wrong = []

        def work():
            request = compiled.create_infer_request()
            for _ in range(8):
                results = [np.array(v) for v in request.infer(inputs).to_tuple()]
                try:
                    self.assert_agrees(results, expected)
                except AssertionError as error:
                    wrong.append(str(error))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_compiles_in_many_threads(self):
        wrong = []

        def work(seed):
            model, inputs = conv_model(seed), random_inputs(conv_model(seed))
            results = self.compile(model)(inputs).to_tuple()
            try:
                self.assert_agrees([np.array(v) for v in results], on_cpu(model, inputs))
            except AssertionError as error:
                wrong.append(str(error))

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_a_request_outlives_its_model(self):
        request = self.compile(relu_model()).create_infer_request()
        np.testing.assert_array_equal(request.infer([np.full((1, 16), 5, np.float32)])[0], np.full((1, 16), 5))

    def test_runs_in_the_order_of_starting(self):
        compiled = self.compile(relu_model(), {"NPU_RUN_INFERENCES_SEQUENTIALLY": True})
        requests = [compiled.create_infer_request() for _ in range(4)]
        for k, request in enumerate(requests):
            request.set_tensor("x", ov.Tensor(np.full((1, 16), k, np.float32)))
        for _ in range(3):
            for request in requests:
                request.start_async()
            for k, request in enumerate(requests):
                request.wait()
                self.assertEqual(request.get_tensor("y").data.max(), k)

    def test_workload_type_may_change_between_inferences(self):
        compiled = self.compile(relu_model())
        if "WORKLOAD_TYPE" not in compiled.get_property("SUPPORTED_PROPERTIES"):
            self.fail("the driver has the command-queue extension, so the plugin must offer WORKLOAD_TYPE")
        request = compiled.create_infer_request()
        for kind in ("EFFICIENT", "DEFAULT", "EFFICIENT"):
            compiled.set_property({"WORKLOAD_TYPE": kind})
            self.assertEqual(request.infer([np.full((1, 16), 2, np.float32)])[0].max(), 2)


class Profiling(NpuTest):
    def test_says_what_ran_and_how_long(self):
        request = self.compile(conv_model(), {"PERF_COUNT": True}).create_infer_request()
        request.infer(random_inputs(conv_model()))
        layers = request.get_profiling_info()
        ran = [layer for layer in layers if str(layer.status).endswith("EXECUTED")]
        self.assertGreaterEqual(len(ran), 3, [layer.node_name for layer in layers])
        self.assertTrue(any("conv" in (layer.node_type + layer.exec_type).lower() for layer in ran), [l.node_type for l in ran])
        self.assertGreater(sum(layer.real_time.total_seconds() for layer in ran), 0)

    def test_is_refused_before_an_inference(self):
        request = self.compile(relu_model(), {"PERF_COUNT": True}).create_infer_request()
        with self.assertRaises(RuntimeError):
            request.get_profiling_info()


class States(NpuTest):
    def test_are_kept_from_inference_to_inference(self):
        request = self.compile(counter_model()).create_infer_request()
        total = np.zeros((1, 4), np.float32)
        for k in range(5):
            step = np.full((1, 4), k + 1, np.float32)
            total += step
            np.testing.assert_array_equal(request.infer([step])[0], total)

    def test_are_read_set_and_reset(self):
        request = self.compile(counter_model()).create_infer_request()
        request.infer([np.full((1, 4), 2, np.float32)])
        (state,) = request.query_state()
        self.assertEqual(state.name, "sum")
        np.testing.assert_array_equal(state.state.data, np.full((1, 4), 2))
        state.state = ov.Tensor(np.full((1, 4), 40, np.float32))
        np.testing.assert_array_equal(request.infer([np.full((1, 4), 2, np.float32)])[0], np.full((1, 4), 42))
        state.reset()
        np.testing.assert_array_equal(request.infer([np.full((1, 4), 3, np.float32)])[0], np.full((1, 4), 3))

    def test_are_each_requests_own(self):
        compiled = self.compile(counter_model())
        one, other = compiled.create_infer_request(), compiled.create_infer_request()
        for _ in range(3):
            one.infer([np.ones((1, 4), np.float32)])
        np.testing.assert_array_equal(other.infer([np.ones((1, 4), np.float32)])[0], np.ones((1, 4)))

    def assert_steps_agree_with_cpu(self, model, steps):
        """`steps` are inputs, or None for a reset; OpenVINO's CPU plugin is the reference."""
        requests = [core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request(),
                    self.compile(model).create_infer_request()]
        for k, step in enumerate(steps):
            if step is None:
                for request in requests:
                    request.reset_state()
                continue
            judged, ours = (np.array(request.infer([step])[0]) for request in requests)
            self.assertEqual(ours.shape, judged.shape, f"step {k}")
            np.testing.assert_allclose(ours, judged, rtol=1e-5, err_msg=f"step {k}")

    def sum_model(self, initialiser):
        """y = x + the state, which becomes y; `initialiser` makes the state's first value of x."""
        x = named(ops.parameter([1, 4], np.float32), "x")
        after = named(ops.add(x, ops.read_value(initialiser(x), "sum", np.float32, [1, 4])), "y")
        return ov.Model([ops.result(after)], [ops.assign(after, "sum")], [x], "sum")

    def test_start_from_a_constant_and_do_so_again_when_reset(self):
        model = self.sum_model(lambda x: ops.constant(np.array([[1, 2, 3, 4]], np.float32)))
        row = np.arange(4, dtype=np.float32)[None]
        self.assert_steps_agree_with_cpu(model, [row, row + 3, None, row - 1, row, None, None, row])

    def test_start_from_what_the_inputs_say(self):
        model = self.sum_model(lambda x: ops.multiply(ops.reduce_sum(x, ops.constant(np.array([1])), True),
                                                      ops.constant(np.array([[1, 10, 100, 1000]], np.float32))))
        row = np.arange(4, dtype=np.float32)[None]
        self.assert_steps_agree_with_cpu(model, [row + 1, row, None, row - 7, row])

    def test_grow_within_bounds(self):
        x = named(ops.parameter(ov.PartialShape([1, ov.Dimension(1, 4), 2]), np.float32), "x")
        nothing = ops.constant(np.zeros((1, 0, 2), np.float32))
        before = ops.read_value(nothing, "rows", np.float32, ov.PartialShape([1, ov.Dimension(0, 16), 2]))
        rows = ops.concat([before, x], 1)
        sums = named(ops.reduce_sum(rows, ops.constant(np.array([1])), False), "y")
        model = ov.Model([ops.result(sums)], [ops.assign(rows, "rows")], [x], "rows")

        def some(count):
            return np.random.default_rng(count).normal(0, 1, (1, count, 2)).astype(np.float32)
        self.assert_steps_agree_with_cpu(model, [some(2), some(1), some(4), None, some(3), some(3)])



class Shapes(NpuTest):
    def test_a_batch_is_computed(self):
        self.assert_agrees_with_cpu(conv_model(batch=4))

    def test_a_batch_is_taken_in_parts(self):
        model = relu_model((4, 16))
        model.inputs[0].node.set_layout(ov.Layout("NC"))
        request = self.compile(model).create_infer_request()
        parts = [np.full((1, 16), k - 1, np.float32) for k in range(4)]
        request.set_input_tensors(0, [ov.Tensor(part) for part in parts])
        request.infer()
        np.testing.assert_array_equal(request.get_output_tensor(0).data, np.maximum(np.concatenate(parts), 0))

    def dynamic_model(self):
        x = named(ops.parameter(ov.PartialShape([1, ov.Dimension(1, 32)]), np.float32), "x")
        return ov.Model([ops.result(named(ops.relu(ops.add(x, ops.constant(np.float32(1)))), "y"))], [x], "dynamic")

    def test_change_within_their_bounds(self):
        request = self.compile(self.dynamic_model()).create_infer_request()
        for width in (4, 32, 1, 7):
            values = np.linspace(-3, 3, width, dtype=np.float32).reshape(1, width)
            result = request.infer([values])[0]
            np.testing.assert_allclose(result, np.maximum(values + 1, 0), rtol=1e-6)

    def test_above_their_bounds_are_refused(self):
        request = self.compile(self.dynamic_model()).create_infer_request()
        with self.assertRaises(RuntimeError):
            request.infer([np.zeros((1, 33), np.float32)])

    def test_types_other_than_f32(self):
        for kind in (np.float16, np.int32, np.uint8, np.int8, np.int64):
            with self.subTest(kind.__name__):
                x = named(ops.parameter([1, 16], kind), "x")
                y = named(ops.multiply(x, ops.constant(np.array([2], kind))), "y")
                model = ov.Model([ops.result(y)], [x])
                values = np.arange(16).astype(kind).reshape(1, 16)
                result = self.compile(model)([values])[0]
                self.assertEqual(result.dtype, kind)
                np.testing.assert_array_equal(result, values * kind(2))

    def test_pre_processing_is_part_of_the_model(self):
        model = conv_model(size=32)
        steps = PrePostProcessor(model)
        steps.input().tensor().set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC")).set_spatial_static_shape(48, 64)
        steps.input().model().set_layout(ov.Layout("NCHW"))
        steps.input().preprocess().convert_element_type(ov.Type.f32).resize(ov.preprocess.ResizeAlgorithm.RESIZE_LINEAR).mean(120).scale(60)
        self.assert_agrees_with_cpu(steps.build())


if __name__ == "__main__":
    unittest.main()
