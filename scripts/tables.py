#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tables that benchmarks write into docs/, and the figures that README cites from them.

usage: tables.py           writes README's figures anew from docs/benchmarks.md
       tables.py --check   fails where README cites a figure that docs/benchmarks.md does not have

A benchmark calls write("its name", text): the text goes between <!-- name --> and <!-- end of name -->.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BENCHMARKS, MATRIX, README = ROOT / "docs/benchmarks.md", ROOT / "docs/matrix.md", ROOT / "README.md"

# The figures that README cites: a title, a sentence, and the cells for its {}: (table's name, begin of the row, begin of the
# column's title).
CITED = [
    ("The demo's pipeline: bytes copied per frame before the model", "{}; OpenCV + OpenVINO: {}",
     [("peers", "Tenon (tenon.cpp)", "copied per frame"), ("peers", "OpenCV + OpenVINO", "copied per frame")]),
    ("The demo's pipeline: speed against OpenCV + OpenVINO, and against hand-tuned libavcodec + OpenVINO", "{}; {}",
     [("peers", "OpenCV + OpenVINO", "Tenon is faster by"), ("peers", "libavcodec + OpenVINO", "Tenon is faster by")]),
    ("CPU device against OpenVINO's CPU plugin, latency over the zoo (20 models, three of them in 8 bits too)", "f32 {}; bf16 {}; 8 bits {}",
     [("zoo", "geometric mean, f32", "latency, batch 1"), ("zoo", "geometric mean, bf16", "latency, batch 1"),
      ("zoo", "geometric mean, int8", "latency, batch 1")]),
    ("Seeing a buffer from another library again, once it was mapped", "{}", [("figures", "repeated map of a pooled buffer", "ours")]),
    ("Loading ResNet-50 from the cache of compiled models, processor time", "{} of compiling it", [("first", "resnet50", "load / cold", "FIL: OPTIMIZE_SPEED")]),
]


def block(page, name):
    found = re.search(rf"<!-- {name} -->\n(.*?)\n?<!-- end of {name} -->", page, re.S)
    if not found:
        raise SystemExit(f"tables.py: no lines <!-- {name} --> and <!-- end of {name} -->: put them where the tables are to go")
    return found


def replaced(page, name, text):
    found = block(page, name)
    return page[:found.start()] + f"<!-- {name} -->\n{text}\n<!-- end of {name} -->" + page[found.end():]


def cells(line):
    return [each.strip() for each in line.strip().strip("|").split("|")]


def cell(page, name, row, column, second=""):
    """The cell of the column `column` in the first row that begins with `row` (and has the second cell `second`, if given)."""
    head = None
    for line in block(page, name).group(1).splitlines():
        if not line.startswith("|"):
            head = None
        elif head is None:
            head = cells(line)
        else:
            at = next((i for i, title in enumerate(head) if title.startswith(column)), None)
            here = cells(line)
            if at is not None and here[0].startswith(row) and second in ("", here[1]):
                return re.sub(r"\*\*|, (missed|aim).*", "", here[at])
    raise SystemExit(f"tables.py: README cites '{row}', '{column}' of the table {name}, which has no such cell: nothing was written. Measure "
                     "all of it, or leave the docs alone by --no-docs")


def cited(page):
    lines = ["| what | figure |", "|---|---|"]
    for title, sentence, places in CITED:
        lines.append(f"| {title} | {sentence.format(*(cell(page, *place) for place in places))} |")
    return "\n".join(lines)


def write(name, text, page=BENCHMARKS):
    """Both pages or neither: a table of a part of the models may lack what README cites."""
    changed = replaced(page.read_text(), name, text)
    readme = replaced(README.read_text(), "cited", cited(changed)) if page == BENCHMARKS else None
    page.write_text(changed)
    if readme is not None:
        README.write_text(readme)


def main() -> int:
    if "--check" not in sys.argv[1:]:
        README.write_text(replaced(README.read_text(), "cited", cited(BENCHMARKS.read_text())))
    elif block(README.read_text(), "cited").group(1) != cited(BENCHMARKS.read_text()):
        print("README's figures are not those of docs/benchmarks.md: run scripts/tables.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
