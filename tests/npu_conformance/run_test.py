#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py over programs that play GoogleTest: what it counts when a program fails, crashes, hangs or says nothing, and what it makes of the
table."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
# Plays GoogleTest: SUITE.NAME is what the test does.
PROGRAM = """#!{python}
import os, sys, time
TESTS = {tests}
if "--gtest_list_tests" in sys.argv:
    if not TESTS:
        os.abort()
    print("Suite.\\n" + "\\n".join("  " + name for name in TESTS))
    sys.exit()
assert os.environ["ZE_ENABLE_ALT_DRIVERS"] and os.path.exists("ipc/{name}")
flags = next(word for word in sys.argv if word.startswith("--gtest_flagfile=")).split("=")[1]
wanted = open(flags).read().split("=", 1)[1].strip().split(":")
for name in TESTS:
    if "Suite." + name not in wanted:
        continue
    print("[ RUN      ] Suite." + name, flush=True)
    if name.startswith("Crashes"):
        os.abort()
    if name.startswith("Lacks"):
        print("/a/test_harness_" + name[5:].split("/")[0] + ".cpp:7: Failure")
        print("    Which is: ZE_RESULT_ERROR_UNSUPPORTED_FEATURE\\n --> result", flush=True)
    if name == "Lacksmgroup":
        print("/a/test_copy.cpp:7: Failure\\nExpected: (ordinal) != (std::nullopt), actual: (nullopt) vs (nullopt)", flush=True)
    while name.startswith("Talks"):
        time.sleep(0.1)
        print("still there", flush=True)
    while name.startswith(("Hangs", "Lacksm", "Lacksi")):
        time.sleep(1)
    word = "  FAILED  " if name.startswith(("Fails", "Lacks")) else "  SKIPPED " if name.startswith("Skips") else "       OK "
    print("[" + word + "] Suite." + name + (", where GetParam() = 1" if name.startswith("Fails") else "") + " (1 ms)", flush=True)
"""
GUIDE = """# Page
<!-- what fails -->
| tests | how many | why |
|---|---|---|
{rows}
<!-- end of what fails -->
<!-- counts -->
Old.
<!-- end of counts -->
"""


class Run(unittest.TestCase):
    def run_with(self, programs, rows, limit_s=600):
        """The exit code and the lines of a run over programs {name: tests} and a table of rows."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "tests").mkdir()
            for program, tests in programs.items():
                path = folder / "tests" / program
                path.write_text(PROGRAM.format(python=sys.executable, tests=repr(tests), name=program), encoding="utf-8")
                path.chmod(0o755)
            (folder / "page.md").write_text(GUIDE.format(rows="\n".join(rows)), encoding="utf-8")
            done = subprocess.run([sys.executable, HERE / "run.py", "--tests", folder / "tests", "--loader", folder, "--driver", folder / "driver.so",
                                   "--guide", folder / "page.md", "--logs", folder / "logs", "--write"],
                                  capture_output=True, text=True, check=False, timeout=240,
                                  env=os.environ | {"TENON_CONFORMANCE_SILENCE_S": "20", "TENON_CONFORMANCE_LIMIT_S": str(limit_s)})
            self.page = (folder / "page.md").read_text(encoding="utf-8")
            self.log = (folder / "logs/test_a.log").read_text(encoding="utf-8")
            return done.returncode, (done.stdout + done.stderr).splitlines()

    def test_counts_what_passes_fails_and_is_skipped(self):
        code, lines = self.run_with({"test_a": ["Passes", "Fails", "Skips"], "test_b": ["Passes/0", "Passes/1"], "test_b_helper": ["Fails"]},
                                    ["| `test_a` `Suite.Fails` | 1 | why |"])
        self.assertEqual(code, 0, lines)
        self.assertEqual(lines[2:5], ["| test_a | 1 | 1 | 1 | 0 |", "| test_b | 2 | 0 | 0 | 0 |", "| all | 3 | 1 | 1 | 0 |"])
        self.assertRegex(self.page, r"(?s)<!-- counts -->\nCounted on [-\d]+, .*\n\| all \| 3 \| 1 \| 1 \| 0 \|\n<!-- end of counts -->\n$")
        self.assertNotIn("Old.", self.page)

    def test_what_needs_a_module_is_counted_apart_and_not_waited_for(self):
        code, lines = self.run_with({"test_a": ["Passes", "Lacksmodule", "Lacksimage", "Lacksmgroup", "PassesToo"]}, [])
        self.assertEqual(code, 0, lines)
        self.assertIn("| test_a | 2 | 0 | 0 | 3 |", lines)

    def test_parameters_of_a_test_that_needs_a_module_are_not_all_tried(self):
        code, lines = self.run_with({"test_a": [f"Lacksmodule/{i}" for i in range(5)] + ["Passes/0"]}, [])
        self.assertEqual(code, 0, lines)
        self.assertIn("| test_a | 1 | 0 | 0 | 5 |", lines)
        self.assertEqual(self.log.count("[ RUN      ] Suite.Lacksmodule/"), 3)

    def test_another_refusal_is_a_failure(self):
        code, lines = self.run_with({"test_a": ["Passes", "Lacksqueue"]}, ["| `test_a` `Suite.Lacksqueue` | 1 | why |"])
        self.assertEqual(code, 0, lines)
        self.assertIn("| test_a | 1 | 1 | 0 | 0 |", lines)

    def test_goes_on_behind_a_crash_and_a_hang(self):
        code, lines = self.run_with({"test_a": ["Passes", "CrashesA", "PassesB", "Hangs", "PassesC", "CrashesD"]},
                                    ["| `test_a` `Suite.Crashes*` | 2 | why |", "| `test_a` `Suite.Hangs` | 1 | why |"])
        self.assertEqual(code, 0, lines)
        self.assertIn("| test_a | 3 | 3 | 0 | 0 |", lines)

    def test_ends_a_test_that_talks_for_ever(self):
        code, lines = self.run_with({"test_a": ["Talks", "Passes"]}, ["| `test_a` `Suite.Talks` | 1 | why |"], limit_s=5)
        self.assertEqual(code, 0, lines)
        self.assertIn("| test_a | 1 | 1 | 0 | 0 |", lines)

    def test_a_run_in_which_everything_is_skipped_shows_nothing(self):
        code, lines = self.run_with({"test_a": ["Skips"], "test_b": ["Skips/0"]}, [])
        self.assertEqual(code, 1)
        self.assertIn("no test passed", lines[-1])

    def test_a_failure_that_the_table_does_not_list_is_an_error(self):
        code, lines = self.run_with({"test_a": ["Fails", "FailsToo", "Passes"]}, ["| `test_a` `Suite.Fails` | 1 | why |", "| `test_b` `*` | 1 | not run |"])
        self.assertEqual(code, 1)
        self.assertIn("test_a: Suite.FailsToo fails, and the table does not say so", lines)
        self.assertFalse([line for line in lines if "test_b" in line])

    def test_a_program_that_cannot_list_its_tests_has_failed(self):
        code, lines = self.run_with({"test_a": ["Passes"], "test_b": []}, [])
        self.assertEqual(code, 1)
        self.assertIn("| test_b | 0 | 1 | 0 | 0 |", lines)
        self.assertIn("test_b: --gtest_list_tests fails, and the table does not say so", lines)

    def test_a_line_of_the_table_whose_tests_pass_is_an_error(self):
        code, lines = self.run_with({"test_a": ["Passes"]}, ["| `test_a` `Suite.*` | 1 | why |"])
        self.assertEqual(code, 1)
        self.assertIn("test_a: Suite.* is in the table, and none of these tests fails", lines)


if __name__ == "__main__":
    unittest.main()
