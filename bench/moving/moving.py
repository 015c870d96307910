#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models with dynamic shapes, on Tenon's CPU device beside OpenVINO's: short rounds in turn, medians of the rounds.

For an encoder: lengths of 1 to 128 in random order, each for the first time (`new`), then again (`known`); for pictures sides of 128 to
384. For a decoder: a prompt, then one token at a time, for the first time (`new`), and again after a reset (`known`). A token reads all weights
once, which for the large decoders no cache holds: how fast is measured beside threads that do nothing but read.
"""
import argparse
import datetime
import inspect
import json
import os
import random
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
import matrix
import models
import tables

MODELS = ["bert_lengths", "bert_lengths_base", "segformer_sizes", "decoder", "decoder_base", "decoder_base_4_bits", "decoder_llama",
          "decoder_llama_4_bits", "decoder_whisper"]

LARGE_BYTES = 48 << 20  # More than a share of a cache.


class Worker:
    def __init__(self, path, environment=None):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        if not answer or answer.startswith("error"):
            raise RuntimeError(f"{line}: {answer or 'the worker ended'}")
        return answer

    def times(self, extents):
        return [float(us) for us in self.ask("infer " + " ".join(map(str, extents))).split()]

    def close(self):
        self.process.stdin.write("quit\n")
        self.process.stdin.close()
        self.process.wait(timeout=60)


def is_decoder(name):
    return name.startswith("decoder")


def weights_read(name, path):
    """Bytes of weights that a token reads: all but the embeddings, of which it takes a row."""
    function, arguments = models.MODELS[name]
    given = {key: value.default for key, value in inspect.signature(function).parameters.items()} | arguments
    return path.with_suffix(".bin").stat().st_size - 4 * given["features"] * (given["vocabulary"] + given.get("most", 0))


def sequence(name, count):
    if is_decoder(name):
        return [16] + [1] * (count - 1)
    order = random.Random(5)
    if name == "segformer_sizes":
        return [32 * order.randint(4, 12) for _ in range(count)]
    return [order.randint(1, 128) for _ in range(count)]


def seconds_of(name, worker, extents, chunk):
    """us of each, in chunks that the caller interleaves."""
    for at in range(0, len(extents), chunk):
        yield worker.times(extents[at:at + chunk])


def model_in(zoo, name):
    """The file of a model, which is made there unless it is."""
    zoo.mkdir(parents=True, exist_ok=True)
    path = zoo / f"{name}.xml"
    if not path.exists():
        function, arguments = models.MODELS[name]
        builder = function(name, **arguments)
        models.write_ir(builder.save(zoo), builder.states)
    return path


def measure(name, path, team, threads, precision, rounds, count):
    """@param team  Workers by name: the speeds are the first one's beside the second's."""
    extents = sequence(name, count)
    reader = next(iter(team.values()))
    reads = [float(reader.ask(f"read {threads}"))]
    for worker in team.values():
        worker.ask(f"load {path} {threads} {precision}")
    found = {"model": name, "threads": threads, "precision": precision}
    seen = {}
    for turn in range(rounds + 1):
        if is_decoder(name) and turn:
            for worker in team.values():
                worker.ask("reset")
        parts = {peer: seconds_of(name, worker, extents, 8) for peer, worker in team.items()}
        all_us = {peer: [] for peer in team}
        while any(len(us) < len(extents) for us in all_us.values()):
            for peer in team:
                all_us[peer] += next(parts[peer])
        for peer, us in all_us.items():
            # The prompt is no token.
            seen.setdefault(peer, []).append(us[1:] if is_decoder(name) else us)
    sums = {peer: float(worker.ask("sum")) for peer, worker in team.items()}
    for peer in team:
        found[peer] = {"new_ms": round(sum(seen[peer][0]) / len(seen[peer][0]) / 1e3, 3),
                      "known_ms": round(statistics.median(sum(us) / len(us) for us in seen[peer][1:]) / 1e3, 3),
                      "resident_mb": int(team[peer].ask("memory").split()[0]) // 1024, "sum": sums[peer]}
    if is_decoder(name) and weights_read(name, path) > LARGE_BYTES:
        reads.append(float(reader.ask(f"read {threads}")))
        found["read_gb_per_s"] = statistics.mean(reads)
        for peer in team:
            per_s = weights_read(name, path) / found[peer]["known_ms"] / 1e6
            found[peer]["of_plain_read"] = round(per_s / found["read_gb_per_s"], 3)
    if len(team) == 2:
        ours, theirs = (found[peer] for peer in team)
        found["speed_new"] = round(theirs["new_ms"] / ours["new_ms"], 3)
        found["speed_known"] = round(theirs["known_ms"] / ours["known_ms"], 3)
        if abs(ours["sum"] - theirs["sum"]) > 0.01 * abs(theirs["sum"]):
            found["wrong"] = True
    return found


def table(everything, options):
    lines = [f"{datetime.date.today()}, {matrix.machine()}, load {os.getloadavg()[0]:.1f} after; {options.threads} threads, {options.precision}, "
             f"{options.count} inferences, the known ones {options.rounds} times; `./dev bench moving` makes this table.", "",
             "| model | Tenon: new, ms | OpenVINO: new, ms | speed, new | Tenon: known, ms | OpenVINO: known, ms | speed, known "
             "| new / known | memory, MB | OpenVINO's | weights read, of a plain read's speed | OpenVINO's |", "|" + "---|" * 12]
    for found in everything:
        ours, theirs = found["tenon"], found["openvino"]
        lines.append(f"| {found['model']} | {ours['new_ms']:.2f} | {theirs['new_ms']:.2f} | {found['speed_new']:.2f} | {ours['known_ms']:.2f} "
                     f"| {theirs['known_ms']:.2f} | {found['speed_known']:.2f} | {ours['new_ms'] / ours['known_ms']:.2f} "
                     f"| {ours['resident_mb']} | {theirs['resident_mb']} | {ours.get('of_plain_read', '')} | {theirs.get('of_plain_read', '')} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--zoo", type=Path, help="folder of the models; default: BUILD/moving")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", default="f32", choices=["f32", "bf16"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=96, help="inferences per round")
    parser.add_argument("--no-docs", action="store_true", help="do not write docs/benchmarks.md")
    parser.add_argument("models", nargs="*", default=MODELS, help=f"of {', '.join(models.MODELS)}")
    options = parser.parse_args()
    zoo = options.zoo or options.build / "moving"
    wrong, everything = False, []
    for name in options.models:
        path = model_in(zoo, name)
        team = {peer: Worker(str(options.build / f"peers/moving_{peer}")) for peer in ("tenon", "openvino")
                if (options.build / f"peers/moving_{peer}").exists()}
        found = measure(name, path, team, options.threads, options.precision, options.rounds, options.count)
        wrong |= found.get("wrong", False)
        print(json.dumps(found), flush=True)
        everything.append(found)
        for worker in team.values():
            worker.close()
    if not wrong and not options.no_docs and options.models == MODELS and all("openvino" in found for found in everything):
        tables.write("moving", table(everything, options))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
