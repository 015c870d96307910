#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether every public header can be included alone.

    check_headers.py BUILD_FOLDER [--all]

A header that is the first include of a source needs no run of its own: the presets asan and clang compile that source alone. The others
are parsed, each alone, with the flags that CMake gives to a user of their component: those that the change itself edits, and a quarter of
those that it reaches, which moves on each day (TENON_VARIANTS modulo 4 names the quarter; "all": each that it reaches). scripts/reach.py says
what a change is. --all parses every header.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import time

import reach

ROOT = pathlib.Path(__file__).resolve().parent.parent


def proved_by_sources():
    """Headers that a source includes before any other header: of this project or not."""
    listed = subprocess.run(["git", "ls-files", "*.cpp"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    for name in listed:
        found = re.search(r'^\s*#\s*include\s*([<"][^>"]+[>"])', (ROOT / name).read_text(errors="replace"), re.MULTILINE)
        if found and found[1].startswith("<tenon/"):
            yield found[1][len("<tenon/"):-1]


def due():
    """A function that says of the n-th header, by its name, whether it is to be parsed today."""
    changed = reach.changed_files(reach.base_commit())
    reached = None if reach.reaches_everything(changed) else reach.reached_files(changed, reach.include_graph())
    share = os.environ.get("TENON_VARIANTS") or str(int(time.time()) // 86400 % 8)
    return lambda number, name: (changed is not None and name in changed or
                                 (reached is None or name in reached) and (share == "all" or number % 4 == int(share) % 4))


def commands(build: pathlib.Path):
    """By the header, the command that parses it."""
    for entry in json.loads((build / "compile_commands.json").read_text()):
        found = re.search(r"verify_interface_header_sets/(.+)\.cxx$", entry["file"])
        if not found:
            continue
        words = shlex.split(entry["command"])
        at = words.index("-o")
        del words[at:at + 2]
        words = [word for word in words if not word.endswith("ccache") and not re.fullmatch(r"-O\d?", word)]
        words[words.index("-c")] = "-fsyntax-only"
        yield found[1], words, entry["directory"], entry["file"]


def parse(job):
    header, words, directory, file = job
    path = pathlib.Path(file)
    if not path.exists():  # CMake writes it when its own target is built.
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#include <tenon/{header}>\n")
    done = subprocess.run(words, cwd=directory, capture_output=True, text=True)
    return header, done.returncode, done.stderr


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--all", action="store_true", help="also the headers that a source includes first")
    arguments = parser.parse_args()
    proved = set() if arguments.all else set(proved_by_sources())
    every = list(commands(arguments.build.resolve()))
    if not every:
        sys.exit(f"check_headers: {arguments.build} has no header sets to verify; configure it with tests")
    jobs = [job for job in every if job[0] not in proved]
    alone = len(jobs)
    if not arguments.all:
        today = due()
        jobs = [job for number, job in enumerate(jobs) if today(number, job[0])]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for header, code, errors in pool.map(parse, jobs):
            if code:
                failed += 1
                print(f"{header} cannot be included alone:\n{errors[:1500]}", file=sys.stderr)
    print(f"{len(jobs)} of {alone} headers parsed alone; {len(every) - alone} others are the first include of a source; {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
