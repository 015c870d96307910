#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models whose shapes move, with random weights: an encoder for texts of any length, a decoder whose cache grows.

usage: models.py --out DIR [name...]
"""
import argparse
import sys
from pathlib import Path

import numpy as np
from onnx import TensorProto

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "models/zoo"))
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
    before, now = extent(g, past[0][0], 2), extent(g, ids, 1)
    total = g.node("Add", before, now)
    at = g.node("Range", before, total, g.scalar(1, np.int64))
    x = g.node("Add", words, g.node("Gather", g.constant(g.normal((most, features), 0.05), "embedding"), at, axis=0))
    later = g.node("Less", g.node("Unsqueeze", at, g.ints(1)),
                   g.node("Unsqueeze", g.node("Range", g.scalar(0, np.int64), total, g.scalar(1, np.int64)), g.ints(0)))
    mask = g.node("Where", later, g.scalar(-10000), g.scalar(0))
    for i in range(layers):
        made, key, value = attention(g, g.layer_norm(x, features), features, heads, mask, past[i])
        x = g.node("Add", x, made)
        x = g.node("Add", x, g.feed_forward(g.layer_norm(x, features), features))
        for kind, cache in (("key", key), ("value", value)):
            g.output(cache, f"present_{kind}_{i}", [1, heads, "total", features // heads])
            g.states[f"past_{kind}_{i}"] = f"present_{kind}_{i}"
    weights = g.constant(g.normal((features, vocabulary), features**-0.5), "weight")
    g.output(g.node("MatMul", g.layer_norm(x, features), weights), "logits", [1, "tokens", vocabulary])
    return g


MODELS = {
    "bert_lengths": (bert_lengths, {}),
    "bert_lengths_base": (bert_lengths, dict(features=768, layers=12, heads=12, vocabulary=8000)),
    "bert_lengths_tiny": (bert_lengths, dict(features=32, layers=1, heads=2, vocabulary=100)),
    "decoder": (decoder, {}),
    "decoder_base": (decoder, dict(features=768, layers=12, heads=12, vocabulary=8000)),
    "decoder_base_4_bits": (decoder, dict(features=768, layers=12, heads=12, vocabulary=8000, block=64)),
    "decoder_tiny": (decoder, dict(features=32, layers=1, heads=2, vocabulary=100)),
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
