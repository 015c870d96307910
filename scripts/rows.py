#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checklists: what a document of another library names, what is its equal here, and which test shows it.

rows.py          write docs/reference/NAME.md from each docs/reference/NAME.toml
rows.py --check  say what is wrong: pages that are not as the lists say, headers and tests that are not there
"""
import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs/reference"
STATES = ("works", "partly", "not")
TEST = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+)\s*,\s*(\w+)", re.M)
SOURCES = ("core", "frameworks", "bridges", "graph", "engine", "runtime", "devices", "vision", "elements", "drivers", "bindings", "tools", "examples", "tests")


def known_tests():
    for folder in SOURCES:
        for file in (ROOT / folder).rglob("*.cpp"):
            for match in TEST.finditer(file.read_text()):
                yield ".".join(match.groups())


def page(checklist) -> str:
    lines = [f"# {checklist['title']}", "", checklist["about"].strip(), ""]
    rows = [row for section in checklist["section"] for row in section["row"]]
    counts = {state: sum(row["state"] == state for row in rows) for state in STATES}
    lines += [f"{len(rows)} rows: {counts['works']} work, {counts['partly']} partly, {counts['not']} not.", ""]
    for section in checklist["section"]:
        lines += [f"## {section['title']}", f"| {section['what']} | here | state | tests |", "|---|---|---|---|"]
        for row in section["row"]:
            here = ", ".join([row["here"]] * ("here" in row) + [f"`<tenon/{header}>`" for header in row.get("headers", [])])
            state = row["state"] + (f": {row['why']}" if "why" in row else "")
            lines.append(f"| {row['name']} | {here} | {state} | {', '.join(f'`{test}`' for test in row.get('tests', []))} |")
        lines.append("")
    return "\n".join(lines)


def faults(name, checklist, tests):
    for row in (row for section in checklist["section"] for row in section["row"]):
        if row["state"] not in STATES:
            yield f"{name}: '{row['name']}' is '{row['state']}', which is none of {', '.join(STATES)}"
        if row["state"] == "works" and not row.get("tests"):
            yield f"{name}: '{row['name']}' works, and no test says so"
        if row["state"] != "works" and "why" not in row:
            yield f"{name}: '{row['name']}' does not say what is missing"
        for header in row.get("headers", []):
            if not (ROOT / header).is_file():
                yield f"{name}: '{row['name']}' names the header {header}, which is not there"
        for test in row.get("tests", []):
            if test not in tests and not (ROOT / test).is_file():
                yield f"{name}: '{row['name']}' names the test {test}, which is not there"


def main() -> int:
    check = sys.argv[1:] == ["--check"]
    tests, wrong = set(known_tests()), []
    for source in sorted(FOLDER.glob("*.toml")):
        checklist = tomllib.loads(source.read_text())
        wrong += faults(source.name, checklist, tests)
        target, text = source.with_suffix(".md"), page(checklist)
        if not check:
            target.write_text(text)
        elif not target.is_file() or target.read_text() != text:
            wrong.append(f"{target.name} is not what {source.name} says: run scripts/rows.py")
    for fault in wrong:
        print(fault, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
