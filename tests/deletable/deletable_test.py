#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Deletes one folder at a time from a copy of the tree: CMake must configure the rest, and nothing that it would then build may
include what is gone: deletable_test.py [FOLDER...] (default: each framework, bridge, device, driver, binding, tool, example and folder of compat/).

Includes are followed by reading, and by the preprocessor if that finds one missing, so that a folder takes seconds and not a
build. Folders are taken from git: changes that are not committed are ignored.
"""
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
PARENTS = ("frameworks", "bridges", "devices", "drivers", "bindings", "compat", "tools", "examples")
STAND_ON = {"frameworks/cpu", "drivers/handles"}  # Others depend on them.
INCLUDE = re.compile(r'^\s*#\s*include\s*<tenon/([^>]+)>', re.MULTILINE)


def folders():
    for parent in PARENTS:
        for folder in sorted(path.parent for path in (TOP / parent).glob("*/CMakeLists.txt")):
            name = folder.relative_to(TOP).as_posix()
            if name not in STAND_ON:
                yield name


class Tree:
    """A configured tree in which something is missing."""

    def __init__(self, top: pathlib.Path):
        self.top = top
        self.reached = {}  # For each of our files: the missing headers that it may reach.

    def generated(self, header):
        """Where CMake writes headers that a folder generates when it is configured."""
        return (folder / "tenon" / header for folder in (self.top / "build/release/generated").glob("*"))

    def may_miss(self, path: pathlib.Path):
        """The missing headers that a file reaches, whatever #if encloses them."""
        if path in self.reached:
            return self.reached[path]
        found = self.reached[path] = set()  # Set first, so that files which include each other end.
        for header in INCLUDE.findall(path.read_text(errors="replace")):
            target = next((path for path in [self.top / header, *self.generated(header)] if path.exists()), self.top / header)
            found |= self.may_miss(target) if target.exists() else {header}
        return found

    def misses(self, command):
        """The missing headers that the compiler's preprocessor needs."""
        words = shlex.split(command["command"])
        at = words.index("-o")
        words = words[:at] + words[at + 2:] + ["-M", "-MG"]  # -MG: missing headers are listed as if to be generated.
        done = subprocess.run(words, cwd=command["directory"], capture_output=True, text=True)
        asked = set(done.stdout.replace("\\\n", " ").split())
        return {header for header in self.may_miss(pathlib.Path(command["file"])) if f"tenon/{header}" in asked}

    def wrong(self):
        """One line for each source that cannot be built. Sources that the build generates are not there yet."""
        for command in json.loads((self.top / "build/release/compile_commands.json").read_text()):
            path = pathlib.Path(command["file"])
            if not path.exists() or not self.may_miss(path):
                continue
            for header in sorted(self.misses(command)):
                yield f"{path.relative_to(self.top)} includes <tenon/{header}>"


def without(tree: pathlib.Path, folder: str):
    """@return the problems once the folder is deleted."""
    subprocess.run(["git", "-C", tree, "checkout", "-q", "."], check=True)
    shutil.rmtree(tree / folder)
    shutil.rmtree(tree / "build/release/generated", ignore_errors=True)  # What the folder itself had generated.
    done = subprocess.run(["cmake", "--fresh", "--preset", "release", "-DTENON_UNITY=OFF"], cwd=tree, capture_output=True, text=True)
    if done.returncode:
        return ["CMake Error" + done.stderr.split("CMake Error", 1)[-1][:600]]
    return sorted(set(Tree(tree).wrong()))


def main() -> int:
    failed = 0
    with tempfile.TemporaryDirectory(dir=TOP / "build") as scratch:
        tree = pathlib.Path(scratch) / "tree"
        subprocess.run(["git", "clone", "-q", TOP, tree], check=True)
        (tree / "build").mkdir()
        for packages in ("venv", "data"):
            (tree / "build" / packages).symlink_to((TOP / "build" / packages).resolve())
        for folder in sys.argv[1:] or folders():
            wrong = without(tree, folder)
            failed += bool(wrong)
            print(f"without {folder}: " + ("; ".join(wrong) if wrong else "ok"), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
