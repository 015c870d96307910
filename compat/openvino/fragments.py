#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs for the code fragments of OpenVINO's documents on remote tensors.

    fragments.py                the program of each fragment in fragments.toml is there, has what the table says, is run and, where it is one of
                                compat/openvino, has expected lines; the guide's table is that of the file
    fragments.py --write        writes the guide's table
    fragments.py DOCUMENT...    the table names exactly the fragments of these documents (reStructuredText)
"""
import pathlib
import re
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs/guide/coming_from_openvino.md"
TABLE = re.compile(r"(<!-- code fragments: .*? -->\n).*?(<!-- end of code fragments -->)", re.S)
NAMED = re.compile(r"doxygensnippet:: \S*/assets/snippets/(\S+)\n\s+:language: \w+\n\s+:fragment: \[(\w+)\]")


def body(text, source, heading):
    """What the program prints under its heading is printed by this function."""
    if source.endswith("_test.cpp"):
        found = re.search(rf"^TEST\w*\(\w+, {heading}\) \{{\n(.*?)^\}}", text, re.S | re.M)
    else:
        run = re.search(rf'(?:run|section)\("{re.escape(heading)}", (?:\[&\] {{ \w+::)?(\w+)', text)
        found = run and re.search(rf"^(?:static )?void {run[1]}\([^)]*\) {{\n(.*?)^}}", text, re.S | re.M)
    return found and found[1]


def complaints(table):
    for file, fragments in table.items():
        for name, (source, heading, part, *_) in fragments.items():
            what = f"fragments.toml: {name} of {file}"
            is_ours = (HERE / source).exists()
            path = HERE / source if is_ours else ROOT / source
            if not path.exists():
                yield f"{what}: no program {source}"
                continue
            text = body(path.read_text(), source, heading)
            if text is None:
                yield f"{what}: {source} runs nothing under the heading {heading}"
            elif re.sub(r"\s+", " ", part) not in re.sub(r"\s+", " ", text):
                yield f"{what}: {heading} of {source} has no {part}"
            if is_ours and not any(re.search(rf"^== {re.escape(heading)}\n(?!==|\Z)", each.read_text(), re.M) for each in path.parent.glob("*.txt")):
                yield f"{what}: no file beside {source} has lines under {heading}"


def rows(table):
    yield "| file of the original's documentation | fragment | program | heading |\n|---|---|---|---|\n"
    for file, fragments in table.items():
        for name, (source, heading, _, *reason) in fragments.items():
            shown = f"{source}, {reason[0]}" if reason else source
            yield f"| {file} | `{name}` | {shown} | {heading} |\n"


def main():
    table = tomllib.loads((HERE / "fragments.toml").read_text())
    page = PAGE.read_text()
    wanted = TABLE.sub(lambda found: found[1] + "".join(rows(table)) + found[2], page)
    names = {(file, name) for file, fragments in table.items() for name in fragments}
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(wanted)
        return 0
    if sys.argv[1:]:
        named = {found for path in sys.argv[1:] for found in NAMED.findall(pathlib.Path(path).read_text())}
        ours = {each for each in names if each[0].endswith(".cpp")}
        wrong = [f"{name} of {file} is in no program" for file, name in sorted(named - ours)]
        wrong += [f"{name} of {file} is in no document" for file, name in sorted(ours - named)]
    else:
        wrong = list(complaints(table))
        if wanted != page or "<!-- code fragments: " not in page:
            wrong.append(f"{PAGE.name} does not have this table: fragments.py --write")
    print("\n".join(wrong) or f"{len(names)} fragments")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
