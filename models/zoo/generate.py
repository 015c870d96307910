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


def is_quantized(name):
    return "_int8" in name


def quantize(path: Path):
    """Makes weights and activations int8, by QuantizeLinear and DequantizeLinear; ranges are those of random inputs. Weights take seven bits:
    on processors that have AVX2 and no VNNI, peers add pairs of products in 16 bits, which saturate with eight."""
    import logging

    import numpy
    import onnxruntime
    import onnxruntime.quantization as quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    logging.disable(logging.WARNING)

    class Samples(quantization.CalibrationDataReader):
        def __init__(self, session):
            random = numpy.random.default_rng(7)
            info = session.get_inputs()[0]
            self.samples = iter([{info.name: random.normal(0, 1, info.shape).astype(numpy.float32)} for _ in range(2)])

        def get_next(self):
            return next(self.samples, None)

    # Normalisations go into the convolutions first, as whoever quantises does it.
    partial = path.with_suffix(".int8.part")
    quant_pre_process(str(path), str(partial), skip_symbolic_shape=True)
    partial.replace(path)
    samples = Samples(onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]))
    quantization.quantize_static(str(path), str(partial), samples, quant_format=quantization.QuantFormat.QDQ,
                                 op_types_to_quantize=["Conv", "MatMul", "Gemm", "Add"], per_channel=True, reduce_range=True,
                                 activation_type=quantization.QuantType.QUInt8,
                                 weight_type=quantization.QuantType.QInt8)
    partial.replace(path)


def write_ir(onnx_path: Path, states):
    """Full models get f16 constants with decompressing Converts, as OpenVINO writes by default; tiny ones stay f32."""
    import openvino

    model = openvino.Core().read_model(str(onnx_path))
    if states:
        from openvino import passes

        manager = passes.Manager()
        manager.register_pass(passes.MakeStateful(states))
        manager.run_passes(model)
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
        builder = function(name, **arguments)
        builder.save(options.out)
        if is_quantized(name):
            quantize(path)
        if not options.onnx_only:
            write_ir(path, builder.states)
        print(f"{name}: {', '.join(f'{p.name} {p.stat().st_size} B' for p in wanted)}")


if __name__ == "__main__":
    main()
