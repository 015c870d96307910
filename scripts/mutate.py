#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants the defects of tests/mutants/mutants.toml, one at a time, and counts how many CI's fast tests find.

    mutate.py             all of them; exit 0 when at least 9 of 10 are found and every survivor has a known reason
    mutate.py NAME...     only those, or whose names contain NAME
    mutate.py --list      the list, and whether each still fits its file; plants nothing

Works in a copy of the tree (build/mutants), so that an interrupted run leaves nothing behind here. Its build goes through
ccache if there is one: files that a defect does not touch are built once.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
COPY = ROOT / "build" / "mutants"
BUILD = COPY / "build" / "release"
LOG = COPY / "build" / "mutants.log"
KINDS = {"off by one", "dropped wait", "swapped argument", "ignored error", "dropped step", "wrong bound"}
BUILD_SECONDS, TEST_SECONDS = 3600, 600


class Mutant:
    def __init__(self, entry: dict):
        self.name, self.kind, self.file = entry.pop("name"), entry.pop("kind"), entry.pop("file")
        self.old, self.new, self.tests = entry.pop("old"), entry.pop("new"), entry.pop("tests")
        self.survives = entry.pop("survives", "")
        if entry:
            sys.exit(f"mutate: {self.name} has unknown keys {sorted(entry)}")
        if self.kind not in KINDS:
            sys.exit(f"mutate: {self.name} is of no known kind: {self.kind}")

    def misfit(self, root: pathlib.Path) -> str:
        """The reason why it can't be planted in the tree; empty if it can."""
        path = root / self.file
        if not path.is_file():
            return f"{self.file} is gone"
        count = path.read_text().count(self.old)
        if count != 1:
            return f"its text occurs {count} times in {self.file}, once is expected"
        return "" if self.old != self.new else "it changes nothing"


def mutants() -> list:
    with open(ROOT / "tests" / "mutants" / "mutants.toml", "rb") as file:
        found = [Mutant(dict(entry)) for entry in tomllib.load(file)["mutant"]]
    names = [mutant.name for mutant in found]
    if len(set(names)) != len(names):
        sys.exit(f"mutate: names occur twice: {sorted({name for name in names if names.count(name) > 1})}")
    return found


def run(command: list, seconds: int, **environment) -> int:
    """0, the command's failure, or 124 if it took too long. Its output goes to the log."""
    with open(LOG, "ab") as log:
        log.write(("\n$ " + " ".join(map(str, command)) + "\n").encode())
        log.flush()
        process = subprocess.Popen(command, cwd=COPY, env={**os.environ, **environment}, stdout=log, stderr=log,
                                   start_new_session=True)
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            return 124
        finally:
            # A defect may leave children that wait for ever.
            if process.poll() is None:
                os.killpg(process.pid, 9)
                process.wait()


def copy_tree() -> None:
    """Copies the files that git knows; equal files keep their times, so that little is rebuilt."""
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT,
                            capture_output=True, check=True).stdout.decode().split("\0")
    wanted = {name for name in listed if name and (ROOT / name).is_file()}
    for name in wanted:
        source, target = ROOT / name, COPY / name
        if target.is_file() and target.read_bytes() == source.read_bytes():
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        shutil.copymode(source, target)
    for path in COPY.rglob("*"):
        name = str(path.relative_to(COPY))
        if path.is_file() and not path.is_symlink() and not name.startswith("build/") and name not in wanted:
            path.unlink()
    (COPY / "build").mkdir(exist_ok=True)
    for shared in ("venv", "data"):
        link = COPY / "build" / shared
        if not link.exists() and (ROOT / "build" / shared).exists():
            link.symlink_to((ROOT / "build" / shared).resolve())


def build(targets, jobs: int) -> int:
    return run(["cmake", "--build", str(BUILD), "-j", str(jobs), "--target", *sorted(targets)], BUILD_SECONDS,
               CCACHE_BASEDIR=str(COPY))


def test(targets) -> int:
    names = "|".join(map(re.escape, sorted(targets)))
    return run(["ctest", "--test-dir", str(BUILD), "-R", f"^({names})$", "--stop-on-failure", "--no-tests=error",
                "--timeout", "300"], TEST_SECONDS * len(targets), GTEST_FAIL_FAST="1", GTEST_BRIEF="1")


def missing_targets(wanted: set) -> set:
    """The targets that this machine can't build (a framework is missing)."""
    listed = subprocess.run(["ninja", "-C", str(BUILD), "-t", "targets", "all"], capture_output=True, text=True,
                            check=True).stdout
    return wanted - set(re.findall(r"^(\w+): phony", listed, re.M))


def judge(mutant: Mutant, jobs: int, absent: set) -> tuple:
    """("found" | "survived" | "invalid", a remark)."""
    misfit = mutant.misfit(COPY)
    if misfit:
        return "invalid", misfit
    tests = [name for name in mutant.tests if name not in absent]
    if not tests:
        return "invalid", f"none of its tests is built here: {', '.join(mutant.tests)}"
    path = COPY / mutant.file
    sound = path.read_text()
    try:
        path.write_text(sound.replace(mutant.old, mutant.new))
        code = build(tests, jobs)
        if code:
            return "invalid", "it took too long to build" if code == 124 else "it does not compile"
        code = test(tests)
    finally:
        path.write_text(sound)
    return ("found", "by its deadline" if code == 124 else "") if code else ("survived", mutant.survives)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="only mutants whose name contains one of these")
    parser.add_argument("--list", action="store_true", help="say what there is and whether it fits; plant nothing")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="of the build")
    arguments = parser.parse_args()
    chosen = [m for m in mutants() if not arguments.names or any(name in m.name for name in arguments.names)]
    if not chosen:
        sys.exit("mutate: no mutant has such a name")
    if arguments.list:
        misfits = 0
        for mutant in chosen:
            misfit = mutant.misfit(ROOT)
            misfits += bool(misfit)
            print(f"{mutant.name:48} {mutant.kind:17} {misfit or mutant.file}")
        return 1 if misfits else 0

    COPY.mkdir(parents=True, exist_ok=True)
    copy_tree()
    LOG.write_text("")
    targets = {name for mutant in chosen for name in mutant.tests}
    if run(["cmake", "--preset", "release", "-DTENON_BUILD_BENCH=OFF"], BUILD_SECONDS):
        sys.exit(f"mutate: the tree does not configure; see {LOG}")
    absent = missing_targets(targets)
    if absent:
        print(f"not built here: {', '.join(sorted(absent))}")
    targets -= absent
    started = time.time()
    if build(targets, arguments.jobs):
        sys.exit(f"mutate: the tree does not build as it is; see {LOG}")
    # Tests that fail anyway would find everything.
    if test(targets):
        sys.exit(f"mutate: its tests fail without any defect; see {LOG}")
    print(f"built and sound in {time.time() - started:.0f} s; planting {len(chosen)} defects", flush=True)

    results = {"found": [], "survived": [], "invalid": []}
    for mutant in chosen:
        started = time.time()
        verdict, remark = judge(mutant, arguments.jobs, absent)
        results[verdict].append((mutant, remark))
        print(f"{verdict:9} {time.time() - started:5.0f} s  {mutant.name}{': ' + remark if remark else ''}", flush=True)
    unexplained = [mutant.name for mutant, remark in results["survived"] if not remark]
    explained = [mutant.name for mutant, _ in results["found"] if mutant.survives]
    valid = len(results["found"]) + len(results["survived"])
    print(f"\n{len(results['found'])} of {valid} defects found")
    if results["invalid"]:
        print("to be written anew: " + ", ".join(mutant.name for mutant, _ in results["invalid"]))
    if unexplained:
        print("found by no test, and without a reason why: " + ", ".join(unexplained))
    if explained:
        print("found, though the list has a reason why they are not: " + ", ".join(explained))
    good = len(results["found"]) >= 0.9 * valid
    return 0 if good and not (results["invalid"] or unexplained or explained) else 1


if __name__ == "__main__":
    sys.exit(main())
