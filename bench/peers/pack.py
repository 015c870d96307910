#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packs the CPU device and its peers for a machine that cannot build them: ./dev bench pack FILE.tar.xz.

usage: pack.py --build build/release FILE.tar.xz

There, unpacked, with Python, numpy, onnx and onnxruntime: python3 bench/peers/zoo.py --build build/release --only cores --no-docs
--figures zoo.json; and here, with what came back: python3 bench/peers/zoo.py --tables --figures zoo.json.
"""
import argparse
import importlib.metadata
import io
import json
import pathlib
import re
import subprocess
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Of the C library's own: every machine has one, and another one's does not fit its loader.
SYSTEM = re.compile(r"(ld-linux-x86-64|libc|libm|libdl|librt|libpthread|linux-vdso)\.so")


def libraries_of(path):
    """What the loader takes for it, one behind the other."""
    answer = subprocess.run(["ldd", str(path)], capture_output=True, text=True, check=True).stdout
    if "not found" in answer:
        raise SystemExit(f"pack: {path} lacks a library:\n{answer}")
    return [pathlib.Path(found) for found in re.findall(r"=> (/\S+)", answer)]


def main():
    parser = argparse.ArgumentParser(description="Packs the CPU device and its peers.")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("file", type=pathlib.Path)
    options = parser.parse_args()
    build = options.build.resolve()
    wanted = [build / "peers/cpu_worker_tenon", build / "peers/cpu_worker_openvino", build / "lib/libtenon_device_cpu.so"]
    for path in wanted:
        if not path.exists():
            raise SystemExit(f"pack: {path} was not built: the targets are tenon_peers and tenon_device_cpu")
    openvino = next(p for p in libraries_of(wanted[1]) if p.name.startswith("libopenvino.so")).resolve().parent
    # Each peer with the libraries that it was built with: their TBBs are of different versions.
    plugins = [openvino / "libopenvino_intel_cpu_plugin.so", *openvino.glob("libopenvino_onnx_frontend.so*")]
    groups = {"peers/tenon": [wanted[0], wanted[2]], "peers/openvino": [wanted[1], *plugins]}
    with tarfile.open(options.file, "w:xz", preset=1) as tar:  # 200 MB: higher presets take minutes for a tenth less.
        for folder, paths in groups.items():
            packed = set()
            for path in paths + [library for each in paths for library in libraries_of(each)]:
                if path.name in packed or SYSTEM.match(path.name):
                    continue
                packed.add(path.name)
                tar.add(path.resolve(), f"build/release/{folder}/{path.name}")
            program = paths[0].name
            script = f'#!/bin/sh\nhere=$(dirname "$(readlink -f "$0")")\nexec env LD_LIBRARY_PATH="$here/{folder[6:]}" ' \
                     f'TENON_DEVICE_PATH="$here/{folder[6:]}" "$here/{folder[6:]}/{program}"\n'
            add_text(tar, f"build/release/peers/{program}", script)
        add_text(tar, "bench/peers/versions.json", json.dumps({"openvino": importlib.metadata.version("openvino")}))
        for folder in ("bench/peers", "models/zoo"):
            for path in sorted((ROOT / folder).glob("*.py")):
                tar.add(path, f"{folder}/{path.name}")
    print(f"pack: {options.file}, {options.file.stat().st_size / 1e6:.1f} MB")


def add_text(tar, name, text):
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(text.encode()), 0o755
    tar.addfile(info, io.BytesIO(text.encode()))


if __name__ == "__main__":
    main()
