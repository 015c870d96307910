#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the guide's table of OpenVINO's headers is true, and headers that say why another one is absent.

    headers.py GENERATED [ORIGINAL]   the table names exactly the headers that are here and generated, no header is called both present and absent,
                                      and each of absent.txt has a reason. With the folder of the original's headers: absent.txt has exactly those
                                      that are not here
    headers.py --absent FOLDER        writes a header for each of absent.txt into the folder: an error with its name, the reason, and what to do
    headers.py --try COMPILER FOLDER  whether including each of these is that error
"""
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/guide/coming_from_openvino.md"
NAMES = re.compile(r"`([\w/]+\.hpp)`")
ABSENT = [line for line in (HERE / "absent.txt").read_text().splitlines() if not line.startswith("#")]


def rows():
    """Folder, headers that are there, what is absent."""
    return re.findall(r"^\| `(openvino/[\w/]*)` \| (.*?) \| (.*?) ?\|$", PAGE.read_text(), re.M) if PAGE.exists() else []


def reasons():
    """Why each header of absent.txt is absent: by its name, or as one of the others of its folder or of one above."""
    named, others = {}, {}
    for folder, _, missing in rows():
        names, _, reason = missing.partition(": ")
        named |= {folder + name: reason for name in NAMES.findall(names)}
        if names == "the others":
            others[folder] = reason
    for name in ABSENT:
        above = [folder for folder in others if name.startswith(folder)]
        yield name, named.get(name) or (others[max(above, key=len)] if above else "")


def text_of(name, reason):
    plain = re.sub(r"`|\[([^\]]*)\]\([^)]*\)", r"\1", reason.partition(". ")[0]).replace('"', "'")
    return (f"// SPDX-License-Identifier: Apache-2.0\n#error \"{name} of OpenVINO is absent in Tenon's API{': ' * bool(plain)}{plain}. "
            "Leave this include and what it declares out; `tenon migrate PATH` says what else a project uses that is absent, and what to use instead\"\n")


def write(folder):
    wanted = {folder / name: text_of(name, reason) for name, reason in reasons()}
    for path in set(folder.rglob("*.h*")) - set(wanted):
        path.unlink()
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def tried(compiler, folder):
    source = "".join(f"#include <{name}>\n" for name in ABSENT)
    command = [compiler, "-fsyntax-only", f"-I{folder}", "-x", "c++", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    for name, reason in reasons():
        first = reason.partition(". ")[0].replace("`", "")
        if not re.search(rf"error: .*{re.escape(name)} of OpenVINO is absent in Tenon's API: {re.escape(first)}", done.stderr):
            yield f"including {name} does not say why it is absent:\n{done.stderr[:300]}"


def compared(generated, original):
    roots = [HERE / "include", pathlib.Path(generated)]
    here = {path.relative_to(root).as_posix() for root in roots for path in root.rglob("*.h*") if path.suffix in (".h", ".hpp")}
    plain = {name for name in here if name.endswith(".hpp")}
    claimed, absent = set(), set()
    for folder, there, missing in rows():
        claimed |= {folder + name for name in NAMES.findall(there)}
        absent |= {folder + name for name in NAMES.findall(missing.partition(": ")[0])}
        if missing and not missing.partition(": ")[2]:
            yield f"{PAGE.name}: no reason for what {folder} lacks"
    yield from (f"{PAGE.name}: {name} is here and not in the table" for name in sorted(plain - claimed))
    yield from (f"{PAGE.name}: {name} is in the table and not here" for name in sorted(claimed - plain))
    yield from (f"{PAGE.name}: {name} is called absent and is here" for name in sorted(absent & here))
    yield from (f"{PAGE.name}: no reason for {name}" for name, reason in reasons() if not reason)
    yield from (f"absent.txt: {name} is here" for name in sorted(here & set(ABSENT)))
    yield from (f"absent.txt: {name} is missing, which {PAGE.name} calls absent" for name in sorted(absent - set(ABSENT)))
    if original:
        theirs = {path.relative_to(original).as_posix() for path in pathlib.Path(original).rglob("openvino/**/*.h*")}
        yield from (f"absent.txt says nothing of {name}" for name in sorted(theirs - here - set(ABSENT)))
        yield from (f"absent.txt: the original has no {name}" for name in sorted(set(ABSENT) - theirs))


def main():
    if sys.argv[1] == "--absent":
        write(pathlib.Path(sys.argv[2]))
        return 0
    wrong = list(tried(*sys.argv[2:4]) if sys.argv[1] == "--try" else compared(sys.argv[1], (sys.argv[2:] or [None])[0]))
    print("\n".join(wrong) or f"{len(ABSENT)} headers are absent, each with a reason")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
