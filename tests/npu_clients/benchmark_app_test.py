# SPDX-License-Identifier: Apache-2.0
"""OpenVINO's own benchmark_app on the software NPU or GPU, as its users call it."""
import os
import pathlib
import re
import subprocess
import sys
import unittest

from client import DEVICE, NpuTest

APP = pathlib.Path(sys.executable).parent / "benchmark_app"


class BenchmarkApp(NpuTest):
    def run_app(self, model, *options):
        path = pathlib.Path(os.environ["TENON_ZOO"]) / model
        done = subprocess.run([sys.executable, str(APP), "-m", str(path), "-d", DEVICE, *options], capture_output=True, text=True, timeout=240)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr[-3000:])
        return done.stdout

    def figure(self, text, name):
        found = re.search(rf"{name}:\s+([0-9.]+)", text)
        self.assertIsNotNone(found, f"no {name} in:\n{text[-3000:]}")
        return float(found.group(1))

    def setUp(self):
        if not APP.exists():
            self.skipTest(f"no {APP}")

    def test_measures_throughput(self):
        text = self.run_app("mobilenetv2_tiny.onnx", "-t", "1")
        self.assertGreater(self.figure(text, "Throughput"), 0)
        self.assertGreaterEqual(self.figure(text, "Count"), 1)

    def test_measures_latency_one_request_at_a_time(self):
        text = self.run_app("resnet50_tiny.xml", "-hint", "latency", "-api", "sync", "-niter", "20")
        self.assertEqual(self.figure(text, "Count"), 20)
        self.assertGreater(self.figure(text, "Median"), 0)

    def test_counts_per_layer(self):
        text = self.run_app("vit_tiny.xml", "-niter", "3", "-pc")
        self.assertIn("Total time", text)

    def test_takes_a_cache(self):
        import tempfile  # pylint: disable=import-outside-toplevel

        with tempfile.TemporaryDirectory() as folder:
            for _ in range(2):
                self.run_app("resnet50_tiny.xml", "-niter", "2", "-cdir", folder)
            self.assertEqual(len(list(pathlib.Path(folder).glob("*.blob"))), 1)


if __name__ == "__main__":
    unittest.main()
