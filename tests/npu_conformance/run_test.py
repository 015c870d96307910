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
# Plays the vendor's validation, whose tests may depend on the driver's switches, and on the option for a process of their own.
UMD = """#!{python}
import os, sys
assert os.path.exists(sys.argv[sys.argv.index("--config") + 1]) and os.environ["ZE_ENABLE_ALT_DRIVERS"]
TESTS = ["Suite." + name for name in {tests}] + ["ZeInitSuite.Alone"]
if "--gtest_list_tests" in sys.argv:
    for name in TESTS:
        print(name.split(".")[0] + ".\\n  " + name.split(".")[1])
    sys.exit()
flags = next(word for word in sys.argv if word.startswith("--gtest_flagfile=")).split("=")[1]
wanted = open(flags).read().split("=", 1)[1].strip().split(":")
for name in wanted:
    fails = name == "Suite.Fails" or name == "Suite.Switched" and "TENON_NPU_NUMERICS" not in os.environ
    skips = name == "ZeInitSuite.Alone" and (len(wanted) > 1 or "--ze-init-tests" not in sys.argv)
    print("[ RUN      ] " + name)
    print("[" + ("  FAILED  " if fails else "  SKIPPED " if skips else "       OK ") + "] " + name + " (1 ms)")
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

    def run_umd(self, tests, rows):
        """The exit code and the lines of a run of the vendor's validation."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            program = folder / "npu-umd-test"
            program.write_text(UMD.format(python=sys.executable, tests=repr(tests)), encoding="utf-8")
            program.chmod(0o755)
            (folder / "config.yaml").write_text("log_level: ERROR\n", encoding="utf-8")
            page = GUIDE.format(rows="\n".join(rows))
            for mark in ("what fails", "counts"):
                page = page.replace(f"<!-- {mark} -->", f"<!-- {mark} in umd-test -->".replace("counts in", "counts of"))
                page = page.replace(f"<!-- end of {mark} -->", f"<!-- end of {mark} in umd-test -->".replace("counts in", "counts of"))
            (folder / "page.md").write_text(page, encoding="utf-8")
            done = subprocess.run([sys.executable, HERE / "run.py", "--umd", program, "--umd-config", folder / "config.yaml", "--as-it-is",
                                   "--driver", folder / "driver.so", "--guide", folder / "page.md", "--logs", folder / "logs", "--write"],
                                  capture_output=True, text=True, check=False, timeout=240,
                                  env=os.environ | {"TENON_CONFORMANCE_SILENCE_S": "20"})
            self.page = (folder / "page.md").read_text(encoding="utf-8")
            return done.returncode, (done.stdout + done.stderr).splitlines()

    def test_the_vendors_validation_runs_without_and_with_switches_and_alone(self):
        code, lines = self.run_umd(["Passes", "Switched", "Fails"], ["| `npu-umd-test` `*.Fails` | 1 | why |"])
        self.assertEqual(code, 0, lines)
        self.assertIn("| as it is, without switches | 1 | 2 | 1 |", lines)
        self.assertTrue([line for line in lines if line.startswith("| with `TENON_NPU_AS_HARDWARE=1 ") and line.endswith("| 2 | 1 | 1 |")], lines)
        self.assertIn("| 1 of those skipped, each in a process of its own with `--ze-init-tests` | 1 | 0 | 0 |", lines)
        self.assertIn("| as it is, without switches | 1 | 2 | 1 |", self.page)
        self.assertNotIn("Old.", self.page)

    def test_what_fails_at_times_may_pass(self):
        row = "| `npu-umd-test` `*.Switched` | at times | a busy machine |"
        code, lines = self.run_umd(["Passes", "Switched"], [row])
        self.assertEqual(code, 0, lines)
        code, lines = self.run_umd(["Passes", "Switched"], [row.replace("at times", "1")])
        self.assertEqual(code, 1, lines)
        self.assertIn("npu-umd-test: *.Switched is in the table, and none of these tests fails", lines)
        code, lines = self.run_umd(["Passes", "Fails"], [])
        self.assertEqual(code, 1, lines)
        self.assertIn("npu-umd-test: Suite.Fails fails, and the table does not say so", lines)


if __name__ == "__main__":
    unittest.main()
