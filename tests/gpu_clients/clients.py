#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OpenVINO's own GPU plugin on the software GPU. Runs itself again through `tenon gpu-env`, and `tenon va-env` where TENON_VA is set. 77: a
package is missing."""
import ctypes
import importlib.util
import io
import os
import subprocess
import sys
import sysconfig
import unittest

SKIPPED = 77


def missing():
    for package in ("openvino", "numpy"):
        if importlib.util.find_spec(package) is None:
            return f"no Python package {package}"
    # Where pip puts it, as gpu-env looks it up.
    runtime = os.path.join(sysconfig.get_path("data"), "lib", "libintelocl.so")
    return "" if os.path.exists(runtime) else f"no OpenCL runtime at {runtime}: pip install intel-opencl-rt"


class Image(ctypes.Structure):
    """VAImage. @source va/va.h"""
    _fields_ = [("image_id", ctypes.c_uint), ("format", ctypes.c_uint32 * 12), ("buf", ctypes.c_uint), ("width", ctypes.c_uint16),
                ("height", ctypes.c_uint16), ("data_size", ctypes.c_uint32), ("num_planes", ctypes.c_uint32), ("pitches", ctypes.c_uint32 * 3),
                ("offsets", ctypes.c_uint32 * 3), ("rest", ctypes.c_uint32 * 7)]


class Surface:
    """An NV12 surface of the software VA-API driver, whose planes are written through VA-API."""

    def __init__(self, width, height):
        self.va, drm = ctypes.CDLL("libva.so.2"), ctypes.CDLL("libva-drm.so.2")
        drm.vaGetDisplayDRM.restype = ctypes.c_void_p
        self.node = os.open("/dev/dri/renderD128", os.O_RDWR)
        self.display = ctypes.c_void_p(drm.vaGetDisplayDRM(self.node))
        self.call("vaInitialize", ctypes.byref(ctypes.c_int()), ctypes.byref(ctypes.c_int()))
        self.id = ctypes.c_uint()
        self.call("vaCreateSurfaces", 1, width, height, ctypes.byref(self.id), 1, None, 0)  # 1: VA_RT_FORMAT_YUV420

    def call(self, name, *arguments):
        status = getattr(self.va, name)(self.display, *arguments)
        if status:
            raise RuntimeError(f"{name} returned {status}")

    def write(self, *planes):
        image, address = Image(), ctypes.c_void_p()
        self.call("vaDeriveImage", self.id, ctypes.byref(image))
        self.call("vaMapBuffer", image.buf, ctypes.byref(address))
        for plane, pitch, offset in zip(planes, image.pitches, image.offsets):
            for row, values in enumerate(plane):
                ctypes.memmove(address.value + offset + row * pitch, values.tobytes(), values.nbytes)
        self.call("vaUnmapBuffer", image.buf)
        self.call("vaDestroyImage", image.image_id)

    def close(self):
        self.call("vaDestroySurfaces", ctypes.byref(self.id), 1)
        self.call("vaTerminate")
        os.close(self.node)


class SoftwareGpu(unittest.TestCase):
    """One process and one core for all tests: each kernel is compiled once."""

    @classmethod
    def setUpClass(cls):
        import numpy
        import openvino
        try:
            from openvino import opset13
        except ImportError:  # Before 2025.
            from openvino.runtime import opset13
        cls.np, cls.ov, cls.ops = numpy, openvino, opset13
        cls.core = openvino.Core()
        cls.random = numpy.random.default_rng(0)

    def compiled(self, model, device="GPU"):
        return self.core.compile_model(model, device, {"INFERENCE_PRECISION_HINT": "f32"})

    def line(self):
        """y = 2 x + 1"""
        x = self.ops.parameter([16], self.np.float32, name="x")
        two, one = (self.ops.constant(self.np.array(value, self.np.float32)) for value in (2, 1))
        return self.ov.Model([self.ops.add(self.ops.multiply(x, two), one)], [x])

    def test_the_device_is_listed_as_a_gpu(self):
        self.assertIn("GPU", self.core.available_devices)
        self.assertIn("(software)", self.core.get_property("GPU", "FULL_DEVICE_NAME"))

    def test_kernels_with_sub_groups_agree_with_the_cpu(self):
        ops, np = self.ops, self.np
        x = ops.parameter([1, 3, 32, 32], np.float32)
        weights = [ops.constant(self.random.standard_normal(shape).astype(np.float32) / 8) for shape in ((16, 3, 3, 3), (16, 16, 3, 3), (64, 16))]
        y = ops.relu(ops.convolution(x, weights[0], [1, 1], [1, 1], [1, 1], [1, 1]))
        y = ops.relu(ops.convolution(y, weights[1], [2, 2], [1, 1], [1, 1], [1, 1]))
        y = ops.reduce_mean(y, ops.constant([2, 3]), False)
        model = self.ov.Model([ops.softmax(ops.matmul(y, weights[2], False, True), 1)], [x])
        data = self.random.standard_normal((1, 3, 32, 32)).astype(np.float32)
        np.testing.assert_allclose(self.compiled(model)([data])[0], self.compiled(model, "CPU")([data])[0], rtol=1e-3, atol=1e-5)

    def test_a_branch_that_is_not_taken_writes_no_blocks(self):
        cl = ctypes.CDLL("libOpenCL.so.1")
        for name in ("clCreateContext", "clCreateCommandQueue", "clCreateProgramWithSource", "clCreateKernel", "clCreateBuffer"):
            getattr(cl, name).restype = ctypes.c_void_p
        platform, device, size = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_size_t
        self.assertEqual(cl.clGetPlatformIDs(1, ctypes.byref(platform), None), 0)
        self.assertEqual(cl.clGetDeviceIDs(platform, ctypes.c_uint64(4), 1, ctypes.byref(device), None), 0)  # CL_DEVICE_TYPE_GPU
        context = ctypes.c_void_p(cl.clCreateContext(None, 1, ctypes.byref(device), None, None, None))
        queue = ctypes.c_void_p(cl.clCreateCommandQueue(context, device, ctypes.c_uint64(0), None))
        # The work-group's first two sub-groups of four write a row each, by all sizes of blocks.
        for count in ("", "2", "4", "8"):
            source = ctypes.c_char_p(f"""__attribute__((intel_reqd_sub_group_size(16))) kernel void k(global uint* out, uint rows) {{
                uint row = get_local_id(1);
                if (row < rows) intel_sub_group_block_write{count}(out + row * 128, (uint{count})(1 + get_local_id(0))); }}""".encode())
            program = ctypes.c_void_p(cl.clCreateProgramWithSource(context, 1, ctypes.byref(source), None, None))
            self.assertEqual(cl.clBuildProgram(program, 1, ctypes.byref(device), b"-cl-std=CL2.0", None, None), 0)
            kernel = ctypes.c_void_p(cl.clCreateKernel(program, b"k", None))
            out = self.np.zeros((4, 128), self.np.uint32)
            where = out.ctypes.data_as(ctypes.c_void_p)
            memory = ctypes.c_void_p(cl.clCreateBuffer(context, ctypes.c_uint64(1 | 32), size(out.nbytes), where, None))  # CL_MEM_COPY_HOST_PTR
            rows, items = ctypes.c_uint(2), (size * 2)(16, 4)
            self.assertEqual(cl.clSetKernelArg(kernel, 0, size(8), ctypes.byref(memory)), 0)
            self.assertEqual(cl.clSetKernelArg(kernel, 1, size(4), ctypes.byref(rows)), 0)
            self.assertEqual(cl.clEnqueueNDRangeKernel(queue, kernel, 2, None, items, items, 0, None, None), 0)
            self.assertEqual(cl.clEnqueueReadBuffer(queue, memory, 1, size(0), size(out.nbytes), where, 0, None, None), 0)
            expected = self.np.zeros_like(out)
            expected[:2, :16 * int(count or 1)] = self.np.tile(self.np.arange(1, 17), int(count or 1))
            self.np.testing.assert_array_equal(out, expected, f"blocks of {count or 1}")

    def test_a_model_is_exported_and_imported(self):
        exported = self.compiled(self.line()).export_model()
        blob = io.BytesIO(exported if isinstance(exported, bytes) else exported.getvalue())  # Bytes before 2025.
        data = self.np.arange(16, dtype=self.np.float32)
        self.np.testing.assert_array_equal(self.core.import_model(blob, "GPU")([data])[0], 2 * data + 1)

    def test_recurrent_layers_do_not_come_as_machine_code(self):
        ops, np = self.ops, self.np
        x = ops.parameter([1, 5, 8], np.float32)
        state = ops.constant(np.zeros((1, 1, 16), np.float32))
        weights = [ops.constant(self.random.standard_normal(shape).astype(np.float32) / 4) for shape in ((1, 64, 8), (1, 64, 16), (1, 64))]
        y = ops.lstm_sequence(x, state, state, ops.constant(np.array([5], np.int32)), *weights, 16, "forward")
        model = self.ov.Model([y.output(0)], [x])
        data = self.random.standard_normal((1, 5, 8)).astype(np.float32)
        np.testing.assert_allclose(self.compiled(model)([data])[0], self.compiled(model, "CPU")([data])[0], rtol=1e-3, atol=1e-5)

    def test_kernels_have_a_gpus_local_memory(self):
        z = self.ops.parameter([16], self.np.float32)
        found = self.compiled(self.ov.Model([self.ops.non_zero(z, "i32")], [z]))([self.np.array([0, 1] * 8, self.np.float32)])[0]
        self.np.testing.assert_array_equal(found, [[1, 3, 5, 7, 9, 11, 13, 15]])

    def test_copies_are_over_when_they_return(self):
        context = self.core.get_default_context("GPU")
        back = self.ov.Tensor(self.np.zeros(64, self.np.float32))
        for kind in ({}, {"SHARED_MEM_TYPE": "USM_HOST_BUFFER"}, {"SHARED_MEM_TYPE": "USM_DEVICE_BUFFER"}):
            remote = context.create_tensor(self.ov.Type.f32, self.ov.Shape([64]), kind)
            for _ in range(200):
                data = self.random.standard_normal(64).astype(self.np.float32)
                remote.copy_from(self.ov.Tensor(data))
                remote.copy_to(back)
                self.np.testing.assert_array_equal(back.data, data, str(kind))

    def test_remote_tensors_are_inputs_in_place(self):
        compiled = self.compiled(self.line())
        context = self.core.get_default_context("GPU")
        request = compiled.create_infer_request()
        for kind in ({}, {"SHARED_MEM_TYPE": "USM_HOST_BUFFER"}, {"SHARED_MEM_TYPE": "USM_DEVICE_BUFFER"}):
            remote = context.create_tensor(self.ov.Type.f32, self.ov.Shape([16]), kind)
            data = self.random.standard_normal(16).astype(self.np.float32)
            remote.copy_from(self.ov.Tensor(data))
            request.set_tensor("x", remote)
            request.infer()
            self.np.testing.assert_allclose(request.get_output_tensor(0).data, 2 * data + 1, rtol=1e-6)

    @unittest.skipUnless(os.environ.get("LIBVA_DRIVER_NAME") == "tenon", "not within tenon va-env")
    def test_surfaces_of_va_api_are_inputs_in_place(self):
        width, height = 32, 16
        surface = Surface(width, height)
        self.addCleanup(surface.close)
        to_capsule = ctypes.pythonapi.PyCapsule_New
        to_capsule.restype, to_capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        context = self.ov.VAContext(self.core, to_capsule(surface.display, None, None))
        request = self.core.compile_model(self.picture(True), context, {"INFERENCE_PRECISION_HINT": "f32"}).create_infer_request()
        judge = self.compiled(self.picture(False), "CPU")
        for number, tensor in enumerate(context.create_tensor_nv12(height, width, surface.id.value)):
            request.set_tensor(request.model_inputs[number].any_name, tensor)
        for _ in range(3):  # Each time the same tensors see what is in the surface now.
            y, uv = (self.random.integers(16, 236, shape).astype(self.np.uint8) for shape in ((height, width), (height // 2, width)))
            surface.write(y, uv)
            request.infer()
            expected = judge([y.reshape(1, height, width, 1), uv.reshape(1, height // 2, width // 2, 2)])[0]
            self.np.testing.assert_allclose(request.get_output_tensor(0).data, expected, atol=2)

    def picture(self, is_surface):
        """A picture of two planes, as BGR."""
        x = self.ops.parameter([1, 3, 16, 32], self.np.float32, name="x")
        ppp = self.ov.preprocess.PrePostProcessor(self.ov.Model([self.ops.relu(x)], [x]))
        tensor = ppp.input().tensor().set_element_type(self.ov.Type.u8)
        tensor.set_color_format(self.ov.preprocess.ColorFormat.NV12_TWO_PLANES, ["y", "uv"])
        if is_surface:
            tensor.set_memory_type("GPU_SURFACE")
        ppp.input().preprocess().convert_color(self.ov.preprocess.ColorFormat.BGR)
        ppp.input().model().set_layout(self.ov.Layout("NCHW"))
        return ppp.build()


def main():
    if len(sys.argv) == 1:
        reason = missing()
        if reason:
            print(f"skipped: {reason}")
            return SKIPPED
        launches = [[os.environ["TENON_TOOL"], name, "--"] for name in (["va-env", "gpu-env"] if os.environ.get("TENON_VA") else ["gpu-env"])]
        return subprocess.run(sum(launches, []) + [sys.executable, __file__, "inside"], check=False).returncode
    return 0 if unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
