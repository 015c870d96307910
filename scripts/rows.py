#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checklists: the items of another library's document, their equivalents here, and the tests that show it.

rows.py          write docs/reference/NAME.md from each docs/reference/NAME.toml
rows.py --check  say what is wrong: pages that are not as the lists say, headers and tests that are not there, files that no row has
rows.py --ran LOG  say which tests did not run, by the log that ctest keeps (Testing/Temporary/LastTest.log); rows with a `tier` run elsewhere
"""
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs/reference"
STATES = ("works", "partly", "accepted", "not")  # accepted: it may be set, and changes nothing.
TEST = re.compile(r"^(?:TYPED_)?TEST(?:_[FP])?\(\s*(\w+)\s*,\s*(\w+)", re.M)
SOURCES = ("core", "frameworks", "bridges", "graph", "planning", "engine", "runtime", "devices", "vision", "elements", "drivers", "bindings", "tools", "examples", "tests")


def tests_of(file: pathlib.Path):
    for match in TEST.finditer(file.read_text()):
        yield ".".join(match.groups())


def known_tests():
    for folder in SOURCES:
        for file in (ROOT / folder).rglob("*.cpp"):
            yield from tests_of(file)


def rows_of(checklist):
    return [row for section in checklist["section"] for row in section["row"]]


def cell(row, column) -> str:
    """A member of the row as a cell: `null` where a text has none."""
    value = row.get(column, "null")
    return f"`{str(value).lower() if isinstance(value, bool) else value}`" if value != "" else "empty"


def page(checklist) -> str:
    lines = [f"# {checklist['title']}", "", checklist["about"].strip(), ""]
    rows = rows_of(checklist)
    counts = {state: sum(row["state"] == state for row in rows) for state in STATES}
    accepted = f" {counts['accepted']} are accepted," if counts["accepted"] else ""
    lines += [f"{len(rows)} rows: {counts['works']} work, {counts['partly']} partly,{accepted} {counts['not']} not.", ""]
    for section in checklist["section"]:
        columns = section.get("columns", [])
        heads = [section["what"], *columns, "here", "state", "tests"]
        lines += [f"## {section['title']}", f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
        for row in section["row"]:
            here = ", ".join(([row["here"]] if "here" in row else []) + [f"`<tenon/{header}>`" for header in row.get("headers", [])])
            state = row["state"] + (f": {row['why']}" if "why" in row else "") + (f"; tested {row['tier']}" if "tier" in row else "")
            cells = "".join(f"{cell(row, column)} | " for column in columns)
            lines.append(f"| {row['name']} | {cells}{here} | {state} | {', '.join(f'`{test}`' for test in row.get('tests', []))} |")
        lines.append("")
    return "\n".join(lines)


def misplaced_files(name, checklist):
    """Files of the document's trees without a row, and rows without a file."""
    here = [f"{section['folder']}/{file}".lstrip("/") for section in checklist["section"] if "folder" in section
            for row in section["row"] for file in row["name"].split(", ")]
    for file in sorted(set(checklist["files"]) - set(here)):
        yield f"{name}: no row has the file {file}"
    for file in sorted(set(here) - set(checklist["files"])):
        yield f"{name}: a row has {file}, which is none of `files`"
    for file in sorted({file for file in here if here.count(file) > 1}):
        yield f"{name}: two rows have the file {file}"


def plain(suite: str, test: str) -> str:
    """Suite.Name without parameters."""
    return f"{[part for part in suite.split('/') if not part.isdigit()][-1]}.{test}"


def listed(program: str):
    """The tests that a program of GoogleTest has."""
    suite = ""
    for line in subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True, timeout=60).stdout.splitlines():
        if line.startswith("  "):
            yield plain(suite, re.match(r"\w+", line.strip())[0])
        else:
            suite = line.split(".")[0]


def passed(log: str):
    """The tests that passed according to a log of ctest, and programs by their name in ctest. A program that passed a part of its tests, which
    moves on each day, counts as whole."""
    for suite, test in re.findall(r"^\[ +OK \] ([\w/]+)\.(\w+)", log, re.M):
        yield plain(suite, test)
    program, is_part = "", False
    for part in re.split(r"^-{58}$", log, flags=re.M):  # The command of a test, its output, its result.
        command = re.search(r'^Command: "([^"]+)"', part, re.M)
        if command:
            program, is_part = command[1], False
        is_part = is_part or "\nNote: This is test shard" in part
        if "\nTest Passed.\n" in part or "\nTest Pass Reason:\nRequired regular expression found." in part:
            yield from re.findall(r'^"([\w.-]+)" end time:', part, re.M)
            if is_part:
                yield from listed(program)


def missed_tests(name, checklist, ran):
    for row in rows_of(checklist):
        for test in row.get("tests", []):
            file = ROOT / test
            wanted = [test] if not file.is_file() else [*tests_of(file)] or [f"example_{file.stem}"]
            if "tier" not in row and not ran.intersection(wanted):
                yield f"{name}: '{row['name']}' names the test {test}, which did not run here: give the row a `tier`"


def text_of(header: str, seen: set) -> str:
    """A header of this repository without comments, and those that it includes."""
    file = ROOT / header
    if header in seen or not file.is_file():
        return ""
    seen.add(header)
    text = file.read_text()
    return re.sub(r"//.*", "", text) + "".join(text_of(each, seen) for each in re.findall(r"#include <tenon/([^>]+)>", text))


def absent_names(row):
    """Names of C++ in the row that none of its headers declares."""
    text = "".join(text_of(header, set()) for header in row["headers"])
    for name in re.findall(r"`(?:\w+::)*(\w+)(?:\([^`]*\))?`", row["here"]):
        if not re.search(rf"\b{name}\b", text):
            yield name


def faults(name, checklist, tests):
    if "files" in checklist:
        yield from misplaced_files(name, checklist)
    for row in rows_of(checklist):
        if row["state"] not in STATES:
            yield f"{name}: '{row['name']}' is '{row['state']}', which is none of {', '.join(STATES)}"
        if row["state"] == "works" and not row.get("tests"):
            yield f"{name}: '{row['name']}' works, and no test says so"
        if row["state"] != "works" and "why" not in row:
            yield f"{name}: '{row['name']}' does not say what is missing"
        for header in row.get("headers", []):
            if not (ROOT / header).is_file():
                yield f"{name}: '{row['name']}' names the header {header}, which is not there"
        for absent in absent_names(row) if row.get("headers") and "here" in row else ():
            yield f"{name}: '{row['name']}' names {absent}, which none of its headers declares"
        for test in row.get("tests", []):
            if test not in tests and not (ROOT / test).is_file():
                yield f"{name}: '{row['name']}' names the test {test}, which is not there"


def main() -> int:
    check, tests, wrong = sys.argv[1:] == ["--check"], set(known_tests()), []
    log = sys.argv[2] if sys.argv[1:2] == ["--ran"] else ""
    ran = set(passed(pathlib.Path(log).read_text(errors="replace"))) if log else set()
    for source in sorted(FOLDER.glob("*.toml")):
        checklist = tomllib.loads(source.read_text())
        target, text = source.with_suffix(".md"), page(checklist)
        wrong += missed_tests(source.name, checklist, ran) if log else faults(source.name, checklist, tests)
        if not check and not log:
            target.write_text(text)
        elif not target.is_file() or target.read_text() != text:
            wrong.append(f"{target.name} is not what {source.name} says: run scripts/rows.py")
    for fault in wrong:
        print(fault, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
