# SPDX-License-Identifier: Apache-2.0
"""The decoders of ./dev bench gpu: Llama's form, of 206 M and 1.1 B parameters, in 16, 8 and 4 bits, written where they are measured.

A token at batch 1 after a prompt: for lengths that no inference had before (new), and again after a reset (known). Their ids come from the
host, the last token's logits stay in the device's memory, on both sides. The limit is the time in which the device copies as many bytes as
the weights and the cache have that a token reads."""
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

import common
from common import figure, median, ratio, say

sys.path[:0] = [str(common.ROOT / "bench/moving"), str(common.ROOT / "models/zoo")]
import models  # noqa: E402
from builder import GraphBuilder  # noqa: E402

SIZES = {
    "llama_206m": dict(features=1024, layers=16, heads=16, groups=4, vocabulary=16000),
    "llama_1b": dict(features=2048, layers=22, heads=32, groups=4, vocabulary=32000),
    "llama_tiny": dict(features=64, layers=1, heads=4, groups=2, vocabulary=128),
}
TITLES = {"llama_206m": "206 M", "llama_1b": "1.1 B", "llama_tiny": "tiny"}
BLOCK = 64  # So many numbers of few bits have one scale.


class Pool:
    """Normal numbers that all weights are cut from, in each form: a model is written as fast as its file."""

    def __init__(self, count=1 << 22):
        self.numbers = np.random.default_rng(5).standard_normal(count, np.float32).reshape(-1, BLOCK)
        self.forms, self.cuts = {}, 0

    def form(self, key, make):
        if key not in self.forms:
            self.forms[key] = make()
        return self.forms[key]

    def halves(self, deviation):
        return self.form(deviation, lambda: (self.numbers * np.float32(deviation)).astype(np.float16))

    def packed(self, bits):
        """Numbers around the middle of what so many bits hold, as MatMulNBits has them, and a scale for each block."""
        def make():
            middle = 1 << (bits - 1)
            scales = np.abs(self.numbers).max(axis=1, keepdims=True) / (middle - 1)
            numbers = (np.rint(self.numbers / scales) + middle).astype(np.uint8)
            return (numbers[:, ::2] | numbers[:, 1::2] << 4 if bits == 4 else numbers), scales
        return self.form(f"{bits} bits", make)

    def begin(self):
        """Where the next matrix begins: each elsewhere."""
        self.cuts += 1
        return self.cuts * 104729 % len(self.numbers)


def cut(rows, begin, count):
    """`count` rows in pieces, from the first again behind the last."""
    while count:
        piece = rows[begin:begin + count]
        yield piece
        count, begin = count - len(piece), 0


class LargeBuilder(GraphBuilder):
    """Writes large constants into a file beside the model at once: a model may be larger than a message of protobuf, or memory."""

    def __init__(self, name, folder, bits, pool):
        super().__init__(name)
        self.bits, self.pool, self.path = bits, pool, folder / f"{name}.bin"
        self.file = self.path.open("wb")
        self.embedding_bytes = 0

    def external(self, prefix, kind, shape, pieces):
        name = self._unique(prefix)
        tensor = TensorProto(name=name, data_type=kind, dims=shape, data_location=TensorProto.EXTERNAL)
        begin = self.file.seek(-self.file.tell() % 4096, 1)
        for piece in pieces:
            self.file.write(np.ascontiguousarray(piece).data)
        for key, value in (("location", self.path.name), ("offset", begin), ("length", self.file.tell() - begin)):
            tensor.external_data.add(key=key, value=str(value))
        self._initializers.append(tensor)
        return name

    def halves(self, prefix, shape, deviation):
        pieces = cut(self.pool.halves(deviation), self.pool.begin(), int(np.prod(shape)) // BLOCK)
        return self.node("Cast", self.external(prefix, TensorProto.FLOAT16, shape, pieces), to=TensorProto.FLOAT)

    def normal(self, shape, deviation, mean=0.0):
        """The table of words is not made here, but by constant(), which is given its shape and deviation."""
        return super().normal(shape, deviation, mean) if np.ndim(shape) == 0 else (shape, deviation)

    def constant(self, value, prefix="const"):
        if prefix != "embedding":
            return super().constant(value, prefix)
        self.embedding_bytes = 2 * int(np.prod(value[0]))
        return self.halves(prefix, *value)

    def linear(self, x, features_in, features_out, bias=True, gain=1):
        assert not bias
        deviation = gain * features_in**-0.5
        if self.bits == 16:
            return self.node("MatMul", x, self.halves("weight", (features_in, features_out), deviation))
        numbers, scales = self.pool.packed(self.bits)
        count, begin = features_in * features_out // BLOCK, self.pool.begin()
        shape = (features_out, features_in // BLOCK, BLOCK * self.bits // 8)
        scaled = (piece * np.float32(deviation) for piece in cut(scales, begin, count))
        operands = [self.external("weight", TensorProto.UINT8, shape, cut(numbers, begin, count)),
                    self.external("scale", TensorProto.FLOAT, (count,), scaled)]
        return self.node("MatMulNBits", x, *operands, domain="com.microsoft", K=features_in, N=features_out, bits=self.bits, block_size=BLOCK)

    def save(self, folder):
        self.file.close()
        graph = helper.make_graph(self._nodes, self.name, self._inputs, self._outputs, self._initializers)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        path = folder / f"{self.name}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
        return path


def write(size, bits, folder, pool):
    """The model's path, and the bytes of its weights, all and those that a token reads."""
    builder = models.decoder_llama(f"{size}_{bits}", last=True, builder=lambda name: LargeBuilder(name, folder, bits, pool), **SIZES[size])
    path = builder.save(folder)
    every = builder.path.stat().st_size
    return path, every, every - builder.embedding_bytes


def measure(session, path, precision, prompt, tokens):
    """Milliseconds of a prompt and of tokens behind it, twice; then the same with each kernel timed."""
    before = session.ask("memory")["bytes"]
    found = session.ask(f"load {path} {precision}")
    first = session.infer([prompt, 1])
    begin = [prompt] + [1] * min(4, tokens // 2)  # Builds what later tokens share.
    rest = [1] * (tokens + 1 - len(begin))
    settled_ms = session.settle(begin)
    session.ask("reset")
    session.infer(begin)
    new = session.infer(rest)
    session.ask("reset")
    second, known = session.infer(begin), session.infer(rest)
    session.ask("reset")
    session.infer(begin)
    spans = common.spans(session, path.parent / "trace.json", rest)
    say("decoders: of a known token, median us: " + ", ".join(f"{name} {us:.0f}" for name, us in spans.items()))
    found |= {"prompt_first_ms": first["ms"][0], "prompt_ms": second["ms"][0], "token_first_ms": first["ms"][1],
              "settled_ms": settled_ms, "token_new_ms": median(new["ms"]), "token_ms": median(known["ms"]), "best_ms": min(known["ms"]),
              "tokens_new_ms": new["ms"], "tokens_ms": known["ms"],
              "host_ms": median(known["host_ms"]), "spans_us": spans, "device_bytes": session.ask("memory")["bytes"] - before,
              "process_bytes": session.process_bytes()}
    session.ask(f"output {path.parent / 'logits.bin'}")
    return found | common.profiled(session, path, precision, [prompt, 1, 1, 1])


def cache_bytes(given, rows):
    return given["layers"] * 2 * given["groups"] * given["features"] // given["heads"] * rows * 2


def peer_of(size, path, prompt, tokens):
    """torch's figures, or why there are none."""
    why = common.why_no_torch()
    if why:
        return {"torch": why}
    import torch_peers
    try:
        return torch_peers.llama(SIZES[size], path, prompt, tokens)
    except Exception as error:  # Its columns stay empty, ours do not.
        return {"torch": f"{type(error).__name__}: {str(error)[:300]}"}


COLUMNS = ["parameters", "bits", "token: new, ms", "known", "memory's limit", "torch", "ratio", "prompt: first, ms", "second", "torch", "ratio",
           "buffers, MB", "process, MB", "weights and cache, MB", "launches", "kernels, ms", "host, ms"]


def cells_of(row):
    if "error" in row:
        return [TITLES[row["model"]], row["bits"], row["error"][:80]] + [""] * (len(COLUMNS) - 3)
    torch_token, torch_prompt = row.get("torch_token_ms"), row.get("torch_prompt_ms")
    megabytes = [figure(row[key] and row[key] / 1e6, 0) for key in ("device_bytes", "process_bytes", "needed_bytes")]
    return [TITLES[row["model"]], row["bits"], figure(row["token_new_ms"], 3), figure(row["token_ms"], 3), figure(row["limit_ms"], 3),
            figure(torch_token, 3), ratio(torch_token, row["token_ms"]) + common.differing(row), figure(row["prompt_first_ms"], 1),
            figure(row["prompt_ms"], 1), figure(torch_prompt, 1), ratio(torch_prompt, row["prompt_ms"]), *megabytes, row["launches"],
            figure(row["kernels_ms"], 3), figure(row["host_ms"], 3)]


def run(options, folder):
    sizes = ["llama_tiny"] if options.tiny else [name for name in ("llama_206m", "llama_1b") if name in options.models or not options.models]
    prompt, tokens = (12, 4) if options.tiny else (512, 64)
    precision, pool = ("f32", Pool(1 << 14)) if options.tiny else ("f16", Pool())
    device = options.device
    head = (f"{device['name']}, {precision}, batch 1, a prompt of {prompt} and {tokens} tokens; a copy moves "
            f"{device['bytes_per_s'] / 1e12:.3f} TB/s; {common.peer_head('transformers, compiled static cache')}.")
    report = common.Report(options, "decoders", head, COLUMNS)
    for size in sizes:
        peer = None
        for bits in map(int, options.bits.split(",")):
            row = {"model": size, "bits": bits, "device": device["name"]}
            say(f"decoders: {size}, {bits} bits: written")
            path, every, read = write(size, bits, folder, pool)
            rows = prompt + tokens
            row |= {"weight_bytes": every, "needed_bytes": every + cache_bytes(SIZES[size], rows),
                    "limit_ms": 1000 * (read + cache_bytes(SIZES[size], rows - tokens // 2)) / device["bytes_per_s"]}
            try:
                say("decoders: measured")
                with common.Session(options, folder) as session:
                    row |= measure(session, path, precision, prompt, tokens)
                if peer is None and bits == 16:
                    say("decoders: torch")
                    peer = peer_of(size, path, prompt, tokens)
                    row |= peer
                elif peer:  # Beside the same figures of f16, which is what torch has.
                    row |= {key: value for key, value in peer.items() if key.endswith("_ms")}
            except RuntimeError as error:
                row["error"] = str(error)
            report.add(row, cells_of(row))
            for each in (path, path.with_suffix(".bin")):
                each.unlink()
    return report
