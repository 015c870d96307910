#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs test modules of this folder: run.py MODULE... [unittest's options]. Exits 77, with the reason, if the wheel or the driver
is missing; the environment from CMake or `tenon npu-env` determines the driver and the loader."""
import importlib.util
import os
import subprocess
import sys
import unittest

SKIPPED = 77


def missing():
    for package in ("openvino", "numpy"):
        if importlib.util.find_spec(package) is None:
            return f"no Python package {package}"
    if os.environ.get("TENON_CLIENT_DEVICE") == "GPU":
        layer = os.environ.get("OPENCL_LAYERS", "").split(":")[0]
        return "" if os.path.exists(layer) else f"no layer at OPENCL_LAYERS={layer!r}: run it by `tenon gpu-env`"
    driver = os.environ.get("ZE_ENABLE_ALT_DRIVERS", "")
    return "" if os.path.exists(driver) else f"no driver at ZE_ENABLE_ALT_DRIVERS={driver!r}"


def main():
    reason = missing()
    if reason:
        print(f"skipped: {reason}")
        return SKIPPED
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    modules = [word for word in sys.argv[1:] if not word.startswith("-")]
    options = [word for word in sys.argv[1:] if word.startswith("-")]
    import client  # pylint: disable=import-outside-toplevel

    if client.DEVICE not in client.core().available_devices:
        print(f"FAILED: the driver is in place, and OpenVINO finds no {client.DEVICE}:", flush=True)
        subprocess.run([sys.executable, "-c", "import openvino; openvino.Core().available_devices"],
                       env=os.environ | {"OV_NPU_LOG_LEVEL": "LOG_WARNING"}, check=False, timeout=60)
        return 1
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromName(name) for name in modules)
    result = unittest.TextTestRunner(verbosity=2 if "-v" in options else 1, failfast="-f" in options).run(suite)
    return 0 if result.wasSuccessful() and result.testsRun > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
