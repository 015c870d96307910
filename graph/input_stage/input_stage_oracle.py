# SPDX-License-Identifier: Apache-2.0
"""Writes input_stage_oracle.inc: what OpenVINO's PrePostProcessor makes of small frames. Needs the PyPI package openvino.

Run again only when a case is added: input_stage_test.cpp reads the committed file, so the test needs no Python.
"""

import pathlib

import numpy as np
import openvino as ov
from openvino import opset13 as ops
from openvino.preprocess import ColorFormat, PrePostProcessor, ResizeAlgorithm


def noise(count, seed, low, high):
    """The generator that the test repeats: byte i of seed's sequence, squeezed into low..high."""
    state, values = seed, []
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        values.append(low + (state >> 24) * (high - low) // 255)
    return np.array(values, np.uint8)


def run(case):
    w, h, width, height = case["size"]
    model_input = ops.parameter([1, 3, height, width], np.float32, name="image")
    model = ov.Model([ops.result(ops.multiply(model_input, np.float32(1)))], [model_input])
    steps = PrePostProcessor(model)
    image = steps.input()
    image.model().set_layout(ov.Layout("NCHW"))
    form = image.tensor().set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC")).set_spatial_static_shape(h, w)
    low, high = case["range"]
    chroma = ((h // 2), (w // 2))
    if case["format"] == "nv12":
        form.set_color_format(ColorFormat.NV12_TWO_PLANES, ["y", "uv"])
        shapes = [(1, h, w, 1), (1, *chroma, 2)]
    elif case["format"] == "i420":
        form.set_color_format(ColorFormat.I420_THREE_PLANES, ["y", "u", "v"])
        shapes = [(1, h, w, 1), (1, *chroma, 1), (1, *chroma, 1)]
    else:
        form.set_color_format(ColorFormat.RGB)
        shapes = [(1, h, w, 3)]
    flow = image.preprocess().convert_element_type(ov.Type.f32)
    if case["channels"] == "BGR" or len(shapes) > 1:
        flow.convert_color(ColorFormat.BGR if case["channels"] == "BGR" else ColorFormat.RGB)
    if (w, h) != (width, height):
        flow.resize(ResizeAlgorithm.RESIZE_LINEAR if case["mode"] == "linear" else ResizeAlgorithm.RESIZE_NEAREST)
    flow.mean(case["mean"]).scale(case["scale"])
    compiled = ov.Core().compile_model(steps.build(), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    planes = [noise(int(np.prod(s)), 100 + i, low, high).reshape(s) for i, s in enumerate(shapes)]
    return compiled(planes)[0].ravel()


PLAIN = {"mean": [0.0, 0.0, 0.0], "scale": [1.0, 1.0, 1.0]}
NORMAL = {"mean": [123.675, 116.28, 103.53], "scale": [58.395, 57.12, 57.375]}
# Chroma of 112..144 with luma of 60..190 stays inside RGB, so clamping before or after a resize is the same.
CASES = [
    {"name": "nv12_no_resize", "format": "nv12", "size": (12, 8, 12, 8), "range": (0, 255), "channels": "RGB", "mode": "linear", **PLAIN},
    {"name": "i420_no_resize", "format": "i420", "size": (12, 8, 12, 8), "range": (0, 255), "channels": "BGR", "mode": "linear", **PLAIN},
    {"name": "nv12_down", "format": "nv12", "size": (32, 18, 13, 7), "range": (112, 144), "channels": "RGB", "mode": "linear", **NORMAL},
    {"name": "i420_up", "format": "i420", "size": (10, 6, 15, 13), "range": (112, 144), "channels": "BGR", "mode": "linear", **NORMAL},
    {"name": "i420_nearest", "format": "i420", "size": (20, 12, 7, 16), "range": (112, 144), "channels": "RGB", "mode": "nearest", **PLAIN},
    {"name": "rgb_down", "format": "rgb", "size": (17, 11, 9, 8), "range": (0, 255), "channels": "RGB", "mode": "linear", **NORMAL},
    {"name": "rgb_nearest", "format": "rgb", "size": (17, 11, 23, 4), "range": (0, 255), "channels": "BGR", "mode": "nearest", **PLAIN},
]  # fmt: skip


def main():
    lines = [
        "// SPDX-License-Identifier: Apache-2.0",
        f"// Made by input_stage_oracle.py with OpenVINO {ov.get_version().split('-')[0]}.",
    ]
    for case in CASES:
        values = ", ".join(f"{v:.6g}" for v in run(case))
        w, h, width, height = case["size"]
        numbers = lambda key: "{" + ", ".join(str(v) for v in case[key]) + "}"
        lines.append(
            f'{{"{case["name"]}", "{case["format"]}", {w}, {h}, {width}, {height}, {case["range"][0]}, {case["range"][1]}, '
            f'"{case["channels"]}", "{case["mode"]}", {numbers("mean")}, {numbers("scale")}, {{{values}}}}},'
        )
    pathlib.Path(__file__).with_suffix(".inc").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
