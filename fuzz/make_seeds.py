#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fills seed folders for the parser fuzzers: make_seeds.py --out DIR [--zoo DIR] [--node-tests DIR].

Writes DIR/onnx (the smallest zoo models and up to 400 of ONNX's node tests), DIR/ir (the small models' XML), DIR/graphs (the
decisions of random graphs; such for other fuzzers to which any bytes are decisions), DIR/side_files (the texts of the tests of side files),
DIR/pipelines (those of examples and guides) and DIR/web_requests.
"""
import argparse
import random
import re
import shutil
from pathlib import Path

MAX_SEED_BYTES = 1 << 20
DECISIONS = {"graphs": 100, "c_api": 20, "c_pipelines": 20, "dlpack": 20, "external_data": 20, "gst_metas": 20, "v4l2_calls": 20}
ROOT = Path(__file__).resolve().parent.parent


def write_texts(folder, texts):
    folder.mkdir(parents=True, exist_ok=True)
    for number, text in enumerate(texts):
        (folder / f"{number}.txt").write_text(text)


def side_files():
    """The raw strings of the tests, and a file of lines of each kind that they write otherwise."""
    yield from re.findall(r'R"\((.*?)\)"', (ROOT / "graph/knowledge/side_files_test.cpp").read_text(), re.DOTALL)
    yield "stride: 32\ntask: pose\nimgsz:\n- 480\n- 640\nnames:\n  0: person\n  1: 'yes'\nargs:\n  nms: true\nkpt_shape: [4, 2]\n"
    yield "[modelinfo]\nversion=1.0\ngroup-id=a\n\n[images]\ndims=-1,3,64,64\ndir=input\nranges=0.0,1.0\n\n[out]\nid=a\ndir=output\n"


def pipelines():
    yield from (path.read_text() for path in sorted((ROOT / "examples").glob("*/*.json")))
    for page in sorted((ROOT / "docs/guide").glob("*.md")):
        yield from re.findall(r"```json\n(.*?)```", page.read_text(), re.DOTALL)


def web_requests():
    """What browsers and scrapers send to the page of a pipeline, with the fuzzer's token."""
    own = "Host: 127.0.0.1:8080\r\n"
    yield f"GET /?token=t0ken HTTP/1.1\r\n{own}Accept: text/html\r\n\r\n"
    yield f"HEAD /picture/12.jpg?a=b&token=t0ken HTTP/1.1\r\n{own}\r\n"
    yield "GET /metrics HTTP/1.0\r\n\r\n"
    yield f"POST /sources?token=t0ken HTTP/1.1\r\n{own}Content-Type: application/json\r\nContent-Length: 18\r\n\r\n{{\"element\":\"test\"}}"
    yield "DELETE /sources/gate%201?token=t0ken HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n"
    yield f"POST /sources HTTP/1.1\r\n{own}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    yield "GET / HTTP/1.1\r\nHost: other.example\r\n\r\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--zoo", type=Path)
    parser.add_argument("--node-tests", type=Path)
    options = parser.parse_args()
    onnx, ir = options.out / "onnx", options.out / "ir"
    for folder in (onnx, ir, *(options.out / name for name in DECISIONS)):
        folder.mkdir(parents=True, exist_ok=True)
    for name, count in DECISIONS.items():
        for seed in range(count):
            (options.out / name / f"{seed}.bytes").write_bytes(random.Random(f"{name} {seed}").randbytes(200))
    if options.zoo:
        for path in options.zoo.glob("*.onnx"):
            if path.stat().st_size <= MAX_SEED_BYTES:
                shutil.copy(path, onnx / path.name)
        for path in options.zoo.glob("*_tiny.xml"):
            if path.stat().st_size <= MAX_SEED_BYTES:
                shutil.copy(path, ir / path.name)
        for path in options.zoo.glob("relu1.xml"):
            shutil.copy(path, ir / path.name)
    if options.node_tests:
        for path in sorted(options.node_tests.glob("*/model.onnx"))[::3][:400]:
            shutil.copy(path, onnx / f"{path.parent.name}.onnx")
    write_texts(options.out / "side_files", side_files())
    write_texts(options.out / "pipelines", pipelines())
    write_texts(options.out / "web_requests", web_requests())
    print(f"{len(list(onnx.iterdir()))} ONNX seeds, {len(list(ir.iterdir()))} IR seeds")


if __name__ == "__main__":
    main()
