#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/reference/elements.md, from what the tool says of its elements: elements_table.py TOOL writes it, with --check it tells whether the page
says the same. Elements of modules that this build lacks keep their sections."""
import json
import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parent.parent / "docs" / "reference" / "elements.md"
HEAD = """# Elements and their parameters

Made by `scripts/elements_table.py build/release/bin/tenon` from what the elements say of themselves; a test compares it. The
[guide](../guide/sources_and_sinks.md) says when to use which.

"""


def allowed(parameter):
    if "choices" in parameter:
        return ", ".join(parameter["choices"])
    least, most = parameter.get("least"), parameter.get("most")
    if least is not None and most is not None:
        return f"{least:g} to {most:g}"
    return f"at least {least:g}" if least is not None else f"at most {most:g}" if most is not None else ""


def default(parameter):
    if parameter.get("required"):
        return "required"
    value = parameter["default"]
    return json.dumps(value) if not isinstance(value, str) else f"`{value}`" if value else "empty"


def section(element):
    notes = [element["about"] + "."]
    if element["shared"]:
        notes.append("One instance serves all streams.")
    if element["own_thread"]:
        notes.append("It has a thread and a queue of its own.")
    lines = [f"## {element['name']}", f"*{element['role']}*: {' '.join(notes)}", ""]
    if element["parameters"]:
        lines += ["| parameter | type | default | allowed | |", "|---|---|---|---|---|"]
        for one in element["parameters"]:
            cells = [f"`{one['name']}`", one["type"], default(one), allowed(one), one["about"]]
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        lines.append("")
    return "\n".join(lines) + "\n"


def sections_of(page):
    """The page's sections by name."""
    parts = re.split(r"^(?=## )", page, flags=re.M)[1:]
    return {part.split("\n", 1)[0][3:].strip(): part for part in parts}


def main():
    check, tool = "--check" in sys.argv[1:], sys.argv[-1]
    told = json.loads(subprocess.run([tool, "elements", "--json"], check=True, capture_output=True, text=True).stdout)
    now = {element["name"]: section(element) for element in told["elements"]}
    old = sections_of(PAGE.read_text()) if PAGE.exists() else {}
    if not check:
        merged = {**old, **now}
        PAGE.write_text(HEAD + "".join(merged[name] for name in sorted(merged)))
        return 0
    wrong = [name for name, text in now.items() if old.get(name, "").strip() != text.strip()]
    if wrong:
        print(f"{PAGE.name} is not what the elements say: {', '.join(wrong)}; run scripts/elements_table.py {tool}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
