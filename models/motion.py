# SPDX-License-Identifier: Apache-2.0
"""Writes motion.xml and motion.bin: a model that finds what moves in any footage. Nothing in it was trained.

A running background lies in the model's states, with the spread that each place is used to. What differs from it by more
than that is foreground; connected foreground gets one box, found by letting each cell take over the extents of its
neighbours. What stands still fades into the background. Needs Python alone; --check compares with the files as they are.
"""

import argparse
import pathlib
import struct
import sys
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

INPUT_W, INPUT_H = 512, 288
POOL = 4  # Pixels of the input per place of the background.
W, H = INPUT_W // POOL, INPUT_H // POOL
CELLS_W, CELLS_H = W // 2, H // 2  # Where extents spread.

BRIGHTNESS = 0.08  # What a change may be to count as one of the light; of 1.
LEAST = 0.06  # What never counts as foreground.
SPREADS = 2.0  # How many usual deviations do.
STRONGEST = 4.0  # Excess over the threshold is told up to here.
LEARN, LEARN_FOREGROUND = 0.04, 0.01  # Share of a picture that the background takes over.
CUT = 0.5  # Share of the picture in the foreground from which on it is another scene.
LARGEST = 0.3  # A deviation counts up to here for what a place is used to.
STEPS, REACH = 20, 5  # Extents spread by REACH // 2 cells a step.
LEAST_AREA = 5.5  # Places; less is noise.

# As the detector's: tenon and OpenVINO's Model API read it. Boxes are centre and size in pixels of the input.
METADATA = {
    "model_type": "YOLOv8",
    "labels": "moving",
    "mean_values": "0 0 0",
    "scale_values": "255 255 255",
    "reverse_input_channels": "YES",
    "resize_type": "standard",
    "confidence_threshold": "0.4",
    "iou_threshold": "0.5",
}

PRECISION = {"f32": "FP32", "i64": "I64", "boolean": "BOOL"}


@dataclass(frozen=True)
class Value:
    """An output of a layer."""

    layer: int
    port: int
    shape: tuple
    type: str = "f32"


class Graph:
    """Layers of an OpenVINO IR of version 11, in order, and the bytes of their constants."""

    def __init__(self):
        self.layers, self.edges, self.weights, self.constants = [], [], b"", {}

    def op(self, kind, opset, inputs, outputs, attributes=None, name=None, tensor=""):
        """Adds a layer. `outputs`: (shape, type) of each. Returns its values."""
        index = len(self.layers)
        name = name or f"{kind}_{index}"
        data = "".join(f" {key}={quoteattr(str(value))}" for key, value in (attributes or {}).items())
        text = [f'<layer id="{index}" name={quoteattr(name)} type="{kind}" version="opset{opset}">']
        if data:
            text.append(f"<data{data}/>")
        if inputs:
            text += ["<input>", *(self._port(i, v.shape, v.type) for i, v in enumerate(inputs)), "</input>"]
        first = len(inputs)
        if outputs:
            text += ["<output>", *(self._port(first + i, s, t, tensor) for i, (s, t) in enumerate(outputs)), "</output>"]
        self.layers.append("".join(text) + "</layer>")
        for port, value in enumerate(inputs):
            self.edges.append(
                f'<edge from-layer="{value.layer}" from-port="{value.port}" to-layer="{index}" to-port="{port}"/>'
            )
        return [Value(index, first + i, tuple(s), t) for i, (s, t) in enumerate(outputs)]

    @staticmethod
    def _port(index, shape, kind, tensor=""):
        names = f" names={quoteattr(tensor)}" if tensor else ""
        dims = "".join(f"<dim>{extent}</dim>" for extent in shape)
        return f'<port id="{index}" precision="{PRECISION[kind]}"{names}>{dims}</port>'

    def constant(self, values, shape=None, kind="f32"):
        """The values, or one of them; equal constants are one layer."""
        values = list(values) if hasattr(values, "__iter__") else [values]
        shape = tuple(shape if shape is not None else ([len(values)] if kind == "i64" else [1, 1, 1, 1]))
        key = (tuple(values), shape, kind)
        if key not in self.constants:
            data = struct.pack(f"<{len(values)}{'f' if kind == 'f32' else 'q'}", *values)
            self.weights += b"\0" * (-len(self.weights) % 8)
            attributes = {
                "element_type": kind, "shape": ",".join(map(str, shape)), "offset": len(self.weights), "size": len(data),
            }  # fmt: skip
            self.weights += data
            self.constants[key] = self.op("Const", 1, [], [(shape, kind)], attributes)[0]
        return self.constants[key]

    def _value(self, x):
        return x if isinstance(x, Value) else self.constant(x)

    def binary(self, kind, a, b, result=None):
        a, b = self._value(a), self._value(b)
        shape = [max(x, y) for x, y in zip(a.shape, b.shape)]
        return self.op(kind, 1, [a, b], [(shape, result or a.type)], {"auto_broadcast": "numpy"})[0]

    def add(self, a, b):
        return self.binary("Add", a, b)

    def subtract(self, a, b):
        return self.binary("Subtract", a, b)

    def multiply(self, a, b):
        return self.binary("Multiply", a, b)

    def greater(self, a, b):
        return self.binary("Greater", a, b, "boolean")

    def select(self, condition, a, b):
        inputs = [condition, self._value(a), self._value(b)]
        shape = [max(extents) for extents in zip(*(v.shape for v in inputs))]
        return self.op("Select", 1, inputs, [(shape, "f32")], {"auto_broadcast": "numpy"})[0]

    def number(self, condition):
        """1 where it holds, else 0."""
        return self.op("Convert", 1, [condition], [(condition.shape, "f32")], {"destination_type": "f32"})[0]

    def clamp(self, x, low, high):
        return self.op("Clamp", 1, [x], [(x.shape, "f32")], {"min": low, "max": high})[0]

    def reduce(self, kind, x, axes):
        shape = [1 if axis in axes else extent for axis, extent in enumerate(x.shape)]
        inputs = [x, self.constant(axes, kind="i64")]
        return self.op(kind, 1, inputs, [(shape, "f32")], {"keep_dims": "true"})[0]

    def pool(self, kind, x, kernel, stride=1):
        pad = kernel // 2 if stride == 1 else 0
        n, c, h, w = x.shape
        pair = "{0},{0}".format
        attributes = {
            "strides": pair(stride), "pads_begin": pair(pad), "pads_end": pair(pad), "kernel": pair(kernel),
            "rounding_type": "floor", "auto_pad": "explicit",
        }  # fmt: skip
        if kind == "AvgPool":
            attributes["exclude-pad"] = "true"
        shape = (n, c, (h + 2 * pad - kernel) // stride + 1, (w + 2 * pad - kernel) // stride + 1)
        return self.op(kind, 1, [x], [(shape, "f32")], attributes)[0]

    def concat(self, values):
        shape = list(values[0].shape)
        shape[1] = sum(v.shape[1] for v in values)
        return self.op("Concat", 1, values, [(shape, "f32")], {"axis": 1})[0]

    def split(self, x):
        """One value per channel."""
        n, c, h, w = x.shape
        inputs = [x, self.constant([1], (), "i64")]
        return self.op("Split", 1, inputs, [((n, 1, h, w), "f32")] * c, {"num_splits": c})

    def state(self, name, shape):
        """What was assigned in the last inference; zeros in the first. A device that zeroes states does the same."""
        zeros = [self.constant([0.0], ()), self.constant(shape, kind="i64")]
        initial = self.op("Broadcast", 3, zeros, [(shape, "f32")], {"mode": "numpy"})[0]
        attributes = {"variable_id": name, "variable_type": "f32", "variable_shape": ",".join(map(str, shape))}
        return self.op("ReadValue", 6, [initial], [(shape, "f32")], attributes, f"{name}_before")[0]

    def assign(self, name, x):
        self.op("Assign", 6, [x], [(x.shape, x.type)], {"variable_id": name}, f"{name}_after")

    def xml(self, name, metadata):
        info = "".join(f"<{key} value={quoteattr(value)}/>" for key, value in metadata.items())
        lines = ['<?xml version="1.0"?>', f'<net name="{name}" version="11">', "<layers>", *self.layers, "</layers>"]
        lines += ["<edges>", *self.edges, "</edges>", "<rt_info>", f"<model_info>{info}</model_info>", "</rt_info>", "</net>"]
        return "\n".join(lines) + "\n"


def foreground(g, image):
    """Compares the picture with the background and learns from it.

    Returns (strength [1,1,H,W]: excess over the threshold, at most STRONGEST; foreground as 0 and 1; whether the scene
    is known, 0 or 1 [1,1,1,1])."""
    picture = g.pool("AvgPool", image, POOL, POOL)
    background, spread = g.state("background", picture.shape), g.state("spread", (1, 1, H, W))
    age = g.state("age", (1, 1, 1, 1))

    difference = g.subtract(picture, background)
    # A cloud, a camera that adapts: all places change alike, by little. Things that move change few places by much.
    light = g.reduce("ReduceMean", g.clamp(difference, -BRIGHTNESS, BRIGHTNESS), [2, 3])
    difference = g.subtract(difference, light)
    size = g.op("Abs", 1, [difference], [(difference.shape, "f32")])[0]
    size = g.reduce("ReduceMax", size, [1])
    threshold = g.add(g.multiply(spread, SPREADS), LEAST)
    strength = g.clamp(g.binary("Divide", size, threshold), 0.0, STRONGEST)
    strength = g.pool("AvgPool", strength, 3)
    is_foreground = g.greater(strength, 1.0)

    share = g.reduce("ReduceMean", g.number(is_foreground), [2, 3])
    is_new = g.op(
        "LogicalOr", 1, [g.greater(share, CUT), g.greater(g.constant(0.5), age)], [((1, 1, 1, 1), "boolean")],
        {"auto_broadcast": "numpy"},
    )[0]  # fmt: skip
    # A mean of all pictures at first, then of the recent ones.
    rate = g.select(is_foreground, LEARN_FOREGROUND, LEARN)
    rate = g.binary("Maximum", rate, g.binary("Divide", g.constant(1.0), g.add(age, 1.0)))
    rate = g.select(is_new, 1.0, rate)
    learned = g.add(g.add(background, light), g.multiply(difference, rate))
    g.assign("background", learned)
    calm = g.select(is_foreground, LEARN_FOREGROUND, LEARN)
    deviation = g.subtract(g.clamp(size, 0.0, LARGEST), spread)
    known = g.number(g.op("LogicalNot", 1, [is_new], [((1, 1, 1, 1), "boolean")])[0])
    g.assign("spread", g.add(spread, g.multiply(g.multiply(deviation, calm), known)))
    g.assign("age", g.select(is_new, 1.0, g.clamp(g.add(age, 1.0), 0.0, 1000.0)))
    return strength, g.number(is_foreground), known


def boxes(g, strength, mask, known):
    """One box for what hangs together, in each of its cells: [1, 5, cells] of centre, size and score.

    Extents are counted so that more is larger, and 0 is nothing: then a maximum over neighbours unites boxes. They are whole
    numbers up to 128, which every floating-point type holds."""
    columns, rows = range(W), range(H)
    features = [
        g.multiply(mask, g.constant([W - x for x in columns], (1, 1, 1, W))),
        g.multiply(mask, g.constant([H - y for y in rows], (1, 1, H, 1))),
        g.multiply(mask, g.constant([x + 1 for x in columns], (1, 1, 1, W))),
        g.multiply(mask, g.constant([y + 1 for y in rows], (1, 1, H, 1))),
        g.multiply(mask, strength),
    ]
    united = g.pool("MaxPool", g.concat(features), 2, 2)
    cells = g.pool("MaxPool", mask, 2, 2)
    for _ in range(STEPS):
        united = g.multiply(g.pool("MaxPool", united, REACH), cells)
    left, top, right, bottom, peak = g.split(united)
    x1, y1 = g.subtract(g.constant(float(W)), left), g.subtract(g.constant(float(H)), top)
    width, height = g.subtract(right, x1), g.subtract(bottom, y1)
    area = g.multiply(g.clamp(width, 0.0, float(W)), g.clamp(height, 0.0, float(H)))
    score = g.multiply(peak, g.number(g.greater(area, LEAST_AREA)))
    score = g.multiply(g.multiply(score, 1 / STRONGEST), known)
    pixels = float(POOL)
    values = [g.multiply(g.add(x1, right), pixels / 2), g.multiply(g.add(y1, bottom), pixels / 2)]
    values += [g.multiply(width, pixels), g.multiply(height, pixels), score]
    shape = (1, 5, CELLS_W * CELLS_H)
    inputs = [g.concat(values), g.constant(shape, kind="i64")]
    return g.op("Reshape", 1, inputs, [(shape, "f32")], {"special_zero": "false"}, "boxes", "output")[0]


def build():
    g = Graph()
    shape = (1, 3, INPUT_H, INPUT_W)
    attributes = {"shape": ",".join(map(str, shape)), "element_type": "f32"}
    image = g.op("Parameter", 1, [], [(shape, "f32")], attributes, "image", "image")[0]
    g.op("Result", 1, [boxes(g, *foreground(g, image))], [], name="output")
    return g.xml("tenon_demo_motion", METADATA), g.weights


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent / "motion.xml")
    parser.add_argument("--check", action="store_true", help="fail unless the files are what would be written")
    options = parser.parse_args()
    xml, weights = build()
    files = {options.out: xml.encode(), options.out.with_suffix(".bin"): weights}
    if options.check:
        stale = [str(path) for path, data in files.items() if not path.exists() or path.read_bytes() != data]
        sys.exit(f"not what models/motion.py writes: {', '.join(stale)}" if stale else 0)
    for path, data in files.items():
        path.write_bytes(data)
        print(f"{path}: {len(data)} bytes")


if __name__ == "__main__":
    main()
