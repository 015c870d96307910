# SPDX-License-Identifier: Apache-2.0
"""Writes models as OpenVINO IR of version 11, layer by layer. Needs Python alone."""

import argparse
import struct
import sys
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

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


def main(build, default, description):
    """A script's command line. `build`: returns the .xml's text and the .bin's bytes; `default`: path of the .xml."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--out", type=type(default), default=default)
    parser.add_argument("--check", action="store_true", help="fail unless the files are what would be written")
    options = parser.parse_args()
    xml, weights = build()
    files = {options.out: xml.encode(), options.out.with_suffix(".bin"): weights}
    if options.check:
        stale = [str(path) for path, data in files.items() if not path.exists() or path.read_bytes() != data]
        sys.exit(f"not what the script writes: {', '.join(stale)}" if stale else 0)
    for path, data in files.items():
        path.write_bytes(data)
        print(f"{path}: {len(data)} bytes")
