#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks where the loader looks for libraries of every program and library in folders: loader_paths.py [--relative] FOLDER...

An empty or relative element of DT_RPATH or DT_RUNPATH, or a relative name of a needed library, is looked up from the current folder,
where any file of that name would be loaded. Also fails if there is nothing to check. With --relative, a path that is not relative to the file
($ORIGIN) is wrong as well: it is that of the machine that built it.
"""
import os
import pathlib
import re
import subprocess
import sys

EXECUTABLE, SHARED = 2, 3  # e_type; object files (1) have no search path.


def is_loaded(path):
    if path.is_symlink() or not path.is_file():
        return False
    try:
        head = path.open("rb").read(18)
    except FileNotFoundError:  # Another test removed it.
        return False
    return head[:4] == b"\x7fELF" and int.from_bytes(head[16:18], "little" if head[5:6] == b"\x01" else "big") in (EXECUTABLE, SHARED)


def complaints(paths, relative):
    environment = {**os.environ, "LC_ALL": "C"}
    for path in paths:
        dynamic = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True, check=True, env=environment).stdout
        for kind, value in re.findall(r"\((RPATH|RUNPATH)\)[^\[]*\[(.*)\]", dynamic):
            for element in dict.fromkeys(value.split(":")):
                if relative and element.startswith("/"):
                    yield f"{path}: {kind} [{value}] has the element '{element}', a folder of the machine that built it"
                elif not re.match(r"/|\$ORIGIN(?![^/])|\$\{ORIGIN\}(?![^/])", element):
                    yield f"{path}: {kind} [{value}] has the element '{element}', which the loader takes from the current folder"
        for name in re.findall(r"\(NEEDED\)[^\[]*\[(.*)\]", dynamic):
            if "/" in name and not name.startswith(("/", "$ORIGIN/")):
                yield f"{path}: needs '{name}', which the loader takes from the current folder"


def main():
    relative = "--relative" in sys.argv[1:]
    paths = [path for folder in sys.argv[1:] if folder != "--relative" for path in sorted(pathlib.Path(folder).rglob("*")) if is_loaded(path)]
    wrong = list(complaints(paths, relative))
    print("\n".join(wrong + [f"{len(paths)} programs and libraries, {len(wrong)} wrong"]))
    sys.exit(1 if wrong or not paths else 0)


if __name__ == "__main__":
    main()
