#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the work of a program with each of its calls failing in turn, and says which of them did harm.

    failing_calls.py PROGRAM [--seconds S] [--only WORK] [--kind KIND]

With --seconds the time is divided among all work, calls are taken from all over it, and of what they leave bytes are not counted; a crash or
a hang leaves the rest of that work untried, and work that needs a process for each call (first_...) is left out. If there are more than eight works and TENON_EIGHTH is set, as
in CI, that eighth of them is taken: starting a process for each takes longer than its calls. Without --seconds each call is tried, and the
program goes on behind a call that ended it.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

PATIENCE_S = 3600  # The program ends itself where one call takes long.
HARM = ("HARM ", "HANG", "ABORT", "CRASH")


def named(line):
    """A line of backtrace_symbols_fd, "FILE(SYMBOL+0x123)[0x...]", with the name of its function."""
    found = re.match(r"(\S+?)\((.*?)\+(0x[0-9a-f]+)\)", line)
    if not found:
        return line
    file, symbol, offset = found.groups()
    if symbol:
        name = subprocess.run(["c++filt", symbol], capture_output=True, text=True).stdout.strip()
    else:
        told = subprocess.run(["addr2line", "-f", "-C", "-e", file, hex(int(offset, 16) - 1)], capture_output=True, text=True)
        name = told.stdout.split("\n")[0]
    return f"    {file.rsplit('/', 1)[-1]} {name[:160]}"


def harm_in(lines):
    """What the program said of calls that did harm, a text for each."""
    texts, keeps = [], False
    for line in lines:
        if line.startswith(HARM):
            texts.append([])
            keeps = True
        elif line.startswith(("AT ", "DONE ")):
            keeps = False
        if keeps and not re.search(r"libtenon_failing_calls|/libc\.so|^\[0x0\]", line):
            texts[-1].append(named(line))
    return ["\n".join(text) for text in texts]


class Tried:
    def __init__(self):
        self.places = self.tried = self.errors = 0
        self.harm = []

    def add(self, other):
        self.places, self.tried, self.errors = self.places + other.places, self.tried + other.tried, self.errors + other.errors
        self.harm += other.harm


def run(program, work, kind, seconds):
    """One work. Without a limit it goes on behind a call that ends the process."""
    all_tried, start = Tried(), 1
    while start:
        command = [program, work, kind, "--from", str(start)] + (["--seconds", f"{seconds:.3f}"] if seconds else [])
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=PATIENCE_S)
        lines = done.stdout.splitlines()
        tried = Tried()
        tried.harm = harm_in(lines)
        for line in lines:
            counts = re.match(r"DONE .*: (\d+) places, (\d+) tried, (\d+) errors", line)
            if counts:
                tried.places, tried.tried, tried.errors = (tried.places + int(counts[1]), tried.tried + int(counts[2]), tried.errors + int(counts[3]))
        start = 0
        if done.returncode not in (0, 1):
            at = [int(line.split()[1]) for line in lines if line.startswith("AT ")]
            tried.harm.append(f"HARM {work} {kind} {at[-1] if at else 'before the first call'}: the process ended with {done.returncode}\n{done.stderr[-1500:]}")
            if at and not seconds:
                tried.tried, start = tried.tried + len(at), at[-1] + 1
        all_tried.add(tried)
    return all_tried


def environment(program):
    """Where a program of a build tree finds modules, models, the layer whose calls fail and the software NPU; what is set already stays."""
    lib = pathlib.Path(program).resolve().parent.parent / "lib"
    found = {"TENON_DEVICE_PATH": lib, "TENON_ELEMENT_PATH": lib, "TENON_MODELS": pathlib.Path(__file__).resolve().parents[2] / "models",
             "OPENCL_LAYERS": lib / "libtenon_failing_opencl.so", "ZE_ENABLE_ALT_DRIVERS": lib / "libze_tenon_npu.so"}
    for name, path in found.items():
        if path.exists():
            os.environ.setdefault(name, str(path))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--only", default=".*", help="a regular expression of works")
    parser.add_argument("--kind", default=".*", help="a regular expression of kinds")
    given = parser.parse_args()
    environment(given.program)
    listed = subprocess.run([given.program, "list"], capture_output=True, text=True, timeout=600, check=True).stdout
    pairs = [line.split() for line in listed.splitlines()]
    pairs = [(work, kind) for work, kind in pairs if re.fullmatch(given.only, work) and re.fullmatch(given.kind, kind)]
    if given.seconds:
        pairs = [(work, "all") for work in dict.fromkeys(work for work, _ in pairs) if not work.startswith("first_")]
        eighth = os.environ.get("TENON_EIGHTH")
        if eighth and len(pairs) > 8:
            pairs = pairs[int(eighth)::8]
    total = Tried()
    for work, kind in pairs:
        tried = run(given.program, work, kind, given.seconds / len(pairs))
        print(f"{work:26} {kind:10} {tried.places:6} places {tried.tried:6} tried {tried.errors:6} errors {len(tried.harm):4} harmed", flush=True)
        for text in tried.harm:
            print(text, flush=True)
        total.add(tried)
    print(f"{total.places} places in the code, {total.tried} failures tried, {total.errors} ended in an error, {len(total.harm)} did harm")
    if total.tried == 0:
        print("no call was tried: nothing was tested")
    return 1 if total.harm or total.tried == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
