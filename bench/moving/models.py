#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models with dynamic shapes and random weights: an encoder for texts of any length, decoders with growing caches, pictures of any size.

usage: models.py --out DIR [name...]
"""
import argparse
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "models/zoo"))
import dense
from builder import GraphBuilder


def attention(g, x, features, heads, mask, past=None):
    """Self-attention for any number of tokens; with the key's and value's past, also what replaces them."""
    query, key, value = (g.linear(x, features, features) for _ in range(3))
    query, key, value = (g.split_heads(part, -1, features, heads, [0, 2, 1, 3]) for part in (query, key, value))
    if past:
        key, value = (g.node("Concat", old, new, axis=2) for old, new in zip(past, (key, value)))
    scores = g.node("MatMul", query, g.node("Transpose", key, perm=[0, 1, 3, 2]))
    scores = g.node("Add", g.node("Div", scores, g.scalar((features // heads) ** 0.5)), mask)
    mixed = g.node("MatMul", g.node("Softmax", scores, axis=-1), value)
    mixed = g.reshape(g.node("Transpose", mixed, perm=[0, 2, 1, 3]), 0, -1, features)
    return g.linear(mixed, features, features), key, value


def extent(g, x, axis):
    return g.node("Gather", g.node("Shape", x), g.scalar(axis, np.int64), axis=0)


def causal(g, ids, past):
    """The positions of the new tokens, and what is added to scores so that none sees a later one."""
    before = extent(g, past, 2)
    total = g.node("Add", before, extent(g, ids, 1))
    at = g.node("Range", before, total, g.scalar(1, np.int64))
    later = g.node("Less", g.node("Unsqueeze", at, g.ints(1)),
                   g.node("Unsqueeze", g.node("Range", g.scalar(0, np.int64), total, g.scalar(1, np.int64)), g.ints(0)))
    return at, g.node("Where", later, g.scalar(-10000), g.scalar(0))


def keep(g, layer, key, value, shape):
    """The caches as outputs, which an IR keeps as states."""
    for kind, cache in (("key", key), ("value", value)):
        g.output(cache, f"present_{kind}_{layer}", shape)
        g.states[f"past_{kind}_{layer}"] = f"present_{kind}_{layer}"


def bert_lengths(name, features=256, layers=4, heads=8, most=512, vocabulary=2000):
    g = GraphBuilder(name)
    ids = g.input("input_ids", [1, "tokens"], TensorProto.INT64)
    mask = g.input("attention_mask", [1, "tokens"], TensorProto.INT64)
    words = g.node("Gather", g.constant(g.normal((vocabulary, features), 0.05), "embedding"), ids, axis=0)
    length = g.node("Unsqueeze", extent(g, ids, 1), g.ints(0))
    positions = g.node("Slice", g.constant(g.normal((most, features), 0.05), "embedding"), g.ints(0), length, g.ints(0))
    x = g.layer_norm(g.node("Add", words, positions), features)
    mask = g.node("Cast", g.node("Unsqueeze", mask, g.ints(1, 2)), to=TensorProto.FLOAT)
    mask = g.node("Mul", g.node("Sub", g.scalar(1), mask), g.scalar(-10000))
    for _ in range(layers):
        x = g.layer_norm(g.node("Add", x, attention(g, x, features, heads, mask)[0]), features)
        x = g.layer_norm(g.node("Add", x, g.feed_forward(x, features)), features)
    g.output(x, "hidden", [1, "tokens", features])
    return g


def decoder(name, features=256, layers=4, heads=8, most=1024, vocabulary=2000, block=0):
    """In the style of GPT-2; its caches are inputs and outputs in ONNX, and states in IR."""
    g = GraphBuilder(name)
    g.block = block
    ids = g.input("input_ids", [1, "tokens"], TensorProto.INT64)
    past = [[g.input(f"past_{kind}_{i}", [1, heads, "past", features // heads]) for kind in ("key", "value")]
            for i in range(layers)]
    words = g.node("Gather", g.constant(g.normal((vocabulary, features), 0.05), "embedding"), ids, axis=0)
    at, mask = causal(g, ids, past[0][0])
    x = g.node("Add", words, g.node("Gather", g.constant(g.normal((most, features), 0.05), "embedding"), at, axis=0))
    for i in range(layers):
        made, key, value = attention(g, g.layer_norm(x, features), features, heads, mask, past[i])
        x = g.node("Add", x, made)
        x = g.node("Add", x, g.feed_forward(g.layer_norm(x, features), features))
        keep(g, i, key, value, [1, heads, "total", features // heads])
    weights = g.constant(g.normal((features, vocabulary), features**-0.5), "weight")
    g.output(g.node("MatMul", g.layer_norm(x, features), weights), "logits", [1, "tokens", vocabulary])
    return g


class Llama:
    """The parts as transformers' exporters write them: norms by the mean square, turned positions, fewer heads for keys, gated layers."""

    def __init__(self, g, features, heads, groups):
        self.g, self.features, self.heads, self.groups = g, features, heads, groups
        self.width = features // heads

    def plain(self, x, features_in, features_out):
        return self.g.linear(x, features_in, features_out, bias=False)

    def norm(self, x):
        g = self.g
        mean = g.node("ReduceMean", g.node("Pow", x, g.scalar(2)), axes=[-1], keepdims=1)
        root = g.node("Sqrt", g.node("Add", mean, g.scalar(1e-6)))
        scale = g.constant(g.normal(self.features, 0.05, mean=1.0))
        return g.node("Mul", scale, g.node("Mul", x, g.node("Reciprocal", root)))

    def turns(self, at):
        """Cosine and sine for each position: [1, 1, tokens, width]."""
        g = self.g
        speeds = 10000.0 ** (-np.arange(0, self.width, 2) / self.width)
        positions = g.node("Cast", g.node("Unsqueeze", at, g.ints(0, 1, 3)), to=TensorProto.FLOAT)
        angles = g.node("Mul", positions, g.constant(speeds.astype(np.float32)))
        angles = g.node("Concat", angles, angles, axis=-1)
        return g.node("Cos", angles), g.node("Sin", angles)

    def turned(self, x, turns):
        g, half = self.g, self.width // 2
        other = g.node("Concat", g.node("Neg", g.slice(x, half, 1 << 31, -1)), g.slice(x, 0, half, -1), axis=-1)
        return g.node("Add", g.node("Mul", x, turns[0]), g.node("Mul", other, turns[1]))

    def repeated(self, x):
        """Each head of keys or values serves several of queries."""
        g, times = self.g, self.heads // self.groups
        if times == 1:
            return x
        shape = g.node("Concat", g.ints(1, self.groups, times), g.node("Shape", x, start=2, end=4), axis=0)
        return g.reshape(g.node("Expand", g.node("Unsqueeze", x, g.ints(2)), shape), 1, self.heads, -1, self.width)

    def attention(self, x, turns, mask, past):
        g, kept = self.g, self.groups * self.width
        query, key, value = (self.plain(x, self.features, out) for out in (self.features, kept, kept))
        query = self.turned(g.split_heads(query, -1, self.features, self.heads, [0, 2, 1, 3]), turns)
        key = self.turned(g.split_heads(key, -1, kept, self.groups, [0, 2, 1, 3]), turns)
        value = g.split_heads(value, -1, kept, self.groups, [0, 2, 1, 3])
        key, value = (g.node("Concat", old, new, axis=2) for old, new in zip(past, (key, value)))
        scores = g.node("MatMul", query, g.node("Transpose", self.repeated(key), perm=[0, 1, 3, 2]))
        scores = g.node("Add", g.node("Mul", scores, g.scalar(self.width**-0.5)), mask)
        mixed = g.node("MatMul", g.node("Softmax", scores, axis=-1), self.repeated(value))
        mixed = g.reshape(g.node("Transpose", mixed, perm=[0, 2, 1, 3]), 0, -1, self.features)
        return self.plain(mixed, self.features, self.features), key, value

    def gated(self, x, hidden):
        gate, up = (self.plain(x, self.features, hidden) for _ in range(2))
        return self.plain(self.g.node("Mul", self.g.activation(gate, "silu"), up), hidden, self.features)


def decoder_llama(name, features=768, layers=12, heads=12, groups=4, vocabulary=8000, block=0, last=False, builder=GraphBuilder):
    """last: logits of the last token alone, which are all that a prompt is asked for."""
    g = builder(name)
    g.block = block
    parts = Llama(g, features, heads, groups)
    ids = g.input("input_ids", [1, "tokens"], TensorProto.INT64)
    past = [[g.input(f"past_{kind}_{i}", [1, groups, "past", features // heads]) for kind in ("key", "value")] for i in range(layers)]
    x = g.node("Gather", g.constant(g.normal((vocabulary, features), 0.05), "embedding"), ids, axis=0)
    at, mask = causal(g, ids, past[0][0])
    turns = parts.turns(at)
    for i in range(layers):
        made, key, value = parts.attention(parts.norm(x), turns, mask, past[i])
        x = g.node("Add", x, made)
        x = g.node("Add", x, parts.gated(parts.norm(x), features * 8 // 3 // 64 * 64))
        keep(g, i, key, value, [1, groups, "total", features // heads])
    if last:
        x = g.node("Gather", x, g.ints(-1), axis=1)
    g.output(parts.plain(parts.norm(x), features, vocabulary), "logits", [1, 1 if last else "tokens", vocabulary])
    return g


def decoder_whisper(name, features=384, layers=4, heads=6, most=448, vocabulary=8000, heard=1500):
    """Whisper's decoder: self-attention to earlier tokens, and cross-attention to the encoder's output, given as keys and values."""
    g = GraphBuilder(name)
    shape = [1, heads, heard, features // heads]
    ids = g.input("input_ids", [1, "tokens"], TensorProto.INT64)
    past = [[g.input(f"past_{kind}_{i}", [1, heads, "past", features // heads]) for kind in ("key", "value")] for i in range(layers)]
    sound = [[g.input(f"heard_{kind}_{i}", shape) for kind in ("key", "value")] for i in range(layers)]
    words = g.node("Gather", g.constant(g.normal((vocabulary, features), 0.05), "embedding"), ids, axis=0)
    at, mask = causal(g, ids, past[0][0])
    x = g.node("Add", words, g.node("Gather", g.constant(g.normal((most, features), 0.05), "embedding"), at, axis=0))
    for i in range(layers):
        made, key, value = attention(g, g.layer_norm(x, features), features, heads, mask, past[i])
        x = g.node("Add", x, made)
        query = g.split_heads(g.linear(g.layer_norm(x, features), features, features), -1, features, heads, [0, 2, 1, 3])
        scores = g.node("MatMul", query, g.node("Transpose", sound[i][0], perm=[0, 1, 3, 2]))
        scores = g.node("Softmax", g.node("Div", scores, g.scalar((features // heads) ** 0.5)), axis=-1)
        mixed = g.node("Transpose", g.node("MatMul", scores, sound[i][1]), perm=[0, 2, 1, 3])
        x = g.node("Add", x, g.linear(g.reshape(mixed, 0, -1, features), features, features))
        x = g.node("Add", x, g.feed_forward(g.layer_norm(x, features), features))
        keep(g, i, key, value, [1, heads, "total", features // heads])
    weights = g.constant(g.normal((features, vocabulary), features**-0.5), "weight")
    g.output(g.node("MatMul", g.layer_norm(x, features), weights), "logits", [1, "tokens", vocabulary])
    return g


def segformer_sizes(name):
    return dense.segformer(name, size=None)


MODELS = {
    "bert_lengths": (bert_lengths, {}),
    "bert_lengths_base": (bert_lengths, dict(features=768, layers=12, heads=12, vocabulary=8000)),
    "bert_lengths_tiny": (bert_lengths, dict(features=32, layers=1, heads=2, vocabulary=100)),
    "decoder": (decoder, {}),
    "decoder_base": (decoder, dict(features=768, layers=12, heads=12, vocabulary=8000)),
    "decoder_base_4_bits": (decoder, dict(features=768, layers=12, heads=12, vocabulary=8000, block=64)),
    "decoder_tiny": (decoder, dict(features=32, layers=1, heads=2, vocabulary=100)),
    "decoder_llama": (decoder_llama, {}),
    "decoder_llama_4_bits": (decoder_llama, dict(block=64)),
    "decoder_llama_tiny": (decoder_llama, dict(features=32, layers=1, heads=4, groups=2, vocabulary=100)),
    "decoder_whisper": (decoder_whisper, {}),
    "decoder_whisper_tiny": (decoder_whisper, dict(features=32, layers=1, heads=2, vocabulary=100, heard=40)),
    "segformer_sizes": (segformer_sizes, {}),
}


def write_ir(path, states):
    import openvino
    from openvino import passes

    model = openvino.Core().read_model(str(path))
    if states:
        manager = passes.Manager()
        manager.register_pass(passes.MakeStateful(states))
        manager.run_passes(model)
    openvino.save_model(model, str(path.with_suffix(".xml")), compress_to_fp16=False)


def main():
    parser = argparse.ArgumentParser(description="Writes the models as ONNX and as OpenVINO IR.")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to; made if missing")
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(MODELS)}; default: all")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.names or MODELS:
        function, arguments = MODELS[name]
        builder = function(name, **arguments)
        write_ir(builder.save(options.out), builder.states)


if __name__ == "__main__":
    main()
