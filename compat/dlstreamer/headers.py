#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the page of DL Streamer's headers is true, and each header stands alone.

    headers.py               the page names exactly the headers that are here, and the others of the document with a reason; a test
                             includes each of these headers, and each of the others is an error with that reason
    headers.py BUILD         parses each header alone, as this build compiles the tests: slow
"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
INCLUDE = HERE / "include"
ABSENT = HERE / "absent"
PAGE = ROOT / "docs/guide/coming_from_dlstreamer.md"
DOCUMENT = ROOT / "docs/reference/dlstreamer.toml"
NAMES = re.compile(r"`([\w/]+\.h)`")


def present():
    return {path.relative_to(INCLUDE).as_posix() for path in INCLUDE.rglob("*.h")}


def reached(sources):
    """Headers that the sources include, directly or through others."""
    seen, left = set(), list(sources)
    while left:
        for name in re.findall(r'#include "(dlstreamer/[^"]+)"', left.pop().read_text()):
            if name not in seen and (INCLUDE / name).exists():
                seen.add(name)
                left.append(INCLUDE / name)
    return seen


def complaints():
    claimed, absent, why = set(), set(), {}
    for folder, there, missing in re.findall(r"^\| `(dlstreamer/[\w/]*)` \| (.*?) \| (.*?) ?\|$", PAGE.read_text(), re.M):
        claimed |= {folder + name for name in NAMES.findall(there)}
        for part in filter(None, missing.split("; ")):
            names, colon, reason = part.partition(": ")
            absent |= {folder + name for name in NAMES.findall(names)}
            why |= {folder + name: re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", reason.strip()) for name in NAMES.findall(names)}
            if not colon or not reason.strip():
                yield f"{PAGE.name}: no reason for {names}"
    yield from (f"{PAGE.name}: {name} is here and not in the table" for name in sorted(present() - claimed))
    yield from (f"{PAGE.name}: {name} is in the table and not here" for name in sorted(claimed - present()))
    yield from (f"{PAGE.name}: {name} is called absent and is here" for name in sorted(absent & present()))
    if DOCUMENT.exists():
        files = {"dlstreamer/" + name for name in tomllib.loads(DOCUMENT.read_text())["files"]}
        yield from (f"{PAGE.name}: says nothing of {name}" for name in sorted(files - claimed - absent))
    errors = {path.relative_to(ABSENT).as_posix(): path.read_text() for path in ABSENT.rglob("*.h")}
    yield from (f"absent/{name} is no header that {PAGE.name} calls absent" for name in sorted(set(errors) - absent))
    for name in sorted(absent):
        if f"#error \"{name} of DL Streamer is absent in Tenon's API: {why[name]}. " not in errors.get(name, ""):
            yield f"absent/{name} is no error with the reason of {PAGE.name}"
    yield from (f"no test includes {name}" for name in sorted(present() - reached(HERE.glob("*_test.cpp"))))


def command(build, target):
    """The compiler and flags of a test."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        if f"{target}.dir/" in entry["command"] and entry["file"].endswith((".cpp", "cxx")):
            words = [word for word in shlex.split(entry["command"]) if not word.endswith(("ccache", ".gch", ".hxx"))]
            words = [word for word in words if word not in ("-include", "-Winvalid-pch") and not re.fullmatch(r"-O\d?", word)]
            at = words.index("-o")
            return words[:at] + words[at + 2:words.index("-c")], entry["directory"]
    return None, None


def each_alone(build):
    commands = {sycl: command(build, f"compat_dlstreamer_{'sycl' if sycl else 'frameworks'}_test") for sycl in (False, True)}

    def why_not(name):
        words, folder = commands["/sycl/" in name]
        if not words:
            print(f"skipped: {name}, whose test is not in this build")
            return None
        done = subprocess.run([*words, "-fsyntax-only", "-x", "c++", "-"], input=f"#include <{name}>\n", cwd=folder, capture_output=True, text=True)
        return f"{name} does not stand alone:\n{done.stderr[:2000]}" if done.returncode else None

    names = sorted(present())
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for number, reason in enumerate(pool.map(why_not, names), 1):
            if number % 20 == 0:
                print(f"         {number} of {len(names)} headers", flush=True)
            if reason:
                yield reason


def main():
    wrong = list(each_alone(pathlib.Path(sys.argv[1]).resolve()) if len(sys.argv) > 1 else complaints())
    print("\n".join(wrong + [f"{len(present())} headers, {len(wrong)} complaints"]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
