#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which targets of a build a change reaches, by the include graph and by what they link.

    reach.py BUILD_FOLDER TARGET...            prints those of the targets that the change reaches
    reach.py BUILD_FOLDER --paths PATTERN...   exit 0 if the change reaches a file whose path contains one of the patterns, 3 if not

The change is what differs between --base and the working tree. Without --base it is TENON_BASE ("all": everything is reached), or the
merge base with origin/main when that is behind, or the commit on which sanitizers and VM last ran whole, by docs/support.md. Where no
base is known everything is reached. A change of the build's own files reaches everything, too.
"""
import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"](?:tenon/)?([\w./-]+)[>"]', re.MULTILINE)
EVERYTHING = re.compile(r"^(CMakeLists\.txt|CMakePresets\.json|cmake/|scripts/(lib|test)\.sh|\.ci/)")


def git(*arguments: str) -> str:
    result = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return result.stdout.strip() if result.returncode == 0 else ""


def base_commit() -> str:
    if os.environ.get("TENON_BASE"):
        return os.environ["TENON_BASE"]
    merged = git("merge-base", "HEAD", "origin/main")
    if merged and merged != git("rev-parse", "HEAD"):
        return merged
    checked = re.search(r"^Sanitizers and VM ran whole: .*commit (\w+)", (ROOT / "docs/support.md").read_text(), re.MULTILINE)
    return checked[1] if checked and git("cat-file", "-t", checked[1]) == "commit" else ""


def changed_files(base: str):
    """Paths that differ from the base; None: everything."""
    if git("cat-file", "-t", base or "none") != "commit":
        return None
    return set(git("diff", "--name-only", base).split()) | set(git("ls-files", "--others", "--exclude-standard").split())


def reaches_everything(changed) -> bool:
    return changed is None or any(EVERYTHING.search(name) for name in changed)


def include_graph():
    """For each file of the tree, the files that it includes. A header also leads to the source of its name, which implements it."""
    files = [name for name in git("ls-files").split("\n") if name.endswith((".hpp", ".h", ".cpp", ".ipp"))]
    known, arrows = set(files), collections.defaultdict(set)
    for name in files:
        try:
            text = (ROOT / name).read_text(errors="replace")
        except FileNotFoundError:
            continue
        folder = os.path.dirname(name)
        for target in INCLUDE.findall(text):
            if target not in known:
                target = os.path.normpath(os.path.join(folder, target))
            if target not in known:
                continue
            arrows[name].add(target)
            if pathlib.Path(name).stem == pathlib.Path(target).stem and name.endswith(".cpp"):
                arrows[target].add(name)
    return arrows


def reached_files(changed, arrows):
    """Files from which a changed file can be reached."""
    backwards = collections.defaultdict(set)
    for name, targets in arrows.items():
        for target in targets:
            backwards[target].add(name)
    found, waiting = set(changed), list(changed)
    while waiting:
        for name in backwards[waiting.pop()] - found:
            found.add(name)
            waiting.append(name)
    return found


def sources_of(build: pathlib.Path, target: str):
    """The sources of the tree that a target and the libraries that it links are made of; a joined source stands for those that it includes."""
    listed = subprocess.run(["ninja", "-C", str(build), "-t", "inputs", target], capture_output=True, text=True, check=True).stdout
    for name in listed.split("\n"):
        if not name.startswith(str(ROOT) + "/"):
            continue
        path = pathlib.Path(name)
        joined = re.findall(r'#include "([^"]+)"', path.read_text()) if "Unity" in path.parts and path.exists() else [name]
        for each in joined:
            yield os.path.relpath(each, ROOT)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path, help="a configured build folder")
    parser.add_argument("targets", nargs="*", help="targets to choose from")
    parser.add_argument("--base", default=base_commit(), help="commit that the change is counted from")
    parser.add_argument("--paths", nargs="+", help="instead: exit 0 if the change reaches a file whose path contains one of these")
    arguments = parser.parse_args()
    changed = changed_files(arguments.base)
    everything = reaches_everything(changed)
    reached = None if everything else reached_files(changed, include_graph())
    if arguments.paths:
        return 0 if everything or any(pattern in name for name in reached for pattern in arguments.paths) else 3
    for target in arguments.targets:
        if everything or not reached.isdisjoint(sources_of(arguments.build.resolve(), target)):
            print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
