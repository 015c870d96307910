#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models on Tenon's GPU device beside torch, in three parts, each a table of docs/guide/gpu.md:

  static    models of fixed shapes beside torch with CUDA graphs, at several batches
  moving    texts and pictures of many sizes, and small decoders: sizes that are new, and known
  decoders  decoders of 206 M and 1.1 B parameters in 16, 8 and 4 bits beside transformers' compiled static cache

Needs torch with CUDA, torchvision and transformers, of which only the static part cannot do without: the others leave torch's columns empty
and say why. --tiny runs the other two with small models, on any OpenCL device, in some seconds. Nothing is downloaded.

  gpu.py [--build build/release] [--only static,moving,decoders] [--models bert_lengths_base,llama_1b] [--bits 16,8,4] [--out FOLDER]
  gpu.py --tables FILE.json...    writes what came back from another machine (--out) into the guide
"""
import argparse
import json
import os
import pathlib
import sys
import tempfile

import common

os.environ["HF_HUB_OFFLINE"] = os.environ["TRANSFORMERS_OFFLINE"] = "1"
PARTS = ["static", "moving", "decoders"]
GUIDE = common.ROOT / "docs/guide/gpu.md"


def write_tables(files):
    sys.path.insert(0, str(common.ROOT / "scripts"))
    import tables
    found = {}
    for file in files:
        report = json.loads(pathlib.Path(file).read_text())
        found.setdefault(report["part"], []).append(report)
    for part, reports in found.items():
        tables.write(f"gpu-{part}", common.text_of(reports), GUIDE)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=common.ROOT / "build/release")
    parser.add_argument("--only", default=",".join(PARTS), help="which parts")
    parser.add_argument("--models", default="", help="of these parts; default: all of them")
    parser.add_argument("--out", type=pathlib.Path, help="a folder for each part's table, as PART.json and PART.md")
    parser.add_argument("--tables", nargs="+", metavar="FILE.json", help="only write these into docs/guide/gpu.md")
    parser.add_argument("--batches", default="1,8,32", help="static")
    parser.add_argument("--precisions", default="f16,f32", help="static")
    parser.add_argument("--seconds", type=float, default=1.0, help="static: for each measurement")
    parser.add_argument("--profile", action="store_true", help="static: the kernels that take longest, to stderr")
    parser.add_argument("--bits", default="16,8,4", help="decoders: of a weight")
    parser.add_argument("--tiny", action="store_true", help="small models of the parts moving and decoders")
    options = parser.parse_args()
    if options.tables:
        return write_tables(options.tables)
    chosen = options.only.split(",")
    if not set(chosen) <= set(PARTS):
        parser.error(f"--only names {options.only}; the parts are {', '.join(PARTS)}")
    options.models = [name for name in options.models.split(",") if name]
    options.build, options.device = options.build.absolute(), None
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
    failed = False
    for part in chosen:
        if part == "static":
            why = "--tiny has none" if options.tiny else common.why_no_torch()
            if why:
                common.say(f"static: left out: {why}")
                failed |= not options.tiny
                continue
            import static as module
        elif part == "moving":
            import shapes as module
        else:
            import decoders as module
        with tempfile.TemporaryDirectory(prefix="tenon_gpu_") as folder:
            folder = pathlib.Path(folder)
            if part != "static" and not options.device:
                with common.Session(options, folder) as session:
                    options.device = session.ask("device")
            failed |= module.run(options, folder).failed()
    return failed


if __name__ == "__main__":
    sys.exit(main())
