# SPDX-License-Identifier: Apache-2.0
"""The moving models of ./dev bench gpu: texts and pictures of many sizes in random order, each for the first time (new) and again (known),
and decoders with growing caches. Inputs come from the host, and results of encoders go back to it, on both sides."""
import inspect
import random
import sys
import time

import common
import decoders
from common import figure, median, ratio, say

sys.path[:0] = [str(common.ROOT / "bench/moving"), str(common.ROOT / "models/zoo")]
import models  # noqa: E402

MODELS = ["bert_lengths_base", "segformer_sizes", "decoder", "decoder_llama", "decoder_llama_4_bits"]
TINY = ["bert_lengths_tiny", "decoder_tiny"]


def extents_of(name, tiny):
    """In random order, the one at which the model is also measured with a fixed shape, and what torch's graphs are made for."""
    if tiny:
        return [5, 9, 7, 12], 9, []
    if name == "segformer_sizes":
        sides = [32 * count for count in range(4, 12)]
        return random.Random(1).sample(sides, len(sides)), 256, sides
    return random.Random(1).sample(range(8, 121), 24), 64, list(range(16, 129, 16))


def decoded(options):
    """The tokens of a prompt, and those behind it."""
    return (6, 4) if options.tiny else (128, 64)


def first_ms(options, folder, path, precision, extent, kept):
    """What compiling takes in a fresh process, and the first inference."""
    with common.Session(options, folder) as session:
        loaded = session.ask(f"load {path} {precision} {kept}")
        return loaded["compile_ms"], session.infer([extent])["ms"][0]


def steady_ms(session, extents, rounds=20, limit_s=30):
    """The median once nothing becomes faster: kernels for one size alone are built beside the first inferences that come again."""
    began, medians = time.monotonic(), []
    while time.monotonic() - began < limit_s:
        medians.append(median(session.infer(extents)["ms"]))
        last = medians[-rounds:]
        if len(medians) > rounds and max(last) < 1.1 * min(last):
            break
    return median(medians[-rounds:])


def measure_encoder(name, path, precision, options, folder):
    extents, fixed, _ = extents_of(name, options.tiny)
    kept = folder / f"kept_{name}"
    found = {}
    found["compile_ms"], found["first_ms"] = first_ms(options, folder, path, precision, extents[0], kept)
    found["compile_kept_ms"], found["first_kept_ms"] = first_ms(options, folder, path, precision, extents[0], kept)
    with common.Session(options, folder) as session:
        session.ask(f"load {path} {precision}")
        # The first sizes build programs, which the later ones share.
        quarter = len(extents) // 4
        session.infer(extents[:quarter])
        found["settled_ms"] = session.settle(extents[:quarter])
        found["new_ms"] = median(session.infer(extents[quarter:])["ms"])
        found |= {"known_ms": {}, "host_ms": {}}
        for _ in range(3):
            again = session.infer(extents)
            for key, source in (("known_ms", "ms"), ("host_ms", "host_ms")):
                for extent, value in zip(extents, again[source]):
                    found[key].setdefault(extent, []).append(value)
        found["steady_ms"] = steady_ms(session, extents)
        session.infer([fixed] * 5)
        found["at_fixed_ms"] = median(session.infer([fixed] * 20)["ms"])
        session.ask(f"output {folder / 'result.bin'}")
        session.ask(f"fixed {path} {precision} {fixed}")
        session.settle([fixed])
        session.infer([fixed] * 5)
        found["fixed_ms"] = median(session.infer([fixed] * 20)["ms"])
        found |= common.profiled(session, path, precision, [fixed] * 3)
    for key in ("known_ms", "host_ms"):
        found[key] = median([median(values) for values in found[key].values()])
    return found


def measure_decoder(name, path, precision, options, folder):
    prompt, tokens = decoded(options)
    kept, found = folder / f"kept_{name}", {}
    found["compile_ms"], found["first_ms"] = first_ms(options, folder, path, precision, prompt, kept)
    found["compile_kept_ms"], found["first_kept_ms"] = first_ms(options, folder, path, precision, prompt, kept)
    with common.Session(options, folder) as session:
        found = decoders.measure(session, path, precision, prompt, tokens) | found
    return found | {"new_ms": found["token_new_ms"], "known_ms": found["token_ms"]}


def peer_of(name, path, options, folder):
    why = common.why_no_torch()
    if why:
        return {"torch": why}
    import torch_peers
    try:
        if name == "segformer_sizes":
            return torch_peers.segformer(*extents_of(name, options.tiny))
        function, arguments = models.MODELS[name]
        given = {key: value.default for key, value in inspect.signature(function).parameters.items()} | arguments
        if name.startswith("bert"):
            return torch_peers.bert(given, path, *extents_of(name, options.tiny), folder / "result.bin")
        if given["block"]:
            return {"torch": "has no such weights"}
        found = (torch_peers.llama if "groups" in given else torch_peers.gpt2)(given, path, *decoded(options))
        return found | {"torch_ms": found["torch_token_ms"]}
    except Exception as error:  # Its columns stay empty, ours do not.
        return {"torch": f"{type(error).__name__}: {str(error)[:300]}"}


COLUMNS = ["model", "first, ms", "first with kept programs", "new, ms", "known, ms", "new / known", "steady, ms", "one shape, ms", "the same fixed", "torch",
           "by", "ratio", "launches", "kernels, ms", "host, ms"]


def cells_of(row):
    if "error" in row:
        return [row["model"], row["error"][:80]] + [""] * (len(COLUMNS) - 2)
    return [row["model"], figure(row["first_ms"], 0), figure(row["first_kept_ms"], 0), figure(row["new_ms"], 3), figure(row["known_ms"], 3),
            ratio(row["new_ms"], row["known_ms"]), figure(row.get("steady_ms"), 3), figure(row.get("at_fixed_ms"), 3), figure(row.get("fixed_ms"), 3),
            figure(row.get("torch_ms"), 3), row.get("torch", ""), ratio(row.get("torch_ms"), row.get("steady_ms", row["known_ms"])) + common.differing(row),
            row["launches"], figure(row["kernels_ms"], 3), figure(row["host_ms"], 3)]


def run(options, folder):
    names = TINY if options.tiny else [name for name in MODELS if name in options.models or not options.models]
    precision = "f32" if options.tiny else "f16"
    device = options.device
    head = (f"{device['name']}, {precision}; decoders: a token behind a prompt of {decoded(options)[0]}; "
            f"{common.peer_head('the faster of torch.compile(dynamic=True) and CUDA graphs of padded sizes')}.")
    report = common.Report(options, "moving", head, COLUMNS)
    for name in names:
        row = {"model": name, "device": device["name"]}
        try:
            function, arguments = models.MODELS[name]
            say(f"moving: {name}: written")
            path = function(name, **arguments).save(folder)
            say("moving: measured")
            row |= (measure_decoder if name.startswith("decoder") else measure_encoder)(name, path, precision, options, folder)
            say("moving: torch")
            row |= peer_of(name, path, options, folder)
            path.unlink()
        except RuntimeError as error:
            row["error"] = str(error)
        report.add(row, cells_of(row))
    return report
