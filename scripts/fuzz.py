#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the fuzzers of a build: fuzz.py BUILD [--hours H] [--only NAME].

The hours are processor time (default: a minute for each fuzzer), which all fuzzers share. Each fuzzer keeps its corpus in BUILD/corpus/NAME and begins with BUILD/seeds/NAME
besides. The first finding ends the run: its input is kept in BUILD, and what is wrong is said. Prints executions, edges and inputs of each.
"""
import argparse
import os
import re
import resource
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

LEAST_COUNTERS = 2000  # A fuzzer alone has some hundreds of edges; with instrumented libraries, thousands.
LIMIT_MB = 4096
INPUT_S = 60  # The longest that one input may take.
SLICE_S = 300  # A fuzzer is asked for its processor time this often.
# As in the tests, an absurd size that is requested on purpose gives null.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":allocator_may_return_null=1:max_allocation_size_mb=2048"}
REASONS = (
    (re.compile(r"ERROR: (?:Address|Leak)Sanitizer: (.*)"), ""),
    (re.compile(r"(\S+: runtime error: .*)"), ""),
    (re.compile(r"ERROR: libFuzzer: (timeout.*)"), f" (an input may take {INPUT_S} s)"),
    (re.compile(r"ERROR: libFuzzer: (out-of-memory.*)"), f" (an input may take {LIMIT_MB} MB)"),
    (re.compile(r"ERROR: libFuzzer: (.*)"), ""),
)
FRAME = re.compile(r"^\s*#\d+ 0x[0-9a-f]+ in (.*)", re.MULTILINE)
FOREIGN = re.compile(r"/compiler-rt/|/usr/(include|lib)|fuzzer::|LLVMFuzzer|__(asan|ubsan|interceptor|libc)|^(abort|raise|malloc|operator new)\b|\(/")


@dataclass
class Fuzzer:
    program: Path
    used_s: float = 0
    executions: int = 0
    edges: int = 0
    counters: int = 0
    inputs: int = 0

    @property
    def name(self):
        return self.program.name

    def read(self, log):
        """What one run says of itself."""
        def last(pattern):
            found = re.findall(pattern, log)
            return int(found[-1]) if found else 0

        self.executions += last(r"stat::number_of_executed_units:\s+(\d+)")
        self.edges = max(self.edges, last(r" cov: (\d+)"))
        self.inputs = max(self.inputs, last(r" corp: (\d+)"))
        self.counters = max(self.counters, last(r"\((\d+) inline 8-bit counters\)"))


def reason_of(log):
    """One line for a finding: what the sanitizer says, and where the project's own code stands first."""
    what = "it ended without a word of a sanitizer"
    for pattern, remark in REASONS:
        if found := pattern.search(log):
            what = found[1].strip() + remark
            break
    else:
        lines = [line for line in log.splitlines() if line.strip()]
        if lines:
            what = lines[-1].strip()
    own = next((frame for frame in FRAME.findall(log) if not FOREIGN.search(frame)), None)
    return f"{what}, in {own}" if own else what


def run(fuzzer, folder, seconds):
    """One slice. Returns the log's text where there is a finding."""
    stem = fuzzer.name.removesuffix("_fuzz")
    corpus, seeds = folder / "corpus" / fuzzer.name, folder / "seeds" / stem
    for path in (corpus, seeds):
        path.mkdir(parents=True, exist_ok=True)
    log = folder / f"{fuzzer.name}.log"
    command = [fuzzer.program, f"-max_total_time={seconds}", f"-rss_limit_mb={LIMIT_MB}", f"-timeout={INPUT_S}", f"-report_slow_units={INPUT_S}", "-print_final_stats=1",
               f"-artifact_prefix={folder}/{fuzzer.name}-", corpus, seeds]
    with log.open("wb") as output:
        child = subprocess.Popen([str(part) for part in command], stdout=output, stderr=subprocess.STDOUT, env=ENVIRONMENT)
        try:
            _, status, usage = os.wait4(child.pid, 0)
        except KeyboardInterrupt:
            child.kill()
            raise
    child.returncode = os.waitstatus_to_exitcode(status)
    fuzzer.used_s += usage.ru_utime + usage.ru_stime
    text = log.read_text(errors="replace")
    fuzzer.read(text)
    return text if child.returncode != 0 else None


def is_only_late(fuzzer, kept):
    """Whether an input that took too long of wall time, as it may on a busy machine, takes less of processor time."""
    def bound():
        resource.setrlimit(resource.RLIMIT_CPU, (INPUT_S, INPUT_S))

    again = subprocess.run([str(fuzzer.program), f"-timeout={10 * INPUT_S}", kept], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           env=ENVIRONMENT, preexec_fn=bound, check=False)
    return again.returncode == 0


def share(fuzzers, folder, seconds):
    """Runs until each has used its part of the time. Returns whether nothing was found."""
    part = seconds / len(fuzzers)
    for fuzzer in fuzzers:
        while True:
            text = run(fuzzer, folder, max(1, round(min(SLICE_S, part - fuzzer.used_s))))
            print(f"{fuzzer.name}: {fuzzer.used_s:.0f} of {part:.0f} s, {fuzzer.executions} executions, {fuzzer.edges} of "
                  f"{fuzzer.counters} edges, {fuzzer.inputs} inputs", flush=True)
            kept = re.findall(r"Test unit written to (\S+)", text or "")[-1:]  # Slow ones before it are none.
            if kept and "libFuzzer: timeout" in text and is_only_late(fuzzer, kept[0]):
                print(f"  the machine is busy: {kept[0]} takes less than {INPUT_S} s of processor time")
                Path(kept[0]).unlink(missing_ok=True)
                text = None
            if text is not None:
                print(f"{fuzzer.name} found: {reason_of(text)}")
                print(f"  the input: {kept[0]}; again: {fuzzer.program} {kept[0]}" if kept else "  no input was written")
                print(f"  the log: {folder / fuzzer.name}.log")
                return False
            if fuzzer.counters <= LEAST_COUNTERS:
                print(f"{fuzzer.name} sees no code but its own: its libraries are built without coverage")
                return False
            if part - fuzzer.used_s < 1:
                break
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="the build folder of the preset fuzz")
    parser.add_argument("--hours", type=float, help="processor time for all of them; default: a minute each")
    parser.add_argument("--only", help="one fuzzer, with or without _fuzz")
    options = parser.parse_args()
    fuzzers = [Fuzzer(path) for path in sorted((options.build / "fuzz").glob("*_fuzz")) if os.access(path, os.X_OK)]
    if options.only:
        wanted = options.only.removesuffix("_fuzz") + "_fuzz"
        names = [fuzzer.name for fuzzer in fuzzers]
        fuzzers = [fuzzer for fuzzer in fuzzers if fuzzer.name == wanted]
        if not fuzzers:
            sys.exit(f"fuzz: no fuzzer {wanted} in {options.build / 'fuzz'}; there: {', '.join(names) or 'none'}")
    if not fuzzers:
        sys.exit(f"fuzz: no fuzzer in {options.build / 'fuzz'}; build the target tenon_fuzzers of the preset fuzz")
    seconds = 60 * len(fuzzers) if options.hours is None else options.hours * 3600
    if seconds <= 0:
        sys.exit(f"fuzz: --hours is {options.hours}, expected more than 0")
    clean = share(fuzzers, options.build.resolve(), seconds)
    print(f"{sum(fuzzer.executions for fuzzer in fuzzers)} executions in {sum(fuzzer.used_s for fuzzer in fuzzers) / 3600:.2f} hours of "
          f"processor time: {'nothing found' if clean else 'a finding'}")
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
