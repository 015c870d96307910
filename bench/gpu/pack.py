#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs the GPU device's tests and its bench for a machine with a GPU that cannot build them: ./dev bench pack gpu [--bench] FILE.tar.xz.
--bench: the bench alone, which runs wherever it is unpacked.

There, as root: tar -C / -xJf FILE (paths are those of the build), then scripts/gpu_tests.sh BUILD nvidia, which needs ctest, and
python3 bench/gpu/gpu.py, which needs torch and onnx.

Without ctest, what needs two GPUs runs by itself (it skips, with the reason, where there is one):
LD_LIBRARY_PATH=BUILD/packed TENON_DEVICE_PATH=BUILD/lib BUILD/tests/gpu_device_test --gtest_filter='SeveralGpus.*'
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/peers"))
from pack import SYSTEM, libraries_of  # noqa: E402

# Not packed: the zoo's full models and their references, and files without relevance for tests on a GPU.
LEFT_OUT = re.compile(r"/build/[^/]*/(zoo|oracle)/(?!.*(_tiny|relu1))|/libze_tenon_npu\.so|\.mp4$")


def tests_of(build):
    """What gpu_tests.sh runs, as ctest knows it."""
    names = re.findall(r"tests\+?='\|?([^']*)'", (ROOT / "scripts/gpu_tests.sh").read_text())
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1", "-R", f"^({'|'.join(names)})$"],
                            capture_output=True, text=True, check=True).stdout
    return json.loads(listed)["tests"]


def words_of(test):
    """Its command and environment, taken apart."""
    words = list(test.get("command", ()))
    for entry in test["properties"]:
        if entry["name"] == "ENVIRONMENT":
            words += [part for value in entry["value"] for part in value.split("=", 1)[1].split(":")]
    return words


def bench_of(build):
    """What ./dev bench gpu needs."""
    programs = [build / "peers/gpu_worker", build / "peers/gpu_moving_worker", build / "lib/libtenon_device_gpu.so"]
    scripts = [path for folder in ("bench/gpu", "models/zoo") for path in (ROOT / folder).glob("*.py")]
    return {*programs, *scripts, ROOT / "bench/moving/models.py"}


def needed(build):
    """Paths of programs, libraries and data that lie in the tree; of the rest, libraries only."""
    tests = [test for test in tests_of(build) if not test["name"].startswith(("zoo", "oracle_references"))]
    for test in tests:
        if "command" not in test:
            raise SystemExit(f"pack: {test['name']} was not built")
    paths = {pathlib.Path(word) for test in tests for word in words_of(test) if word.startswith(str(ROOT))}
    paths |= set(build.rglob("CTestTestfile.cmake"))
    paths |= {build / "tests/conformance_test", build / "zoo", build / "oracle"}
    paths |= {build / f"lib/{name}.so" for name in (*(f"libtenon_device_{device}" for device in ("gpu", "cpu", "auto", "hetero")), "libcuda_torch")}
    paths |= {ROOT / "scripts/gpu_tests.sh", ROOT / "examples/cuda_torch/cuda_torch.py", ROOT / "models/demo.onnx"}
    paths.discard(build / "lib")  # Found as a device path; its modules are named above.
    return paths


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--bench", action="store_true", help="the bench alone")
    parser.add_argument("file", type=pathlib.Path)
    options = parser.parse_args()
    build = options.build.absolute()
    packed = {}  # Destination: source.
    for path in bench_of(build) | (set() if options.bench else needed(build)):
        for file in [path] if path.is_file() else filter(pathlib.Path.is_file, path.rglob("*")):
            if not LEFT_OUT.search(str(file)):
                packed[file] = file
    for file in list(packed):
        with open(file, "rb") as opened:
            if opened.read(4) != b"\x7fELF":
                continue
        for library in libraries_of(file):
            if not SYSTEM.match(library.name):
                packed[build / "packed" / library.name] = library.resolve()
    with tarfile.open(options.file, "w:xz") as tar:
        for place, file in sorted(packed.items()):
            tar.add(file.resolve(), str(place))
    print(f"pack: {options.file}, {len(packed)} files, {options.file.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
