#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the zoo: <name>.onnx, and <name>.xml/.bin where OpenVINO is installed. Same bytes of weights on every run.

usage: generate.py --out DIR [--tiny] [--onnx-only] [name...]
"""
import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import architectures


def is_tiny(name):
    return name.endswith("_tiny") or name == "relu1"


def write_ir(onnx_path: Path):
    """Full models get f16 constants with decompressing Converts, as OpenVINO writes by default; tiny ones stay f32."""
    import openvino

    model = openvino.Core().read_model(str(onnx_path))
    partial = onnx_path.with_name(onnx_path.stem + ".part.xml")
    openvino.save_model(model, str(partial), compress_to_fp16=not is_tiny(onnx_path.stem))
    partial.with_suffix(".bin").replace(onnx_path.with_suffix(".bin"))
    partial.replace(onnx_path.with_suffix(".xml"))


def main():
    parser = argparse.ArgumentParser(description="Generates the model zoo with random weights.")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to; made if missing")
    parser.add_argument("--tiny", action="store_true", help="only the small models that tests use")
    parser.add_argument("--onnx-only", action="store_true", help="no OpenVINO IR")
    parser.add_argument("--missing", action="store_true", help="skip models whose files are there already")
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(architectures.MODELS)}; default: all")
    options = parser.parse_args()
    unknown = [name for name in options.names if name not in architectures.MODELS]
    if unknown:
        parser.error(f"unknown model {', '.join(unknown)}; known: {', '.join(architectures.MODELS)}")
    names = options.names or [n for n in architectures.MODELS if is_tiny(n) or not options.tiny]
    options.out.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = options.out / f"{name}.onnx"
        wanted = [path] if options.onnx_only else [path, path.with_suffix(".xml"), path.with_suffix(".bin")]
        if options.missing and all(p.exists() for p in wanted):
            continue
        function, arguments = architectures.MODELS[name]
        function(name, **arguments).save(options.out)
        if not options.onnx_only:
            write_ir(path)
        print(f"{name}: {', '.join(f'{p.name} {p.stat().st_size} B' for p in wanted)}")


if __name__ == "__main__":
    main()
