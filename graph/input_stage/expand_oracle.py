#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OpenVINO's CPU plugin on the IRs of a folder: <n>.xml with inputs <n>_<port>.raw gives <n>.out."""

import pathlib
import sys

import numpy as np
import openvino as ov


def main():
    folder, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
    core = ov.Core()
    for n in range(count):
        model = core.read_model(str(folder / f"{n}.xml"))
        compiled = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        inputs = [
            np.fromfile(folder / f"{n}_{i}.raw", port.element_type.to_dtype()).reshape(port.shape)
            for i, port in enumerate(model.inputs)
        ]
        compiled(inputs)[0].tofile(folder / f"{n}.out")


if __name__ == "__main__":
    main()
