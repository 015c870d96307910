#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether fuzz.py shares the time, keeps corpora and stops at what is found: with scripts in the fuzzers' place."""
import contextlib
import io
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
