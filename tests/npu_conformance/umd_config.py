#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what the driver vendor's umd-test is given to run: umd_config.py FOLDER writes FOLDER/config.yaml, three models and a picture, and prints
the file's name. Which of its tests exist is decided by that file. The models are this script's: a sum of three vectors, a product and a sum,
and a small net of random weights over a picture, whose class is that which OpenVINO's CPU device finds. Needs openvino."""
import argparse
import pathlib
import struct
import sys

import numpy as np
import openvino as ov
from openvino import opset13 as ops

SIDE, CLASSES = 32, 10
# Sections of the file, in terms of the models: which the tests of each section run.
FLAGS = {"add_abc": '--inputs_precisions="A:fp16 B:fp16 C:fp16" --inputs_layouts="A:C B:C C:C" --outputs_precisions="Y:fp16" --outputs_layouts="Y:C"',
         "mul_add": '--inputs_precisions="A:fp16 B:fp16 C:fp16" --inputs_layouts="A:CHW B:CHW C:CHW" --outputs_precisions="Y:fp16" '
                    '--outputs_layouts="Y:CHW"',
         "picture": '--inputs_precisions="x:u8" --inputs_layouts="x:NHWC" --outputs_precisions="y:fp32" --outputs_layouts="y:NC"'}


def named(value, name):
    value.set_friendly_name(name)
    value.output(0).set_names({name})
    return value


def elementwise(shape, combine):
    inputs = [named(ops.parameter(shape, np.float16), name) for name in "ABC"]
    return ov.Model([named(combine(*inputs), "Y")], inputs, "elementwise")


def picture_net():
    """Two convolutions and a product, whose weights are as large as keeps their results about one."""
    random = np.random.default_rng(39)

    def weights(*shape):
        return ops.constant((random.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32))

    x = named(ops.parameter([1, 3, SIDE, SIDE], np.float32), "x")
    y = ops.multiply(ops.subtract(x, np.float32(128)), np.float32(1 / 64))
    y = ops.relu(ops.convolution(y, weights(16, 3, 3, 3), [2, 2], [1, 1], [1, 1], [1, 1]))
    y = ops.relu(ops.convolution(y, weights(32, 16, 3, 3), [2, 2], [1, 1], [1, 1], [1, 1]))
    y = ops.reduce_mean(y, np.array([2, 3]), False)
    return ov.Model([named(ops.matmul(y, weights(CLASSES, 32), False, True), "y")], [x], "picture")


def write_bmp(path, pixels):
    """@param pixels  u8[height, width, 3], blue first."""
    height, width, _ = pixels.shape
    body = pixels[::-1].tobytes()  # The lowest row is first.
    header = struct.pack("<2sIII", b"BM", 54 + len(body), 0, 54)
    path.write_bytes(header + struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, len(body), 2835, 2835, 0, 0) + body)


def section(name, entries):
    lines = [f"{name}:"]
    for entry in entries:
        lines += [f"  {'- ' if number == 0 else '  '}{key}: {text}" for number, (key, text) in enumerate(entry.items())]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    models = {"add_abc": elementwise([4], lambda a, b, c: ops.add(ops.add(a, b), c)),
              "mul_add": elementwise([2, 3, 4], lambda a, b, c: ops.add(ops.multiply(a, b), c)), "picture": picture_net()}
    for name, model in models.items():
        ov.save_model(model, folder / f"{name}.xml", compress_to_fp16=False)
    pixels = np.random.default_rng(7).integers(0, 256, (SIDE, SIDE, 3), np.uint8)
    write_bmp(folder / "noise.bmp", pixels)
    given = np.ascontiguousarray(pixels.transpose(2, 0, 1)[None].astype(np.float32))
    chosen = int(ov.Core().compile_model(models["picture"], "CPU")([given])[0].argmax())

    def entry(name, **more):
        return {"path": f"{name}.xml", "flags": FLAGS[name]} | more

    seen = {"in": "[ noise.bmp ]", "class_index": f"[ {chosen} ]"}
    small = [entry("add_abc"), entry("mul_add")]
    lines = ["log_level: ERROR", f"model_dir: {folder}/", f"image_dir: {folder}/"]
    lines += section("graph_execution", small) + section("driver_cache", small) + section("idle_optimizations", small)
    lines += section("graph_metrics", [entry("mul_add", metric_groups="[ NOC ]")])
    lines += section("image_classification_imagenet", [entry("picture", **seen)])
    lines += section("openvino", [{"path": "picture.xml"} | seen])
    lines += ["multi_inference:", "  - name: Side_by_side", "    pipeline:"]
    for frames in (30, 20):
        lines += [f"      {'- ' if number == 0 else '  '}{key}: {text}"
                  for number, (key, text) in enumerate(entry("picture", **seen, target_fps=frames, exec_time_in_secs=2).items())]
    (folder / "config.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(folder / "config.yaml")


if __name__ == "__main__":
    sys.exit(main())
