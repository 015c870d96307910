# SPDX-License-Identifier: Apache-2.0
"""Compiled models of the software NPU: export, import, damage, other platforms, OpenVINO's cache and the driver's own."""
import base64
import io
import os
import tempfile
import unittest

import numpy as np

from client import NpuTest, conv_model, core, counter_model, on_cpu, random_inputs, relu_model


def exported(model, settings=None):
    return core().compile_model(model, "NPU", settings or {}).export_model()


def as_bytes(blob):
    return blob.getvalue() if isinstance(blob, io.BytesIO) else bytes(blob)


class Blobs(NpuTest):
    def assert_works(self, compiled, model):
        inputs = random_inputs(model)
        self.assert_agrees([np.array(v) for v in compiled(inputs).to_tuple()], on_cpu(model, inputs))

    def test_come_back(self):
        model = conv_model()
        compiled = core().import_model(io.BytesIO(as_bytes(exported(model))), "NPU")
        self.assert_works(compiled, model)
        self.assertEqual([port.any_name for port in compiled.outputs], ["features", "scores"])

    def test_come_back_with_their_states(self):
        request = core().import_model(io.BytesIO(as_bytes(exported(counter_model()))), "NPU").create_infer_request()
        for k in range(1, 4):
            self.assertEqual(request.infer([np.ones((1, 4), np.float32)])[0].max(), k)

    def test_come_back_in_another_process(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.blob")
            with open(path, "wb") as file:
                file.write(as_bytes(exported(conv_model())))
            answer = self.in_fresh_process("""
                import io, sys
                model = client.conv_model()
                inputs = client.random_inputs(model)
                compiled = core.import_model(io.BytesIO(open(%r, "rb").read()), "NPU")
                answer = [client.disagreement(a, b) for a, b in zip(compiled(inputs).to_tuple(), client.on_cpu(model, inputs))]
            """ % path)
            self.assertEqual(answer, ["", ""])

    def test_of_an_imported_model_is_the_same(self):
        first = as_bytes(exported(relu_model()))
        second = as_bytes(core().import_model(io.BytesIO(first), "NPU").export_model())
        self.assertEqual(len(first), len(second))
        self.assertEqual(core().import_model(io.BytesIO(second), "NPU")(np.full((1, 16), -1, np.float32))[0].max(), 0)

    def test_cut_short_are_refused(self):
        blob = as_bytes(exported(conv_model()))
        for length in (0, 1, 8, 100, len(blob) // 2, len(blob) - 1):
            with self.subTest(length), self.assertRaises(RuntimeError):
                core().import_model(io.BytesIO(blob[:length]), "NPU")

    def test_changed_inside_are_refused(self):
        blob = as_bytes(exported(conv_model()))
        tail = 4096  # What the plugin appends to the driver's bytes, and padding before it.
        for at in np.linspace(0, max(len(blob) - tail, 1) - 1, 12).astype(int):
            damaged = bytearray(blob)
            damaged[at] ^= 0x10
            with self.subTest(int(at)), self.assertRaises(RuntimeError):
                core().import_model(io.BytesIO(bytes(damaged)), "NPU")

    def test_of_another_platform_are_refused(self):
        text = self.in_fresh_process("""
            import base64
            blob = core.compile_model(client.relu_model(), "NPU").export_model()
            answer = base64.b64encode(blob.getvalue() if hasattr(blob, "getvalue") else bytes(blob)).decode()
        """, {"TENON_NPU_PLATFORM": "3720"})
        with self.assertRaises(RuntimeError):
            core().import_model(io.BytesIO(base64.b64decode(text)), "NPU")


class Caches(NpuTest):
    def test_of_openvino_spares_a_compilation(self):
        with tempfile.TemporaryDirectory() as folder:
            model = conv_model(seed=5)
            first = self.compile(model, {"CACHE_DIR": folder})
            self.assertFalse(first.get_property("LOADED_FROM_CACHE"))
            self.assertEqual(len([name for name in os.listdir(folder) if name.endswith(".blob")]), 1)
            second = self.compile(model, {"CACHE_DIR": folder})
            self.assertTrue(second.get_property("LOADED_FROM_CACHE"))
            inputs = random_inputs(model)
            self.assert_agrees([np.array(v) for v in second(inputs).to_tuple()], on_cpu(model, inputs))

    def test_of_openvino_is_found_by_another_process(self):
        with tempfile.TemporaryDirectory() as folder:
            self.compile(relu_model(), {"CACHE_DIR": folder})
            answer = self.in_fresh_process("""
                compiled = core.compile_model(client.relu_model(), "NPU", {"CACHE_DIR": %r})
                answer = [compiled.get_property("LOADED_FROM_CACHE"), float(compiled(np.full((1, 16), 4, np.float32))[0].max())]
            """ % folder)
            self.assertEqual(answer, [True, 4.0])

    def test_of_openvino_survives_damage(self):
        with tempfile.TemporaryDirectory() as folder:
            self.compile(relu_model(), {"CACHE_DIR": folder})
            (name,) = [name for name in os.listdir(folder) if name.endswith(".blob")]
            path = os.path.join(folder, name)
            os.chmod(path, 0o600)
            os.truncate(path, os.path.getsize(path) // 2)
            compiled = self.compile(relu_model(), {"CACHE_DIR": folder})
            self.assertEqual(compiled(np.full((1, 16), -4, np.float32))[0].max(), 0)

    def entries_after(self, settings, times=1):
        """The number of entries in the driver's own cache after these compilations of one model in fresh processes."""
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as cache_dir:
            for _ in range(times):
                answer = self.in_fresh_process("""
                    model = client.conv_model()
                    inputs = client.random_inputs(model)
                    compiled = core.compile_model(model, "NPU", eval(%r))
                    answer = [client.disagreement(a, b) for a, b in zip(compiled(inputs).to_tuple(), client.on_cpu(model, inputs))]
                """ % repr(settings).replace("CACHE_DIR_HERE", cache_dir), {"TENON_NPU_CACHE_DIR": folder})
                self.assertEqual(answer, ["", ""])
            return len([name for name in os.listdir(folder) if not name.endswith(".tmp")])

    def test_of_the_driver_keeps_one_entry_for_one_model(self):
        self.assertEqual(self.entries_after({}, times=2), 1)

    def test_of_the_driver_is_bypassed_on_demand(self):
        self.assertEqual(self.entries_after({"NPU_BYPASS_UMD_CACHING": True}), 0)

    def test_of_the_driver_is_bypassed_where_openvino_caches(self):
        self.assertEqual(self.entries_after({"CACHE_DIR": "CACHE_DIR_HERE"}), 0)


if __name__ == "__main__":
    unittest.main()
