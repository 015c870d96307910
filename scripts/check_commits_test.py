#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether check_commits.py sees what it is for: each rule is broken once, and kept once."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import check_commits  # noqa: E402

GOOD = "core: views die with their memory\n\nA stale header was found after a free.\n"
HERE = pathlib.Path(__file__).resolve().parent


class Messages(unittest.TestCase):
    def wrong(self, message, word):
        found = list(check_commits.problems(message))
        self.assertEqual(len(found), 1, found)
        self.assertIn(word, found[0])

    def test_good_ones_pass(self):
        for message in (GOOD, GOOD.replace("core:", "engine, devices/gpu:"), 'Revert "core: views"\n\nThis reverts commit 1.\n'):
            self.assertEqual(list(check_commits.problems(message)), [], message)

    def test_each_rule(self):
        self.wrong(GOOD.replace("core: ", ""), "area: what")
        self.wrong(GOOD.replace("views", "v" * 60), "more than 72")
        self.wrong(GOOD.split("\n")[0], "no body")
        self.wrong(GOOD.split("\n")[0] + "\n\nSigned-off-by: A <a@b>\n", "no body")
        self.wrong(GOOD.replace("\n\n", "\n"), "not empty")

    def test_comments_and_the_diff_of_the_editor_are_no_body(self):
        message = GOOD.split("\n")[0] + "\n# Please enter\n" + check_commits.SCISSORS + "\ndiff --git a b\n"
        self.wrong(check_commits.edited(message), "no body")


class Repository(unittest.TestCase):
    def run_in(self, *command):
        settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        settings |= {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")} | settings
        return subprocess.run(command, cwd=self.tree, capture_output=True, text=True, env=environment)

    def commit(self, message):
        return self.run_in("git", "commit", "-q", "--allow-empty", "-m", message)

    def check(self):
        done = self.run_in(sys.executable, HERE / "check_commits.py")
        return done.returncode, done.stdout

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.tree = pathlib.Path(scratch.name)
        self.run_in("git", "init", "-q", "-b", "main")
        self.commit("From before the check")

    def add_the_check(self):
        (self.tree / "scripts").mkdir()
        (self.tree / "scripts/check_commits.py").touch()
        self.run_in("git", "add", "scripts")
        self.commit(GOOD)

    def test_history_from_before_the_check_is_not_judged(self):
        self.assertEqual(self.check(), (0, "messages of 0 commits: fine\n"))
        self.add_the_check()
        self.assertEqual(self.check(), (0, "messages of 1 commits: fine\n"))

    def test_the_last_commit_is_judged_where_none_is_ahead(self):
        self.add_the_check()
        self.commit("No area and no body")
        code, said = self.check()
        self.assertEqual((code, said.count("No area and no body")), (1, 2), said)
        self.commit(GOOD)
        self.assertEqual(self.check()[0], 0)

    def test_every_commit_ahead_of_the_remote_is_judged(self):
        self.add_the_check()
        self.run_in("git", "update-ref", "refs/remotes/origin/main", "HEAD")
        self.commit("No area and no body")
        self.commit(GOOD)
        self.assertEqual(self.check()[0], 1)

    def test_the_hook_refuses_and_accepts(self):
        self.add_the_check()
        (self.tree / "scripts/check_commits.py").write_bytes((HERE / "check_commits.py").read_bytes())
        self.run_in("git", "config", "core.hooksPath", str(HERE / "hooks"))
        self.assertIn("area: what", self.commit("No area").stderr)
        self.assertEqual([self.commit(message).returncode for message in (GOOD, "fixup! core: views")], [0, 0])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-q"])
