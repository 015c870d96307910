#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether fuzz.py shares the time, keeps corpora and stops at what is found: with scripts in the fuzzers' place."""
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

sys.dont_write_bytecode = True
import fuzz  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
QUIET = """#!/bin/sh
echo "INFO: Loaded 2 modules   (5000 inline 8-bit counters): 3000 [0x1, 0x2), 2000 [0x3, 0x4),"
echo "#9 DONE   cov: 321 ft: 400 corp: 12/34b exec/s: 9 rss: 50Mb"
echo "stat::number_of_executed_units: 7"
echo "$@" >>"$0.calls"
"""
LOUD = """#!/bin/sh
echo "INFO: Loaded 2 modules   (5000 inline 8-bit counters): 3000 [0x1, 0x2), 2000 [0x3, 0x4),"
cat <<'END'
Test unit written to /build/fuzz/loud_fuzz-slow-unit-1
==1==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x6020 at pc 0x1
    #0 0x55 in __asan_memcpy (/build/fuzz/loud_fuzz+0x1)
    #1 0x56 in tenon::v1::ipc::read(int) frameworks/ipc/link.cpp:12:3
Test unit written to /build/fuzz/loud_fuzz-crash-12
END
exit 77
"""


class Runs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.build = pathlib.Path(self.folder.name)
        (self.build / "fuzz").mkdir()

    def program(self, name, text):
        path = self.build / "fuzz" / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def call(self, *options):
        return subprocess.run([sys.executable, HERE / "fuzz.py", self.build, *options], capture_output=True, text=True, timeout=300)

    def test_each_gets_its_part_of_the_processor_time(self):
        a, b = self.program("a_fuzz", QUIET), self.program("b_fuzz", QUIET)

        def wait(pid, _):
            return *os.waitpid(pid, 0), types.SimpleNamespace(ru_utime=0.5, ru_stime=0.0)

        said = io.StringIO()
        with unittest.mock.patch.object(fuzz.os, "wait4", wait), contextlib.redirect_stdout(said):
            self.assertTrue(fuzz.share([fuzz.Fuzzer(a), fuzz.Fuzzer(b)], self.build, 4))
        for path in (a, b):
            calls = pathlib.Path(f"{path}.calls").read_text().splitlines()
            self.assertEqual(len(calls), 3, "it is called again until less than a second of its time is left")
            self.assertIn(f"corpus/{path.name}", calls[0])
            self.assertIn(f"seeds/{path.name.removesuffix('_fuzz')}", calls[0])
            self.assertIn("21 executions, 321 of 5000 edges, 12 inputs", said.getvalue())
            self.assertTrue((self.build / "corpus" / path.name).is_dir())

    def test_the_first_finding_ends_the_run(self):
        self.program("a_fuzz", LOUD)
        after = self.program("b_fuzz", QUIET)
        made = self.call("--hours", "1")
        self.assertEqual(made.returncode, 1)
        self.assertIn("a_fuzz found: heap-buffer-overflow on address 0x6020 at pc 0x1, in tenon::v1::ipc::read(int) frameworks/ipc/link.cpp:12:3",
                      made.stdout)
        self.assertIn("the input: /build/fuzz/loud_fuzz-crash-12", made.stdout)
        self.assertFalse(pathlib.Path(f"{after}.calls").exists())

    def test_an_input_is_slow_by_its_processor_time(self):
        for again, status in (("exit 0", 0), ("exit 1", 1)):
            kept = self.build / "slow"
            kept.write_text("input")
            self.program("a_fuzz", f"#!/bin/sh\ncase $1 in -timeout=*) {again};; esac\n" + QUIET.replace("#!/bin/sh\n", "") +
                         f"echo '==1== ERROR: libFuzzer: timeout after 61 seconds'\necho 'Test unit written to {kept}'\nexit 70\n")
            made = self.call("--hours", "0.0001")
            self.assertEqual(made.returncode, status, made.stdout + made.stderr)
            self.assertEqual(kept.exists(), status == 1)
            self.assertIn("found: timeout after 61 seconds (an input may take 60 s)" if status else "the machine is busy", made.stdout)

    def test_one_by_name(self):
        self.program("a_fuzz", LOUD)
        self.program("b_fuzz", QUIET)
        made = self.call("--hours", "0.0001", "--only", "b")
        self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
        self.assertIn("nothing found", made.stdout)
        made = self.call("--only", "c")
        self.assertEqual(made.returncode, 1)
        self.assertIn("no fuzzer c_fuzz", made.stderr)
        self.assertIn("a_fuzz, b_fuzz", made.stderr)

    def test_what_is_kept(self):
        """Each input that a merge leaves, the small ones first; of other forms than the project's own, none."""
        merges = 'case "$1" in -merge=1) shift 2; to=$1; for from in "$@"; do [ "$from" = "$to" ] || cp "$from"/* "$to" 2>/dev/null; done; exit 0;; esac\n'
        own = self.program("a_fuzz", "#!/bin/sh\n" + merges)
        (own.parent / "a_fuzz.json").write_text(json.dumps({"covers": [], "own_form": True}))
        other = self.program("b_fuzz", "#!/bin/sh\n" + merges)
        (other.parent / "b_fuzz.json").write_text(json.dumps({"covers": [], "own_form": False}))
        (self.build / "corpus/a_fuzz").mkdir(parents=True)
        (self.build / "corpus/b_fuzz").mkdir(parents=True)
        (self.build / "corpus/a_fuzz/small").write_bytes(b"1234")
        (self.build / "corpus/a_fuzz/large").write_bytes(b"12345678")
        (self.build / "corpus/b_fuzz/foreign").write_bytes(b"x")
        kept = self.build / "corpora.tar.xz"
        fuzzers = [fuzz.Fuzzer(own), fuzz.Fuzzer(other)]
        with unittest.mock.patch.object(fuzz, "KEPT", kept), contextlib.redirect_stdout(io.StringIO()):
            self.assertTrue(fuzz.keep(fuzzers, self.build))
            first = kept.read_bytes()
            self.assertTrue(fuzz.keep(fuzzers, self.build))
            self.assertEqual(kept.read_bytes(), first, "the same inputs are the same file")
            fuzz.unpack(self.build)
            self.assertEqual(sorted(path.name for path in (self.build / "kept").glob("*/*")), ["large", "small"])
            self.assertIn(self.build / "kept/a_fuzz", fuzzers[0].inputs_of(self.build))
            with unittest.mock.patch.object(fuzz, "MOST_CORPUS_BYTES", 5):
                self.assertTrue(fuzz.keep(fuzzers[:1], self.build))
                fuzz.unpack(self.build)
                self.assertEqual([path.name for path in (self.build / "kept").glob("*/*")], ["small"])
            with unittest.mock.patch.object(fuzz, "MOST_KEPT_BYTES", 5):
                self.assertFalse(fuzz.keep(fuzzers, self.build), "more than the tree takes")

    def test_what_the_tree_keeps_is_within_its_limit(self):
        if fuzz.KEPT.exists():
            self.assertLessEqual(fuzz.KEPT.stat().st_size, fuzz.MOST_KEPT_BYTES)

    def test_coverage_is_that_of_the_code_which_a_fuzzer_is_for(self):
        def file(name, covered, lines):
            return {"filename": name, "summary": {"lines": {"covered": covered, "count": lines}, "branches": {"covered": covered // 2, "count": lines}}}

        counts = {"data": [{"files": [file("/tree/graph/readers/onnx/a.cpp", 30, 40), file("/tree/graph/readers/onnx/b.cpp", 10, 60),
                                      file("/tree/graph/node.cpp", 5, 5), file("/tree/fuzz/onnx/onnx_fuzz.cpp", 9, 9)]}]}
        self.assertEqual(fuzz.measured(counts, ["graph/readers/onnx"]), {"graph/readers/onnx": {"lines": (40, 100), "branches": (20, 100)}})
        self.assertEqual(fuzz.measured(counts, ["graph/none", "fuzz/onnx"]),
                         {place: {"lines": (0, 0), "branches": (0, 0)} for place in ("graph/none", "fuzz/onnx")})
        path = self.program("a_fuzz", '#!/bin/sh\n[ "$1" != -runs=0 ] || : >"$(echo "$LLVM_PROFILE_FILE" | sed s/%m/1/)"\n')
        (path.parent / "a_fuzz.json").write_text(json.dumps({"covers": ["graph/readers/onnx", "graph/none"]}))
        tools = {"llvm-profdata": "#!/bin/sh\n", "ldd": "#!/bin/sh\n", "llvm-cov": "#!/bin/sh\ncat <<'END'\n" + json.dumps(counts) + "\nEND\n"}
        for name, text in tools.items():
            (self.build / name).write_text(text)
            (self.build / name).chmod(0o755)
        said = io.StringIO()
        with unittest.mock.patch.dict(os.environ, {"PATH": f"{self.build}:{os.environ['PATH']}"}), contextlib.redirect_stdout(said):
            fuzz.report([fuzz.Fuzzer(path)], self.build)
        self.assertIn("coverage: a_fuzz: graph/readers/onnx: 40.0 % of 100 lines, 20.0 % of 100 branches\n", said.getvalue())
        self.assertIn("coverage: a_fuzz: graph/none: no code of it was built\n", said.getvalue())

    def test_coverage_without_its_tools_is_said(self):
        said = io.StringIO()
        with unittest.mock.patch.object(fuzz.shutil, "which", lambda _: None), contextlib.redirect_stdout(said):
            fuzz.report([fuzz.Fuzzer(self.program("a_fuzz", QUIET))], self.build)
        self.assertIn("not measured", said.getvalue())

    def test_one_that_sees_no_library_is_an_error(self):
        self.program("a_fuzz", QUIET.replace("5000 inline", "300 inline"))
        made = self.call("--hours", "0.0001")
        self.assertEqual(made.returncode, 1)
        self.assertIn("built without coverage", made.stdout)

    def test_reasons(self):
        self.assertEqual(fuzz.reason_of("a.cpp:3:4: runtime error: shift exponent 99\n"), "a.cpp:3:4: runtime error: shift exponent 99")
        self.assertIn("an input may take 60 s", fuzz.reason_of("==1== ERROR: libFuzzer: timeout after 61 seconds\n"))
        self.assertEqual(fuzz.reason_of("terminate called\n"), "terminate called")


if __name__ == "__main__":
    unittest.main()
