#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether run_ctest of test.sh tells a test that fails from one that is unsteady, with tests that are made for it."""
import pathlib
import subprocess
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parent
# One of them needs another test to have run, which ctest then runs again beside it.
TESTS = """
add_test(steady true)
add_test(prepares true)
set_tests_properties(prepares PROPERTIES FIXTURES_SETUP prepared)
add_test(judged "{command}")
set_tests_properties(judged PROPERTIES FIXTURES_REQUIRED prepared)
"""
FAILS = "#!/bin/sh\nexit 1\n"
FAILS_ONCE = '#!/bin/sh\n[ -e "$0.ran" ] && exit 0\ntouch "$0.ran"\nexit 1\n'


class Rerun(unittest.TestCase):
    def run_ctest(self, program):
        with tempfile.TemporaryDirectory() as folder:
            command = pathlib.Path(folder) / "judged"
            command.write_text(program)
            command.chmod(0o755)
            build = pathlib.Path(folder) / "build"
            build.mkdir()
            (build / "CTestTestfile.cmake").write_text(TESTS.format(command=command))
            ran = subprocess.run(["bash", "-c", f'source "{SCRIPTS}/lib.sh"; source "{SCRIPTS}/test.sh"; run_ctest build; code=$?\n'
                                  'echo "code $code, $PASSED passed, $FAILED failed"; printf "%s\\n" "${SUMMARY[@]}"'],
                                 cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
            return ran.stdout

    def test_what_fails_twice_has_failed_though_its_fixture_passes(self):
        said = self.run_ctest(FAILS)
        self.assertIn("code 1, 2 passed, 1 failed", said)
        self.assertNotIn("UNSTEADY", said)

    def test_what_passes_alone_is_named(self):
        said = self.run_ctest(FAILS_ONCE)
        self.assertIn("code 0, 3 passed, 0 failed", said)
        self.assertIn("UNSTEADY judged failed beside others", said)

    def test_what_passes_is_not_run_again(self):
        self.assertIn("code 0, 3 passed, 0 failed", self.run_ctest("#!/bin/sh\nexit 0\n"))


if __name__ == "__main__":
    unittest.main()
