#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The properties of DL Streamer's elements, from docs/reference/dlstreamer_elements.toml.

elements.py FILE             write them as C++ for table.cpp
elements.py --inspect        compare them with what gst-inspect-1.0 says of the elements that are there
elements.py --against FOLDER compare them with the pages of DL Streamer's documentation (docs/user-guide/elements of its sources)
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[3]
TABLE = ROOT / "docs/reference/dlstreamer_elements.toml"
TYPES = {"int": "G_TYPE_INT", "uint": "G_TYPE_UINT", "uint64": "G_TYPE_UINT64", "float": "G_TYPE_FLOAT", "double": "G_TYPE_INVALID", "bool": "G_TYPE_INVALID"}
EFFECTS = {"works": "kHas", "partly": "kHas", "accepted": "kNone", "not": "kRefused"}
WORDS = {"Unsigned Integer64": "uint64", "Unsigned Integer": "uint", "Integer64": "int64", "Integer": "int", "Boolean": "bool", "String": "string",
         "Float": "float", "Double": "double"}
# GObject's and the base classes' own, and what Tenon adds to each element.
OWN = {"name", "parent", "tenon-stats"}


def sections():
    return tomllib.loads(TABLE.read_text())["section"]


def quoted(text):
    return json.dumps(text, ensure_ascii=False)


def row_of(row) -> str:
    kind, name, about = row["type"], quoted(row["name"]), quoted(row.get("here", row.get("why", "")))
    end = f"Effect::{EFFECTS[row['state']]}, {quoted(row.get('why', ''))}"
    if kind in ("string", "enum"):
        value = quoted(row["default"]) if "default" in row else "nullptr"
        if kind == "string":
            return f"text({name}, {about}, {value}, {end})"
        choices = ", ".join(quoted(each) for each in row["values"])
        return f"one_of({name}, {about}, {value}, {{{choices}}}, {row.get('first', 0)}, {end})"
    if kind in ("int", "uint", "uint64"):
        whole = int(row["default"])
        value = f"std::int64_t{{{whole - 2**64 if whole >= 2**63 else whole}}}"  # The same 64 bits.
    else:
        value = str(row["default"]).lower() if kind == "bool" else f"{float(row['default'])!r}"
    least, most = row.get("range", (0, 0))
    made = f"property({TYPES[kind]}, {name}, {about}, Value({value}), {float(least)!r}, {float(most)!r}, {end})"
    return f"read_only({made})" if row.get("readonly") else made


def write(target):
    lines = []
    for section in sections():
        if section.get("absent"):
            continue
        lines.append(f"{{{quoted(section['title'])}, {quoted(section['about'])}, {{")
        # GstBaseTransform and the hosts of filters have a property qos of their own.
        lines += [f"  {row_of(row)}," for row in section["row"] if row["name"] != "qos"]
        lines.append("}},")
    text = "\n".join(lines) + "\n"
    if not target.is_file() or target.read_text() != text:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def parsed(body):
    """Name, type, default and choices of each property in a text that gst-inspect-1.0 wrote."""
    name, text, found = None, "", {}
    for line in [*body.splitlines(), "end : "]:
        start = re.match(r"^ {0,4}([a-z][a-z0-9-]*) *: ", line)
        if not start:
            text += line.strip() + "\n"
            continue
        if name and name not in OWN:
            found[name] = facts_of(text)
        name, text = start[1], ""
    return found


def facts_of(text):
    known = re.search(r"\b(Unsigned Integer64|Unsigned Integer|Integer64|Integer|Boolean|String|Float|Double|Enum \"[^\"]+\")\.?[^\n]*?Default: *(\"[^\"]*\"|[^\s,]+)(?:, *\"([^\"]+)\")?", text)
    if not known:
        return {"type": "unknown"}
    kind = WORDS.get(known[1], "enum")
    made = {"type": kind}
    if kind == "enum":
        made["default"] = known[3]
        made["values"] = re.findall(r"^\(\d+\): *(\S+)", text, re.M)
        made["first"] = int(re.search(r"^\((\d+)\):", text, re.M)[1])
    elif kind == "bool":
        made["default"] = known[2] == "true"
    elif known[2] != "null":
        made["default"] = known[2].strip('"') if kind == "string" else float(known[2])
    return made


def differences(section, found, page):
    rows = {row["name"]: row for row in section["row"]}
    if "qos" not in rows:
        found.pop("qos", None)  # DL Streamer's element is a bin, which has none; here a base class has it.
    for name in section.get("besides", []):
        found.pop(name, None)  # The base class here has them; DL Streamer's element has another one.
    for name in sorted(set(found) - set(rows)):
        yield f"{page}: {name} is in no row"
    for name in sorted(set(rows) - set(found)):
        yield f"{page}: {name} is not there"
    for name in sorted(set(rows) & set(found)):
        row, there = rows[name], found[name]
        wanted = {key: row[key] for key in ("type", "default", "values") if key in row}
        if row["type"] == "enum":
            wanted["first"] = row.get("first", 0)
        # TOML has no integers of 64 bits without a sign: such a default is a text.
        if there.get("type") in ("float", "double", "uint", "int", "uint64") and abs(there.pop("default", 0) - float(wanted.pop("default"))) > 1e-6:
            yield f"{page}: {name} has another default"
        if wanted != there:
            yield f"{page}: {name} is {there}; the table has {wanted}"


def compare(text_of):
    wrong, compared = [], 0
    for section in sections():
        text = text_of(section)
        if text is None:
            continue
        body = text[text.find("Element Properties:"):]
        ends = [end for end in (body.find("Element Signals"), body.find("```")) if end > 0]
        found = parsed(body[:min(ends)] if ends else body)
        compared += len(found)
        wrong += differences(section, found, section["title"])
    print(*wrong, f"{compared} properties, {len(wrong)} differ", sep="\n")
    return 1 if wrong or not compared else 0


def inspected(section):
    done = subprocess.run(["gst-inspect-1.0", section["title"]], capture_output=True, text=True)
    if done.returncode != 0 and not section.get("absent") and not section.get("needs"):
        return "Element Properties:\n"
    return done.stdout if done.returncode == 0 else None


def main() -> int:
    if sys.argv[1] == "--inspect":
        if not shutil.which("gst-inspect-1.0"):
            print("no gst-inspect-1.0")
            return 77
        return compare(inspected)
    if sys.argv[1] == "--against":
        folder = pathlib.Path(sys.argv[2])
        return compare(lambda section: (folder / f"{section['title']}.md").read_text())
    write(pathlib.Path(sys.argv[1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
