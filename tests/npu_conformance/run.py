#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Level Zero's own conformance tests, or the driver vendor's own validation (umd-test), on the software NPU: runs their programs, counts what
passed, and compares what failed with the table of docs/reference/npu_conformance.md.

run.py --tests FOLDER --loader FOLDER --driver FILE [--guide FILE] [--write] [--only PROGRAM]...
run.py --umd PROGRAM --umd-config FILE [--loader FOLDER] --driver FILE [--guide FILE] [--write]

FOLDER of tests is where they were built: scripts/npu_conformance.sh does that. PROGRAM is a build of umd-test, and FILE what umd_config.py wrote.
A test that fails and is not in the table is an error, and so is a line of the table whose tests all pass, unless the line says "at times". A test
in which a module, an image, a sampler or a counter-based event cannot be made, or that looks for a group of queues as GPUs have, is counted
apart: an NPU has none. A program that crashes, or says nothing for a while, is ended, and goes on behind that test, which has failed. --write
puts the counts into the page. Exits 1 for an error."""
import argparse
import collections
import datetime
import fnmatch
import json
import os
import pathlib
import platform
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time

# What the page has of each, between a comment and one that begins with "end of".
FAILS, COUNTS = "what fails", "counts"
UMD_FAILS, UMD_COUNTS = "what fails in umd-test", "counts of umd-test"
AT_TIMES = "at times"
# Tests of umd-test that want a process of their own, which its option tells it.
UMD_ALONE, UMD_ALONE_OPTION = "ZeInit", "--ze-init-tests"
# Some of its tests compare names, versions of the headers that they were built with, and results that are rounded to f16.
UMD_SWITCHES = {"TENON_NPU_AS_HARDWARE": "1", "TENON_NPU_API_VERSION": "1.17", "TENON_NPU_GRAPH_VERSION": "1.16", "TENON_NPU_NUMERICS": "f16"}
LIST = "--gtest_list_tests"
# How tests fail that need what an NPU refuses to make.
LACKED = re.compile(r"(?s)/test_harness_(module|image|sampler)\.cpp:.* Failure.*ZE_RESULT_ERROR_UNSUPPORTED_FEATURE.*-->|"
                    r"/test_harness_image\.cpp:.* Failure.*Expected: true|Expected: \(ordinal\) != \(std::nullopt\)|"
                    r"ZE_RESULT_ERROR_UNSUPPORTED_FEATURE.*--> zeEventCounterBasedCreate")
# Each such test costs a start of its program. Where so many of one test lack it, its other parameters are not tried.
ENOUGH = 3
SILENCE_S = float(os.environ.get("TENON_CONFORMANCE_SILENCE_S", "120"))
LIMIT_S = float(os.environ.get("TENON_CONFORMANCE_LIMIT_S", "600"))  # For one test.
# Programs start their helpers from these folders of the working directory.
HELPERS = ("device", "driver", "fabric", "ipc", "memory", "process")


def programs(folder, only):
    """The test programs below a folder, by name; helpers are no tests."""
    found = {path.name: path for path in sorted(folder.rglob("test_*")) if path.is_file() and os.access(path, os.X_OK)}
    return found, [name for name in found if not name.endswith("_helper") and (not only or name in only)]


def listed(program, environment, folder, log):
    """All its tests, as gtest names them; none if it cannot say them. @param program  With the arguments that each run of it has."""
    try:
        done = subprocess.run([*program, LIST], env=environment, cwd=folder, capture_output=True, text=True, errors="replace", timeout=SILENCE_S,
                              check=False)
    except subprocess.TimeoutExpired:
        log.write(f"no end of {LIST} in {SILENCE_S} s\n")
        return []
    text = done.stdout if done.returncode == 0 else ""
    if not text:
        log.write(f"{LIST}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    tests, suite = [], ""
    for line in text.splitlines():
        name = line.split("#")[0].rstrip()
        if re.fullmatch(r"\S+\.", name):
            suite = name
        elif suite and re.fullmatch(r"  \S+", name):
            tests.append(suite + name.strip())
    return [test for test in tests if ".DISABLED_" not in test and not test.startswith("DISABLED_")]


def lines_of(process):
    """The lines of a process, each with a deadline: None if it said nothing for too long, and an end when it ended."""
    lines = queue.Queue()

    def read():
        for line in process.stdout:
            lines.put(line)
        lines.put("")

    threading.Thread(target=read, daemon=True).start()
    while True:
        try:
            line = lines.get(timeout=SILENCE_S)
        except queue.Empty:
            yield None
            return
        if not line:
            return
        yield line


def run_once(program, environment, folder, tests, outcomes, log):
    """Runs these tests, and adds their outcomes. @return the test in which the program ended or was ended; empty if it came to its end."""
    with tempfile.NamedTemporaryFile("w", suffix=".flags", dir=folder) as flags:
        flags.write("--gtest_filter=" + ":".join(tests) + "\n")
        flags.flush()
        process = subprocess.Popen([*program, f"--gtest_flagfile={flags.name}"], env=environment, cwd=folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
        current = failure = ""
        began = time.monotonic()
        for line in lines_of(process):
            if line is None or time.monotonic() > began + LIMIT_S:
                os.killpg(process.pid, 9)
                log.write(f"no word for {SILENCE_S} s\n" if line is None else f"no end after {LIMIT_S} s\n")
                break
            log.write(line)
            said = re.match(r"\[ +(RUN|OK|FAILED|SKIPPED) +\] (\S+?)(,| \(|$)", line)
            if said and said.group(1) == "RUN":
                current, failure, began = said.group(2), "", time.monotonic()
            elif said and said.group(2) == current:
                outcomes[current], current = said.group(1), ""
            elif ": Failure" in line:
                failure = line
            elif failure and len(failure) < 1000:
                failure += line
            # What it does with a handle that it did not get shows nothing, and may not end.
            if current and ("-->" in line or "Expected: " in line) and LACKED.search(failure):
                os.killpg(process.pid, 9)
                outcomes[current] = "LACKS"
                break
        process.wait(timeout=SILENCE_S)
        return current


def body(test):
    """The test without the parameter that it is run with; it may have none."""
    return test[:test.rfind("/")] if test.rfind("/") > test.rfind(".") else test


def run_program(name, program, environment, folder, logs, only=None):
    """{test: OK, FAILED, SKIPPED, CRASHED or LACKS}. @param only  Whether a test is run; by default each is."""
    outcomes = {}
    with open(logs / f"{name}.log", "w", encoding="utf-8") as log:
        left = [test for test in listed(program, environment, folder, log) if not only or only(test)]
        if not left:
            return {LIST: "CRASHED"}
        while left:
            ended_in = run_once(program, environment, folder, left, outcomes, log)
            if ended_in:
                outcomes.setdefault(ended_in, "CRASHED")
            lacking = collections.Counter(body(test) for test, outcome in outcomes.items() if outcome == "LACKS")
            outcomes.update((test, "LACKS") for test in left if test not in outcomes and lacking[body(test)] >= ENOUGH)
            before, left = len(left), [test for test in left if test not in outcomes]
            if not ended_in and left or len(left) == before:
                outcomes.update((test, "CRASHED") for test in left)  # It ended without a word about them.
                break
    return outcomes


def marks(name):
    return f"<!-- {name} -->", f"<!-- end of {name} -->"


def expected(guide, name):
    """[(program, pattern, how many)] of the table."""
    text = guide.read_text(encoding="utf-8")
    begin, end = marks(name)
    return re.findall(r"^\| `([\w-]+)` `([^`]+)` \| ([^|]*) \|", text[text.index(begin):text.index(end)], re.M)


def compare(failed, ran, rows):
    """What the table and the run disagree about. @param failed  {(program, test)}"""
    wrong = [f"{program}: {test} fails, and the table does not say so" for program, test in sorted(failed)
             if not any(program == row[0] and fnmatch.fnmatchcase(test, row[1]) for row in rows)]
    return wrong + [f"{row[0]}: {row[1]} is in the table, and none of these tests fails" for row in rows
                    if row[0] in ran and row[2] != AT_TIMES
                    and not any(program == row[0] and fnmatch.fnmatchcase(test, row[1]) for program, test in failed)]


def write(table, guide, name):
    """Puts the counts into the page, with the date and the system."""
    text = guide.read_text(encoding="utf-8")
    release = platform.freedesktop_os_release()
    begin, end = marks(name)
    system = f"{release['ID'].capitalize()} {release.get('VERSION_ID', '')}"
    lines = [f"Counted on {datetime.date.today()}, {system}, {os.cpu_count()} cores with a load of {os.getloadavg()[2]:.0f}:", "", *table]
    guide.write_text(text[:text.index(begin) + len(begin)] + "\n" + "\n".join(lines) + "\n" + text[text.index(end):], encoding="utf-8")


def counted(outcomes):
    """How many passed, failed, were skipped, and need what an NPU lacks."""
    return [sum(each in kinds for each in outcomes.values()) for kinds in (("OK",), ("FAILED", "CRASHED"), ("SKIPPED",), ("LACKS",))]


def failures(name, outcomes):
    return {(name, test) for test, outcome in outcomes.items() if outcome in ("FAILED", "CRASHED")}


def keep(name, outcomes, logs):
    (logs / f"{name}.json").write_text(json.dumps(outcomes, indent=1), encoding="utf-8")


def run_umd(arguments, environment):
    """The tests of umd-test as the driver is, then with the switches, then those that want a process of their own.
    @return failures with the switches, what ran, and the table."""
    name = arguments.umd.name
    if arguments.only and name not in arguments.only:
        return set(), [], []
    program = [str(arguments.umd.resolve()), "--config", str(arguments.umd_config.resolve())]
    table = ["| driver | pass | fail | skipped |", "|---|---|---|---|"]
    print("\n".join(table))

    def note(row, outcomes):
        table.append(f"| {row} | " + " | ".join(map(str, counted(outcomes)[:3])) + " |")
        print(table[-1], flush=True)

    folder = str(arguments.umd_config.resolve().parent)
    plain = {key: text for key, text in environment.items() if key not in UMD_SWITCHES}
    if arguments.as_it_is:
        outcomes = run_program(f"{name}.as_it_is", program, plain, folder, arguments.logs)
        keep(f"{name}.as_it_is", outcomes, arguments.logs)
        note("as it is, without switches", outcomes)
    switched = plain | UMD_SWITCHES
    outcomes = run_program(name, program, switched, folder, arguments.logs)
    note("with `" + " ".join(f"{key}={text}" for key, text in UMD_SWITCHES.items()) + "`", outcomes)
    alone = {}
    for test in [test for test in outcomes if test.startswith(UMD_ALONE)]:
        alone |= run_program(f"{name}.{test}", [*program, UMD_ALONE_OPTION], switched, folder, arguments.logs, test.__eq__)
    if alone:
        note(f"{len(alone)} of those skipped, each in a process of its own with `{UMD_ALONE_OPTION}`", alone)
    keep(name, outcomes | alone, arguments.logs)
    return failures(name, outcomes | alone), [name], table


def run_level_zero(arguments, environment):
    """The programs below a folder. @return failures, what ran, and the table."""
    found, names = programs(arguments.tests.resolve(), arguments.only)
    if not names:
        sys.exit(f"npu_conformance: no test program below {arguments.tests}")
    failed, total = set(), [0] * 4
    with tempfile.TemporaryDirectory() as folder:
        for name, path in found.items():
            (pathlib.Path(folder) / name).symlink_to(path)
        for name in HELPERS:
            (pathlib.Path(folder) / name).symlink_to(".")
        table = ["| program | pass | fail | skipped | needs what an NPU lacks |", "|---|---|---|---|---|"]
        print("\n".join(table))
        for name in names:
            outcomes = run_program(name, [f"./{name}"], environment, folder, arguments.logs)
            keep(name, outcomes, arguments.logs)
            counts = counted(outcomes)
            total = [sum(pair) for pair in zip(total, counts)]
            table.append(f"| {name} | " + " | ".join(map(str, counts)) + " |")
            print(table[-1], flush=True)
            failed |= failures(name, outcomes)
    table.append("| all | " + " | ".join(map(str, total)) + " |")
    print(table[-1])
    if total[0] == 0:
        sys.exit(f"npu_conformance: no test passed, so nothing was shown: {arguments.logs} has what the programs said")
    return failed, names, table


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--tests", type=pathlib.Path, help="where Level Zero's tests were built")
    what.add_argument("--umd", type=pathlib.Path, help="a build of umd-test")
    parser.add_argument("--umd-config", type=pathlib.Path, help="its configuration, beside what it names")
    parser.add_argument("--as-it-is", action="store_true", help="umd-test also without switches of the driver")
    parser.add_argument("--loader", type=pathlib.Path, help="the folder of libze_loader.so.1 that they were built for, if it is not the system's")
    parser.add_argument("--driver", type=pathlib.Path, required=True, help="libze_tenon_npu.so")
    parser.add_argument("--guide", type=pathlib.Path, help="the page whose table says what fails; without it failures are listed")
    parser.add_argument("--write", action="store_true", help="put the counts into the page")
    parser.add_argument("--only", action="append", default=[], help="a program's name; may stand several times")
    parser.add_argument("--logs", type=pathlib.Path, default=pathlib.Path("build/npu_conformance"), help="where what they said is kept")
    arguments = parser.parse_args()
    if arguments.write and arguments.only:
        parser.error("--write replaces the whole table, so all programs have to run: leave --only away")
    if arguments.umd and not arguments.umd_config:
        parser.error("--umd needs --umd-config: umd_config.py writes one")
    arguments.logs.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {"ZE_ENABLE_ALT_DRIVERS": str(arguments.driver.resolve())}
    if arguments.loader:
        loader = str(arguments.loader.resolve())
        # Without its own path the loader takes a tracing layer of the system, whose version it then refuses: each test would be skipped.
        environment |= {"LD_LIBRARY_PATH": loader, "ZEL_LIBRARY_PATH": loader}
    if arguments.umd:
        failed, names, table = run_umd(arguments, environment)
    else:
        failed, names, table = run_level_zero(arguments, environment | {"TENON_NPU_SYSTEM_MEMORY": "1", "TENON_NPU_API_VERSION": "1.17",
                                                                        "TENON_NPU_AS_HARDWARE": "1"})
    rows = expected(arguments.guide, UMD_FAILS if arguments.umd else FAILS) if arguments.guide else []
    wrong = compare(failed, names, rows) if arguments.guide else [f"{program}: {test}" for program, test in sorted(failed)]
    if arguments.write:
        write(table, arguments.guide, UMD_COUNTS if arguments.umd else COUNTS)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
