#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes node tests of the installed ONNX package for operations newer than the recorded suite (ONNX 1.16.2), in its folders.
backend_tests runs them.

usage: onnx_newer_cases.py --out DIR
"""
import argparse
import inspect
import shutil
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

PREFIXES = ("attention_", "rotary_embedding", "rms_normalization", "tensorscatter", "swish", "swiglu", "cumprod", "lpnormalization", "l2normalization",
            "l1normalization", "dft", "spacetodepth", "bitcast", "causal_conv_with_state", "linear_attention", "flexattention", "cast_e8m0")
# Types that the recorded suite lacks, and casts to 4 bits, which it clamps.
TYPES = ("INT2", "int2", "INT4", "FLOAT4E2M1")
# The expected values of bf16 are rounded after each step, ours once; of f16, only the expanded attention's differ by more than the tolerance.
ROUNDED = ("bf16", "fp16_expanded")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    arguments = [None] if inspect.signature(collect_testcases).parameters else []
    shutil.rmtree(options.out, ignore_errors=True)
    count = 0
    for case in collect_testcases(*arguments):
        name = case.name.removeprefix("test_")
        if not (name.startswith(PREFIXES) or any(kind in name for kind in TYPES)) or any(mark in name for mark in ROUNDED):
            continue
        data = options.out / case.name / "test_data_set_0"
        data.mkdir(parents=True)
        onnx.save(case.model, options.out / case.name / "model.onnx")
        for prefix, values in zip(("input", "output"), case.data_sets[0]):
            for k, value in enumerate(values):
                proto = value if isinstance(value, onnx.TensorProto) else numpy_helper.from_array(np.asarray(value))
                (data / f"{prefix}_{k}.pb").write_bytes(proto.SerializeToString())
        count += 1
    print(f"{count} cases of ONNX {onnx.__version__}")
    return 0 if count else 1


if __name__ == "__main__":
    sys.exit(main())
