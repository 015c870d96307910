#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks facts about the tree: licence lines, file lengths, and addresses or paths that must not be in it."""
import pathlib
import re
import subprocess
import sys

MAX_LINES = 620
SOURCES = (".cpp", ".hpp", ".h", ".c", ".ipp", ".py", ".sh", ".cmake")
VERSION = re.search(r'TENON_VERSION "([\d.]+)"', pathlib.Path("core/version.hpp").read_text())[1]
# Paths in a home or work folder, package indexes, developers' notes: never useful to a reader.
BANNED = [
    (re.compile(r"(?<![\w.])/(?:work|root|home)/\w+"), "a path of one machine"),
    (re.compile(r"https?://[^\s\"']*/(?:simple|debian)(?:/|\b)|--(?:extra-)?index-url"), "a package host"),
    (re.compile(r'"[^"\n]*(?<![\d.])' + re.escape(VERSION) + r"(?![\d.])"), "the release; it stands in core/version.hpp alone"),
    (re.compile(r"\b(?:TODO|FIXME|XXX)\b(?!\(#\d+\))"), "a TODO without an issue number"),
]


def problems(path: pathlib.Path):
    text = path.read_text(errors="replace")
    lines = text.count("\n")
    if path.suffix in SOURCES or path.name == "CMakeLists.txt":
        if "SPDX-License-Identifier: Apache-2.0" not in text[:400]:
            yield f"{path}: no licence line at the top"
        if lines > MAX_LINES:
            print(f"{path}: {lines} lines, more than {MAX_LINES}: has it two jobs?")
    if path.name == pathlib.Path(__file__).name or path.as_posix() in ("core/version.hpp",):
        return
    for pattern, what in BANNED:
        for match in pattern.finditer(text):
            yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {what}: {match.group(0)}"


def main() -> int:
    files = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
    found = []
    for name in filter(None, files):
        path = pathlib.Path(name)
        if path.exists() and path.suffix not in (".onnx", ".mp4", ".json", ".png"):
            found += problems(path)
    print("\n".join(found) if found else "licence lines, lengths and forbidden words: fine")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
