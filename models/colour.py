# SPDX-License-Identifier: Apache-2.0
"""Writes colour.xml and colour.bin: a model that names the colour of a small picture. Nothing in it was trained.

The mean of the picture, its middle counting most, is compared with the colours that have names; the nearest wins. As the
second model of a cascade it says which colour an object has. Needs Python alone; --check compares with the files as they are.
"""

import math
import pathlib

import ir

SIDE = 32  # Pixels of the input.
MIDDLE = 0.22  # How far from the centre pixels count, as a share of the side: an object's corners are often not its own.
SHARPNESS = 24.0  # How fast the score falls with the squared distance of colours in 0..1.

COLOURS = {
    "black": (20, 20, 20), "grey": (128, 128, 128), "white": (235, 235, 235), "red": (205, 45, 45),
    "orange": (230, 130, 40), "yellow": (225, 210, 60), "green": (60, 160, 70), "cyan": (60, 190, 200),
    "blue": (50, 80, 200), "violet": (135, 65, 185), "pink": (230, 125, 180), "brown": (120, 80, 45),
}  # fmt: skip

METADATA = {
    "model_type": "Classification",
    "labels": " ".join(COLOURS),
    "mean_values": "0 0 0",
    "scale_values": "255 255 255",
    "reverse_input_channels": "YES",
    "resize_type": "standard",
    "topk": "1",
}


def middle():
    """Weights of the pixels, whose sum is 1."""
    axis = [math.exp(-(((i + 0.5) / SIDE - 0.5) ** 2) / (2 * MIDDLE**2)) for i in range(SIDE)]
    weights = [y * x for y in axis for x in axis]
    return [w / sum(weights) for w in weights]


def build():
    g = ir.Graph()
    shape = (1, 3, SIDE, SIDE)
    attributes = {"shape": ",".join(map(str, shape)), "element_type": "f32"}
    image = g.op("Parameter", 1, [], [(shape, "f32")], attributes, "image", "image")[0]
    mean = g.reduce("ReduceSum", g.multiply(image, g.constant(middle(), (1, 1, SIDE, SIDE))), [2, 3])
    mean = g.op("Reshape", 1, [mean, g.constant([1, 3], kind="i64")], [((1, 3), "f32")], {"special_zero": "false"})[0]
    # -|x - c|^2 but for |x|^2, which all colours share: 2 x.c - |c|^2.
    known = [[value / 255 for value in colour] for colour in COLOURS.values()]
    factors = [2 * SHARPNESS * colour[channel] for channel in range(3) for colour in known]
    offsets = [-SHARPNESS * sum(value * value for value in colour) for colour in known]
    inputs = [mean, g.constant(factors, (3, len(known)))]
    transposed = {"transpose_a": "false", "transpose_b": "false"}
    scores = g.add(g.op("MatMul", 1, inputs, [((1, len(known)), "f32")], transposed)[0], g.constant(offsets, (1, len(known))))
    output = g.op("SoftMax", 8, [scores], [((1, len(known)), "f32")], {"axis": 1}, "colours", "output")
    g.op("Result", 1, output, [], name="output")
    return g.xml("tenon_demo_colour", METADATA), g.weights


if __name__ == "__main__":
    ir.main(build, pathlib.Path(__file__).resolve().parent / "colour.xml", __doc__)
