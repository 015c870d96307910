# SPDX-License-Identifier: Apache-2.0
"""A random Llama of a few kilobytes and a tokenizer for it, as folders that OpenVINO GenAI loads. Built from operations, in the form
in which stateful language models are exported (input_ids, attention_mask, position_ids, beam_idx; keys and values as variables), since
nothing is downloaded here."""
import json
from pathlib import Path

import numpy as np
import openvino as ov
import openvino.opset13 as ops
from client import named

# NPUW folds blocks that repeat five times or more, and cuts models with fewer in a way that it then refuses itself.
LAYERS, HEADS, HEAD, FEED = 6, 4, 16, 96
HIDDEN = HEADS * HEAD
CHARACTERS = [chr(code) for code in range(32, 127)]
WORDS = ["the ", "and ", "ing ", "light", "water", "stone", "er ", "on "]
EOS = 0
VOCABULARY = ["<eos>", "<bos>"] + CHARACTERS + WORDS


def i64(*values):
    return ops.constant(np.array(values, np.int64))


class Weights:
    """Matrices [rows, columns], as f32 or as numbers of 8 or 4 bits with a scale per row."""

    def __init__(self, kind, seed):
        self.kind, self.random = kind, np.random.default_rng(seed)

    def values(self, rows, columns, scale=None):
        return self.random.normal(0, scale or 1.4 / np.sqrt(columns), (rows, columns)).astype(np.float32)

    def matrix(self, rows, columns, scale=None):
        values = self.values(rows, columns, scale)
        if self.kind == "f32":
            return ops.constant(values)
        span = np.abs(values).max(axis=1, keepdims=True)
        if self.kind == "u8":
            step = (span / 127).astype(np.float16)
            stored = ops.constant(np.clip(np.rint(values / step) + 128, 0, 255).astype(np.uint8))
            zero = ops.convert(ops.constant(np.full((rows, 1), 128, np.uint8)), np.float16)
            whole = ops.subtract(ops.convert(stored, np.float16), zero)
        else:
            step = (span / 7).astype(np.float16)
            numbers = np.clip(np.rint(values / step), -8, 7).astype(np.int8)
            packed = (numbers[:, 0::2] & 15) | (numbers[:, 1::2] & 15) << 4
            tensor = ov.Tensor(ov.Type.i4, ov.Shape([rows, columns]))  # Its own memory: over an array's it would not keep the array.
            tensor.data[:] = packed.ravel()
            stored = ov.op.Constant(tensor)
            whole = ops.convert(stored, np.float16)
        return ops.convert(ops.multiply(whole, ops.constant(step)), np.float32)

    def product(self, x, rows, columns, scale=None):
        return ops.matmul(x, self.matrix(rows, columns, scale), False, True)


def rms_norm(x):
    mean = ops.reduce_mean(ops.power(x, ops.constant(np.array([[[2]]], np.float32))), i64(-1), True)
    root = ops.sqrt(ops.add(mean, ops.constant(np.array([[[1e-5]]], np.float32))))
    normal = ops.multiply(x, ops.divide(ops.constant(np.array([[[1]]], np.float32)), root))
    return ops.multiply(ops.constant(np.ones((1, 1, HIDDEN), np.float32)), normal)


def heads(x):
    return ops.transpose(ops.reshape(x, i64(0, 0, HEADS, HEAD), True), i64(0, 2, 1, 3))


def rotated(x, cosine, sine):
    low = ops.slice(x, i64(0), i64(HEAD // 2), i64(1), i64(3))
    high = ops.slice(x, i64(HEAD // 2), i64(np.iinfo(np.int64).max), i64(1), i64(3))
    half = ops.concat([ops.multiply(high, ops.constant(np.array([[[[-1]]]], np.float32))), low], -1)
    return ops.add(ops.multiply(x, cosine), ops.multiply(half, sine))


def extent(node, axis):
    """A scalar."""
    return ops.gather(ops.shape_of(node), ops.constant(np.int64(axis)), ops.constant(np.int64(0)))


def counted(count):
    """0, 1, 2..."""
    return ops.range(ops.constant(np.int64(0)), count, ops.constant(np.int64(1)), "i64")


def llama(kind="f32", seed=5):
    """input_ids, attention_mask, position_ids [batch, tokens] and beam_idx [batch] to logits [batch, tokens, words]."""
    weights = Weights(kind, seed)
    names = ("input_ids", "attention_mask", "position_ids")
    ids, mask, positions = (named(ops.parameter(ov.PartialShape([-1, -1]), np.int64), name) for name in names)
    beams = named(ops.parameter(ov.PartialShape([-1]), np.int32), "beam_idx")
    parameters = [ids, mask, positions, beams]
    batch, tokens, all_tokens = extent(ids, 0), extent(ids, 1), extent(mask, 1)

    # A token sees only the existing tokens up to itself.
    own = ops.add(counted(tokens), ops.subtract(all_tokens, tokens))
    seen = ops.less_equal(ops.unsqueeze(counted(all_tokens), i64(0)), ops.unsqueeze(own, i64(1)))
    there = ops.unsqueeze(ops.convert(mask, bool), i64(1, 2))
    shown = ops.logical_and(ops.unsqueeze(seen, i64(0, 1)), there)
    bias = ops.select(shown, ops.constant(np.float32(0)), ops.constant(np.float32(np.finfo(np.float16).min)))

    inverse = ops.constant((1 / 10000 ** (np.arange(0, HEAD, 2, dtype=np.float32) / HEAD)).reshape(1, 1, -1))
    angles = ops.multiply(ops.unsqueeze(ops.convert(positions, np.float32), i64(2)), inverse)
    angles = ops.unsqueeze(ops.concat([angles, angles], -1), i64(1))
    cosine, sine = ops.cos(angles), ops.sin(angles)

    embedding = ops.convert(weights.matrix(len(VOCABULARY), HIDDEN, 1.0), np.float32)
    x = ops.gather(embedding, ops.convert(ids, np.int32), ops.constant(np.int32(0)))
    sinks = []
    for layer in range(LAYERS):
        normal = rms_norm(x)
        query, key, value = (heads(weights.product(normal, HIDDEN, HIDDEN)) for _ in range(3))
        query, key = rotated(query, cosine, sine), rotated(key, cosine, sine)
        kept = []
        for name, now in (("key", key), ("value", value)):
            variable = f"past_key_values.{layer}.{name}present.{layer}.{name}"
            empty = ops.broadcast(ops.constant(np.float32(0)), ops.concat([ops.unsqueeze(batch, i64(0)), i64(HEADS), i64(0), i64(HEAD)], 0))
            before = ops.read_value(empty, variable, np.float32, ov.PartialShape([-1, HEADS, -1, HEAD]))
            joined = ops.concat([ops.gather(before, beams, ops.constant(np.int32(0))), now], 2)
            sinks.append(ops.assign(joined, variable))
            kept.append(joined)
        attended = ops.scaled_dot_product_attention(query, kept[0], kept[1], bias)
        attended = ops.reshape(ops.transpose(attended, i64(0, 2, 1, 3)), i64(0, 0, HIDDEN), True)
        x = ops.add(x, weights.product(attended, HIDDEN, HIDDEN))
        normal = rms_norm(x)
        gated = ops.multiply(ops.swish(weights.product(normal, FEED, HIDDEN)), weights.product(normal, FEED, HIDDEN))
        x = ops.add(x, weights.product(gated, HIDDEN, FEED))
    logits = weights.product(rms_norm(x), len(VOCABULARY), HIDDEN)
    result = ops.result(logits, "logits")
    logits.output(0).set_names({"logits"})
    return ov.Model([result], sinks, parameters, "tiny_llama")


def tokenizers():
    """A tokenizer for VOCABULARY, the longest words first."""
    from openvino_tokenizers import build_rwkv_tokenizer  # pylint: disable=import-outside-toplevel

    lines = [f"{number} {word!r} {len(word)}" for number, word in enumerate(VOCABULARY)]
    tokenizer, detokenizer = build_rwkv_tokenizer(lines)
    # The tokenizer only makes token numbers; pipelines need the mask too.
    dense = next(node for node in tokenizer.get_ordered_ops() if node.get_type_name() == "RaggedToDense")
    mask = ops.convert(dense.output(1), np.int64)
    mask.output(0).set_names({"attention_mask"})
    tokenizer.add_results([ops.result(mask)])
    return tokenizer, detokenizer


def save(folder, kind="f32", seed=5):
    """Writes the files that LLMPipeline needs in a folder: model, tokenizer, detokenizer and their settings."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    ov.save_model(llama(kind, seed), folder / "openvino_model.xml", compress_to_fp16=False)
    for name, model in zip(("tokenizer", "detokenizer"), tokenizers()):
        ov.save_model(model, folder / f"openvino_{name}.xml", compress_to_fp16=False)
    settings = {"model_type": "llama", "hidden_size": HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
                "num_key_value_heads": HEADS, "vocab_size": len(VOCABULARY), "eos_token_id": EOS, "bos_token_id": 1}
    (folder / "config.json").write_text(json.dumps(settings), encoding="utf-8")
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": EOS, "bos_token_id": 1, "pad_token_id": EOS}),
                                                   encoding="utf-8")
    return folder
