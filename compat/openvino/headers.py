#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the page of OpenVINO's headers is true: headers.py GENERATED [ORIGINAL]. It names exactly the headers that are here and generated,
and no header is called both present and absent. With the folder of the original's headers: it says something of each of these folders'."""
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs/guide/coming_from_openvino.md"
NAMES = re.compile(r"`([\w/]+\.hpp)`")


def main():
    roots = [HERE / "include", pathlib.Path(sys.argv[1])]
    here = {path.relative_to(root).as_posix() for root in roots for path in root.rglob("*.hpp")}
    claimed, absent, folders, whole = set(), set(), set(), set()
    wrong = []
    for folder, there, missing in re.findall(r"^\| `(openvino/[\w/]*)` \| (.*?) \| (.*?) ?\|$", PAGE.read_text(), re.M):
        folders.add(folder)
        claimed |= {folder + name for name in NAMES.findall(there)}
        absent |= {folder + name for name in NAMES.findall(missing.partition(": ")[0])}
        if missing.startswith("the others: "):
            whole.add(folder)
        elif missing and not missing.partition(": ")[2]:
            wrong.append(f"no reason for what {folder} lacks")
    wrong += [f"{name} is here and not in the table" for name in sorted(here - claimed)]
    wrong += [f"{name} is in the table and not here" for name in sorted(claimed - here)]
    wrong += [f"{name} is called absent and is here" for name in sorted(absent & here)]
    if len(sys.argv) > 2:
        original = pathlib.Path(sys.argv[2])
        for path in original.rglob("openvino/**/*.hpp"):
            name = path.relative_to(original).as_posix()
            folder = name.rpartition("/")[0] + "/"
            if folder in folders - whole and name not in claimed | absent and not name.endswith("_tbl.hpp"):
                wrong.append(f"the page says nothing of {name}")
    print("\n".join(f"{PAGE.name}: {each}" for each in wrong) or f"{len(here)} headers")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
