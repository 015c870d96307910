#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the matrices of docs/matrix.md from what `tenon matrix --json` printed: matrix.py TITLE=FILE..."""
import datetime
import json
import os
import pathlib
import re
import sys

import tables

SIGNS = {"proved": "=", "claimed": "~", "copies": "c", "refused": "-"}


def machine() -> str:
    model = re.search(r"^model name\s*:\s*(.+)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    return f"{os.cpu_count()} cores of {model.group(1) if model else 'an unnamed processor'}"


def in_units(ns: float) -> str:
    return f"{ns:.0f} ns" if ns < 1e4 else f"{ns / 1e3:.0f} us"


def grid(pairs) -> str:
    names = list(dict.fromkeys(name for pair in pairs for name in (pair["from"], pair["to"])))
    cells = {(pair["from"], pair["to"]): pair for pair in pairs}
    lines = ["| from \\ to | " + " | ".join(str(i + 1) for i in range(len(names))) + " |", "|---" * (len(names) + 1) + "|"]
    for number, source in enumerate(names, 1):
        row = [f"{number} {source}"]
        for target in names:
            pair = cells.get((source, target))
            sign = SIGNS[pair["result"]] if pair else ""
            row.append(f"{sign} {in_units(pair['repeat_ns'])}" if pair and pair["repeat_ns"] > 0 else sign)
        lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def frameworks(found) -> str:
    """Every framework and bridge with contexts known to the tool, with its rows, or the reason why it has none."""
    rows = list(dict.fromkeys(pair["from"] for pair in found["pairs"]))
    said = {name: ", ".join(str(rows.index(context) + 1) for context in contexts) for name, contexts in found["frameworks"].items()}
    said |= {each["framework"]: f"none: {each['reason']}".replace("|", "/").replace("\n", " ") for each in found["absent"]}
    for path in (pathlib.Path(__file__).parent.parent / "frameworks").glob("*/CMakeLists.txt"):
        if other := re.search(r"^tenon_needs_system\((\w+) (?!Linux)(\w+)\)", path.read_text(), re.M):
            said.setdefault(other[1], f"none: it is for {other[2]}, where the tool is not built yet")
    return "\n".join(["| framework or bridge | rows |", "|---|---|"] + [f"| {name} | {said[name]} |" for name in sorted(said)])


def main() -> int:
    parts = [f"{datetime.date.today()}, {machine()}; `./dev bench matrix` makes these tables."]
    for argument in sys.argv[1:]:
        title, _, file = argument.partition("=")
        if pathlib.Path(file).is_file():
            found = json.loads(pathlib.Path(file).read_text())
            parts += [f"{title}:", grid(found["pairs"]), frameworks(found)]
    text = "\n\n".join(parts)
    tables.write("matrix", text, tables.MATRIX)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
