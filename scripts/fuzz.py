#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the fuzzers of a build: fuzz.py BUILD [--hours H] [--only NAME] [--keep].

The hours are processor time (default: a minute for each fuzzer), which all fuzzers share. Each fuzzer keeps its corpus in BUILD/corpus/NAME and begins with BUILD/seeds/NAME
and with what fuzz/corpora.tar.xz has of it besides. The first finding ends the run: its input is kept in BUILD, and what is wrong is said. Prints executions, edges and
inputs of each, and afterwards how much of the code that each is for its inputs reach (llvm-cov), by folders.

--keep writes fuzz/corpora.tar.xz anew, from inputs that reach something which smaller ones do not. Only inputs in forms that no other software reads are kept: one that
was made to break a reader of ONNX or HTTP may break another's.
"""
import argparse
import io
import json
import lzma
import os
import re
import resource
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

LEAST_COUNTERS = 2000  # A fuzzer alone has some hundreds of edges; with instrumented libraries, thousands.
LIMIT_MB = 4096
INPUT_S = 60  # The longest that one input may take.
SLICE_S = 300  # A fuzzer is asked for its processor time this often.
KEPT = Path(__file__).resolve().parent.parent / "fuzz/corpora.tar.xz"
MOST_INPUT_BYTES, MOST_CORPUS_BYTES, MOST_KEPT_BYTES = 8 << 10, 400 << 10, 2 << 20  # One input, all of a fuzzer, the file.
# As in the tests, an absurd size that is requested on purpose gives null.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":allocator_may_return_null=1:max_allocation_size_mb=2048"}


def environment(profile):
    """@param profile  Where a program that counts for llvm-cov writes its counts when it ends."""
    return {**ENVIRONMENT, "LLVM_PROFILE_FILE": str(profile)}


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

    @property
    def about(self):
        """What CMake wrote of it: {"covers": folders and files, "own_form": bool}."""
        path = self.program.with_name(self.name + ".json")
        return json.loads(path.read_text()) if path.exists() else {}

    def inputs_of(self, folder):
        """The folders of its inputs: what it finds is added to the first."""
        stem = self.name.removesuffix("_fuzz")
        all_of = [folder / "corpus" / self.name, folder / "seeds" / stem, folder / "kept" / self.name]
        for path in all_of:
            path.mkdir(parents=True, exist_ok=True)
        return all_of

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
    log = folder / f"{fuzzer.name}.log"
    command = [fuzzer.program, f"-max_total_time={seconds}", f"-rss_limit_mb={LIMIT_MB}", f"-timeout={INPUT_S}", f"-report_slow_units={INPUT_S}", "-print_final_stats=1",
               f"-artifact_prefix={folder}/{fuzzer.name}-", *fuzzer.inputs_of(folder)]
    with log.open("wb") as output:
        child = subprocess.Popen([str(part) for part in command], stdout=output, stderr=subprocess.STDOUT, env=environment(folder / "profile/unused-%m.profraw"))
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
                           env=environment("/dev/null"), preexec_fn=bound, check=False)
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


def tool(folder, name):
    """A tool of the build's compiler, without which its counts cannot be read; None: it is not installed."""
    cache = folder / "CMakeCache.txt"
    compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.+)$", cache.read_text(), re.M) if cache.exists() else None
    if not compiler:
        return shutil.which(name)
    path = subprocess.run([compiler[1], f"-print-prog-name={name}"], capture_output=True, text=True, check=False).stdout.strip()
    return shutil.which(path)


def measured(counts, covers):
    """Sums llvm-cov's counts of files over each of the places: {place: {"lines": (covered, all), "branches": (covered, all)}}."""
    sums = {}
    for place in covers:
        for kind in ("lines", "branches"):
            covered = all_of = 0
            for one in counts["data"][0]["files"]:
                if f"/{place}" in one["filename"] and not one["filename"].endswith("_fuzz.cpp"):
                    covered, all_of = covered + one["summary"][kind]["covered"], all_of + one["summary"][kind]["count"]
            sums.setdefault(place, {})[kind] = (covered, all_of)
    return sums


def coverage(fuzzer, folder, profdata, cov):
    """What its inputs reach, as measured(); runs each of them once."""
    shutil.rmtree(folder / "profile", ignore_errors=True)
    (folder / "profile").mkdir()
    subprocess.run([fuzzer.program, "-runs=0", *fuzzer.inputs_of(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                   env=environment(folder / "profile/one-%m.profraw"))
    parts, merged = sorted((folder / "profile").glob("one-*.profraw")), folder / "profile/all.profdata"
    if not parts:
        return {}
    subprocess.run([profdata, "merge", "-sparse", *parts, "-o", merged], check=True)
    needed = subprocess.run(["ldd", fuzzer.program], capture_output=True, text=True, check=True).stdout
    libraries = [path for path in re.findall(r"=> (\S+)", needed) if Path(path).resolve().is_relative_to(folder)]
    counts = subprocess.run([cov, "export", "-summary-only", f"-instr-profile={merged}", fuzzer.program, *(f"-object={path}" for path in libraries)],
                            capture_output=True, text=True, check=True).stdout
    return measured(json.loads(counts), fuzzer.about.get("covers", []))


def report(fuzzers, folder):
    """A line for each fuzzer and folder that it is for."""
    profdata, cov = tool(folder, "llvm-profdata"), tool(folder, "llvm-cov")
    if not profdata or not cov:
        print("coverage: not measured: the compiler's llvm-profdata and llvm-cov are missing; install the package llvm of its release")
        return
    for fuzzer in fuzzers:
        for place, counts in coverage(fuzzer, folder, profdata, cov).items():
            texts = [f"{100 * covered / all_of:.1f} % of {all_of} {kind}" for kind, (covered, all_of) in counts.items() if all_of]
            print(f"coverage: {fuzzer.name}: {place}: {', '.join(texts) or 'no code of it was built'}", flush=True)


def unpack(folder):
    """The inputs that the tree keeps, into BUILD/kept."""
    shutil.rmtree(folder / "kept", ignore_errors=True)
    if KEPT.exists():
        with tarfile.open(KEPT) as archive:
            archive.extractall(folder / "kept", **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))


def keep(fuzzers, folder):
    """Writes KEPT. Fuzzers that are not built keep what they had. Returns whether it is small enough."""
    texts = {path.relative_to(folder / "kept").as_posix(): path.read_bytes() for path in (folder / "kept").glob("*_fuzz/*")}
    for fuzzer in fuzzers:
        if not fuzzer.about.get("own_form"):
            continue
        texts = {name: text for name, text in texts.items() if not name.startswith(fuzzer.name + "/")}
        merged = folder / "merged" / fuzzer.name
        shutil.rmtree(merged, ignore_errors=True)
        merged.mkdir(parents=True)
        subprocess.run([fuzzer.program, "-merge=1", f"-max_len={MOST_INPUT_BYTES}", merged, *fuzzer.inputs_of(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       check=True, env=environment(folder / "profile/unused-%m.profraw"))
        left = MOST_CORPUS_BYTES
        for path in sorted(merged.iterdir(), key=lambda path: (path.stat().st_size, path.name)):
            left -= path.stat().st_size
            if left >= 0:
                texts[f"{fuzzer.name}/{path.name}"] = path.read_bytes()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, text in sorted(texts.items()):
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    data = lzma.compress(packed.getvalue(), preset=9)
    print(f"{len(texts)} inputs in {len(data)} bytes: {KEPT}")
    if len(data) > MOST_KEPT_BYTES:
        print(f"fuzz: these are more than {MOST_KEPT_BYTES} bytes: lower MOST_CORPUS_BYTES")
        return False
    KEPT.write_bytes(data)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path, help="the build folder of the preset fuzz")
    parser.add_argument("--hours", type=float, help="processor time for all of them; default: a minute each")
    parser.add_argument("--only", help="one fuzzer, with or without _fuzz")
    parser.add_argument("--keep", action="store_true", help="write fuzz/corpora.tar.xz afterwards")
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
    folder = options.build.resolve()
    unpack(folder)
    clean = share(fuzzers, folder, seconds)
    print(f"{sum(fuzzer.executions for fuzzer in fuzzers)} executions in {sum(fuzzer.used_s for fuzzer in fuzzers) / 3600:.2f} hours of "
          f"processor time: {'nothing found' if clean else 'a finding'}")
    if not clean:
        return 1
    report(fuzzers, folder)
    return 0 if not options.keep or keep(fuzzers, folder) else 1


if __name__ == "__main__":
    sys.exit(main())
