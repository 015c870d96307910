#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Versions of clients on the software NPU or GPU, each in a venv of its own, one after the other: every minor version of OpenVINO of two
years, its GenAI, and ONNX Runtime's OpenVINO provider. matrix.py --tenon FILE [--device GPU] [--only TEXT] [--python FILE]; exits 1 if one
of them fails. Downloads about 100 MB a version, and for the GPU 240 MB more; each venv is removed after its tests."""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
OPENVINO = ("2024.4.0", "2024.5.0", "2024.6.0", "2025.0.0", "2025.1.0", "2025.2.0", "2025.3.0", "2025.4.1", "2026.0.0", "2026.1.0",
            "2026.2.1", "2026.3.1", "2026.4.1")
GENAI = ("2025.3.0", "2025.4.1", "2026.0.0", "2026.2.1", "2026.4.1")
ORT = ("1.23.0", "1.24.1")
DEADLINE_S = {"NPU": 600, "GPU": 1800}  # The GPU's runtime compiles each kernel.
RUNTIME = ("intel-opencl-rt==2023.2.0", "intel-cmplr-lib-rt==2023.2.0")


def rows(device):
    """Each row's name, its packages, and its program with arguments."""
    runtime = RUNTIME if device == "GPU" else ()
    basics = [HERE / "run.py", "basics_test"] if device == "NPU" else [HERE.parent / "gpu_clients/clients.py", "inside"]
    for version in OPENVINO:
        yield f"openvino {version}", [f"openvino=={version}", "numpy<2.2", *runtime], basics
    for version in GENAI:
        yield f"openvino-genai {version}", [f"openvino=={version}", f"openvino-genai=={version}.0", "numpy<2.2", *runtime], [HERE / "run.py", "genai_test"]
    for version in ORT:  # It brings an OpenVINO of its own, which another in the process would be taken for.
        yield f"onnxruntime-openvino {version}", [f"onnxruntime-openvino=={version}", "onnx", "numpy<2.4", *runtime], [HERE / "ort_test.py"]
    if device == "GPU":  # On the NPU they are tests of their own, and ./dev check npu.
        newest = [f"openvino=={OPENVINO[-1]}", "onnx", "numpy<2.4", *runtime]
        yield f"benchmark_app {OPENVINO[-1]}", newest, [HERE / "run.py", "benchmark_app_test"]
        yield f"zoo {OPENVINO[-1]}", newest, [HERE / "run.py", "zoo_test"]


def environment(name, device):
    """OpenVINO of 2024 looks for mutable command lists in the loader itself. Debian 12's has none, and the library that tests put in front of
    it is not seen there, so the driver offers none."""
    return os.environ | {"TENON_CLIENT_DEVICE": device} | ({"TENON_NPU_WITHOUT": "mutable"} if name.startswith("openvino 2024") else {})


def run(command, deadline_s, env=None):
    """The exit code and what the command printed; a client that crashed has a negative code, one that hangs is ended."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=deadline_s, env=env)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as error:
        return 1, f"no end after {deadline_s} s\n{error.stdout or ''}"


def test_row(name, packages, program, arguments):
    """Whether the row passed, and a line or a text that says how."""
    deadline_s = DEADLINE_S[arguments.device]
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "bin/python"
        for command in ([arguments.python, "-m", "venv", folder],
                        [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages]):
            code, text = run(list(map(str, command)), deadline_s)
            if code:
                return False, "cannot be installed: " + text.strip()[-400:]
        code, text = run([arguments.tenon, f"{arguments.device.lower()}-env", "--", str(python), *map(str, program)], deadline_s,
                         environment(name, arguments.device))
        lines = text.strip().splitlines() or [""]
        ran = next((line for line in lines if line.startswith("Ran ")), f"exit code {code}")
        # What the tests print may come behind the runner's own lines.
        tests, skipped = (re.search(pattern, text, re.M) for pattern in (r"^Ran (\d+) ", r"^OK \(.*skipped=(\d+)"))
        if code == 0 and (not tests or int(tests[1]) <= int(skipped[1] if skipped else 0)):
            return False, f"no test of it ran, so nothing was shown: {text[-3000:]}"
        return code == 0, f"{ran}, {lines[-1]}" if code == 0 else text[-3000:]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenon", required=True, help="the tool, beside which the driver lies")
    parser.add_argument("--device", choices=("NPU", "GPU"), default="NPU", help="GPU: TENON_ZOO names the zoo's folder")
    parser.add_argument("--only", default="", help="only rows whose name contains this")
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the venvs: the oldest versions have no wheel for 3.13")
    arguments = parser.parse_args()
    failed = total = 0
    for name, packages, program in rows(arguments.device):
        if arguments.only not in name:
            continue
        began = time.monotonic()
        passed, how = test_row(name, packages, program, arguments)
        total, failed = total + 1, failed + (not passed)
        print(f"{'ok    ' if passed else 'FAILED'} {name} ({time.monotonic() - began:.0f} s): {how}", flush=True)
    print(f"{total - failed} of {total} versions of clients pass")
    return 0 if total and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
