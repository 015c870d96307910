#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Formatting, include rules, what must not be in the tree, commit messages, and checklists whose tests are there. Exits non-zero if
# anything is wrong.
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
source scripts/lib.sh
status=0

# clang-format's output depends on its version: only the pinned one counts.
if command -v clang-format-14 >/dev/null; then
  format_files | xargs -r clang-format-14 --dry-run -Werror 2>build/format.log ||
    { echo "lint: not formatted (./dev format mends it):"; grep -oE '^[^ :]+\.[a-z]+:[0-9]+' build/format.log | sort -u | head -20; status=1; }
else
  echo "lint: clang-format 14 is not here; formatting was not checked"
fi
python3 scripts/check_includes.py || status=1
python3 scripts/check_includes_test.py 2>build/check_includes_test.log || { cat build/check_includes_test.log; status=1; }
python3 scripts/check_tree.py || status=1
python3 scripts/check_tree_test.py 2>build/check_tree_test.log || { cat build/check_tree_test.log; status=1; }
python3 scripts/check_commits_test.py 2>build/check_commits_test.log || { cat build/check_commits_test.log; status=1; }
python3 scripts/rerun_test.py 2>build/rerun_test.log || { cat build/rerun_test.log; status=1; }
python3 scripts/fuzz_test.py 2>build/fuzz_test.log || { cat build/fuzz_test.log; status=1; }
python3 scripts/check_commits.py || status=1
python3 scripts/rows.py --check || status=1
python3 scripts/tables.py --check || status=1
exit $status
