#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Versions of clients on the software NPU, each in a venv of its own, one after the other: every minor version of OpenVINO of two years,
its GenAI, and ONNX Runtime's OpenVINO provider. matrix.py --tenon FILE [--only TEXT] [--python FILE]; exits 1 if one of them fails.
Downloads about 100 MB a version; each venv is removed after its tests."""
import argparse
import os
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
DEADLINE_S = 600


def rows():
    for version in OPENVINO:
        yield f"openvino {version}", [f"openvino=={version}", "numpy<2.2"], "basics_test"
    for version in GENAI:
        yield f"openvino-genai {version}", [f"openvino=={version}", f"openvino-genai=={version}.0", "numpy<2.2"], "genai_test"
    for version in ORT:  # It brings an OpenVINO of its own, which another in the process would be taken for.
        yield f"onnxruntime-openvino {version}", [f"onnxruntime-openvino=={version}", "onnx", "numpy<2.4"], "ort_test"


def environment(name):
    """OpenVINO of 2024 looks for mutable command lists in the loader itself. Debian 12's has none, and the library that tests put in front of
    it is not seen there, so the driver offers none."""
    return os.environ | ({"TENON_NPU_WITHOUT": "mutable"} if name.startswith("openvino 2024") else {})


def run(command, env=None):
    """The exit code and what the command printed; a client that crashed has a negative code, one that hangs is ended."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, timeout=DEADLINE_S, env=env)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as error:
        return 1, f"no end after {DEADLINE_S} s\n{error.stdout or ''}"


def test_row(name, packages, module, arguments):
    """Whether the row passed, and a line or a text that says how."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "bin/python"
        for command in ([arguments.python, "-m", "venv", folder],
                        [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages]):
            code, text = run(list(map(str, command)))
            if code:
                return False, "cannot be installed: " + text.strip()[-400:]
        program = [HERE / "ort_test.py"] if module == "ort_test" else [HERE / "run.py", module]
        code, text = run([arguments.tenon, "npu-env", "--", str(python), *map(str, program)], environment(name))
        lines = text.strip().splitlines() or [""]
        ran = next((line for line in lines if line.startswith("Ran ")), f"exit code {code}")
        return code == 0, f"{ran}, {lines[-1]}" if code == 0 else text[-3000:]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tenon", required=True, help="the tool, beside which the driver lies")
    parser.add_argument("--only", default="", help="only rows whose name contains this")
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the venvs: the oldest versions have no wheel for 3.13")
    arguments = parser.parse_args()
    failed = total = 0
    for name, packages, module in rows():
        if arguments.only not in name:
            continue
        began = time.monotonic()
        passed, how = test_row(name, packages, module, arguments)
        total, failed = total + 1, failed + (not passed)
        print(f"{'ok    ' if passed else 'FAILED'} {name} ({time.monotonic() - began:.0f} s): {how}", flush=True)
    print(f"{total - failed} of {total} versions of clients pass")
    return 0 if total and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
