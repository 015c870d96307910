# SPDX-License-Identifier: Apache-2.0
"""Memory through OpenVINO's Python API: contexts, remote tensors, and the caller's own memory, aligned to pages and not. The
typed C++ interface is tested by remote_client.cpp."""
import mmap
import unittest

import numpy as np
import openvino as ov

from client import NpuTest, core, relu_model

PAGE = mmap.PAGESIZE
SHAPE = (1, 4 * PAGE)  # f32: whole pages.


def on_pages(shape, offset=0):
    """An array that begins `offset` bytes after a page's start; its memory lives as long as it does."""
    size = int(np.prod(shape)) * 4
    region = mmap.mmap(-1, (size + offset + PAGE - 1) // PAGE * PAGE)
    return np.frombuffer(region, np.float32, int(np.prod(shape)), offset).reshape(shape)


def run(request):
    """Unlike infer(), which returns arrays of all outputs, this leaves remote outputs where they are."""
    request.start_async()
    request.wait()


class Remote(NpuTest):
    def context(self):
        return core().get_default_context("NPU")

    def test_context_is_the_same_wherever_it_is_asked_for(self):
        handle = lambda context: str(context.get_params()["L0_CONTEXT"])
        self.assertEqual(self.context().get_device_name(), "NPU")
        self.assertEqual(handle(self.context()), handle(core().get_default_context("NPU")))
        self.assertEqual(handle(self.context()), handle(ov.Core().get_default_context("NPU")))
        self.assertEqual(handle(self.context()), handle(core().create_context("NPU", {})))

    def test_tensors_go_in_and_out(self):
        context = self.context()
        compiled = self.compile(relu_model(SHAPE))
        source = context.create_tensor(ov.Type.f32, ov.Shape(list(SHAPE)), {})
        result = context.create_tensor(ov.Type.f32, ov.Shape(list(SHAPE)), {})
        values = np.linspace(-1, 1, SHAPE[1], dtype=np.float32).reshape(SHAPE)
        source.copy_from(ov.Tensor(values))
        request = compiled.create_infer_request()
        request.set_tensor("x", source)
        request.set_tensor("y", result)
        run(request)
        back = ov.Tensor(ov.Type.f32, ov.Shape(list(SHAPE)))
        result.copy_to(back)
        np.testing.assert_array_equal(back.data, np.maximum(values, 0))

    def test_host_tensors_are_used_in_place(self):
        context = self.context()
        x = context.create_host_tensor(ov.Type.f32, ov.Shape(list(SHAPE)))
        y = context.create_host_tensor(ov.Type.f32, ov.Shape(list(SHAPE)))
        request = self.compile(relu_model(SHAPE)).create_infer_request()
        request.set_tensor("x", x)
        request.set_tensor("y", y)
        for sign in (1, -1):
            x.data[:] = sign * np.arange(SHAPE[1], dtype=np.float32)
            request.infer()
            np.testing.assert_array_equal(y.data, np.maximum(x.data, 0))
        self.assertEqual(request.get_tensor("x").data.ctypes.data, x.data.ctypes.data)

    def test_one_requests_output_is_the_nexts_input(self):
        tensor = self.context().create_tensor(ov.Type.f32, ov.Shape(list(SHAPE)), {})
        first, second = (self.compile(relu_model(SHAPE)).create_infer_request() for _ in range(2))
        first.set_tensor("y", tensor)
        second.set_tensor("x", tensor)
        first.get_tensor("x").data[:] = np.arange(SHAPE[1]) - 5
        run(first)
        run(second)
        np.testing.assert_array_equal(second.get_tensor("y").data.ravel(), np.maximum(np.arange(SHAPE[1]) - 5, 0))

    def test_a_tensor_is_refused_where_its_shape_is_wrong(self):
        request = self.compile(relu_model(SHAPE)).create_infer_request()
        with self.assertRaises(RuntimeError):
            request.set_tensor("x", self.context().create_tensor(ov.Type.f32, ov.Shape([1, 8]), {}))


class Callers(NpuTest):
    def test_memory_on_pages_and_off_gives_the_same(self):
        request = self.compile(relu_model(SHAPE)).create_infer_request()
        for offset in (0, 4, 64, 1024):
            x, y = on_pages(SHAPE, offset), on_pages(SHAPE, offset)
            request.set_tensor("x", ov.Tensor(x, shared_memory=True))
            request.set_tensor("y", ov.Tensor(y, shared_memory=True))
            for k in range(3):
                x[:] = np.linspace(-1 - k, 1, SHAPE[1])
                y[:] = -1
                request.infer()
                np.testing.assert_array_equal(y, np.maximum(x, 0), f"{offset} bytes behind a page's begin")

    def test_memory_that_has_gone_is_not_touched(self):
        request = self.compile(relu_model(SHAPE)).create_infer_request()
        for k in range(50):  # The kernel reuses addresses: an import of the old mapping would show.
            x = on_pages(SHAPE)
            x[:] = k - 25
            request.set_tensor("x", ov.Tensor(x, shared_memory=True))
            request.infer()
            self.assertEqual(request.get_tensor("y").data.max(), max(k - 25, 0))
            request.set_tensor("x", ov.Tensor(np.zeros(SHAPE, np.float32)))
            del x

    def test_four_buffers_in_turn(self):
        request = self.compile(relu_model(SHAPE)).create_infer_request()
        buffers = [on_pages(SHAPE) for _ in range(4)]
        tensors = [ov.Tensor(buffer, shared_memory=True) for buffer in buffers]
        for k in range(40):
            buffers[k % 4][:] = k
            request.set_tensor("x", tensors[k % 4])
            request.infer()
            self.assertEqual(request.get_tensor("y").data.min(), k)


if __name__ == "__main__":
    unittest.main()
