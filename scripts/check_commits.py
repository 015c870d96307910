#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commit messages: a subject `area: what` of at most 72 characters, an empty line, and a body that says why.

    check_commits.py                 the commits since origin/main, else since main, else since the last tag; the last commit where
                                     there are none, as in a fresh clone
    check_commits.py --message FILE  one message before it is committed; scripts/hooks/commit-msg calls this

A commit is judged only if it contains this file, so history from before the check stays as it is. Merges are not judged.
"""
import pathlib
import re
import subprocess
import sys

LONGEST_SUBJECT = 72
THIS_FILE = "scripts/check_commits.py"
SUBJECT = re.compile(r"[\w./-]+(?:, [\w./-]+)*: \S|Revert \"")
# These are for `git rebase --autosquash`, which removes them.
UNFINISHED = ("fixup! ", "squash! ", "amend! ")
TRAILER = re.compile(r"[A-Z][\w-]*-by: ")
SCISSORS = "# ------------------------ >8 ------------------------"


def problems(message: str):
    """What is wrong with a message, whose comments were removed."""
    subject, *rest = message.strip("\n").split("\n")
    if len(subject) > LONGEST_SUBJECT:
        yield f"the subject has {len(subject)} characters, more than {LONGEST_SUBJECT}"
    if not SUBJECT.match(subject):
        yield "the subject is not `area: what`"
    if rest and rest[0].strip():
        yield "the line below the subject is not empty"
    if not any(line.strip() and not TRAILER.match(line) for line in rest):
        yield "there is no body that says why"


def edited(text: str) -> str:
    """A message as the editor leaves it, without what git removes."""
    return "\n".join(line for line in text.split(SCISSORS)[0].split("\n") if not line.startswith("#"))


def git(*arguments: str) -> str:
    """What git prints, or nothing if it fails."""
    return subprocess.run(["git", *arguments], capture_output=True, text=True).stdout.strip()


def commits() -> list[str]:
    """Those to judge, the newest first."""
    last_tag = git("describe", "--tags", "--abbrev=0")
    base = next(filter(None, (git("merge-base", "HEAD", ref) for ref in ("origin/main", "main", last_tag) if ref)), None)
    ahead = git("rev-list", "--no-merges", f"{base}..HEAD").split() if base else []
    chosen = ahead or git("rev-list", "--no-merges", "-1", "HEAD").split()
    return [commit for commit in chosen if git("ls-tree", "--name-only", commit, THIS_FILE)]


def main() -> int:
    if sys.argv[1:2] == ["--message"]:
        message = edited(pathlib.Path(sys.argv[2]).read_text(errors="replace"))
        wrong = [] if message.lstrip("\n").startswith(UNFINISHED) else list(problems(message))
        for problem in wrong:
            print(f"commit message: {problem}", file=sys.stderr)
        return 1 if wrong and message.strip() else 0
    judged = commits()
    wrong = [f"commit {commit[:10]} '{message.split(chr(10))[0]}': {problem}" for commit in judged
             for message in [git("log", "-1", "--format=%B", commit)] for problem in problems(message)]
    print("\n".join(wrong) if wrong else f"messages of {len(judged)} commits: fine")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
