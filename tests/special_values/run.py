#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the cases that special_values.py made through backend_tests, each group with its tolerances.

usage: run.py --backend-tests PROGRAM --cases DIR [--device NAME] [--known FILE] [--refuses TEXT]

Every case must pass, but for those whose name begins as a line of the file of known failures ("PREFIX: reason"); each line must still
be true of some case that is there. A case whose reason has the TEXT is one that the device refuses. Exit code 77: there is no such device.
"""
import argparse
import subprocess
import sys
from pathlib import Path

# Functions of f32 are right to 1e-3 of the result, apart from what a sum cancels; f16 has eleven binary digits, and rounds attributes.
GROUPS = {"signed": ["--signed-zeros", "--rtol", "1e-3", "--atol", "1e-9"], "plain": ["--rtol", "1e-3", "--atol", "1e-6"],
          "f16": ["--rtol", "4e-3", "--atol", "5e-4"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend-tests", required=True)
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--device", default="")
    parser.add_argument("--known", type=Path)
    parser.add_argument("--refuses", default="")
    options = parser.parse_args()
    known = {}
    for line in options.known.read_text().splitlines() if options.known else ():
        if line and not line.startswith("#"):
            prefix, reason = line.split(": ", 1)
            known[prefix] = reason
    counts, failures, names, used = {"passed": 0, "FAILED": 0, "known": 0, "refused": 0}, [], [], set()
    for group, tolerances in GROUPS.items():
        if not (options.cases / group).is_dir():
            continue
        device = ["--device", options.device] if options.device else []
        done = subprocess.run([options.backend_tests, *device, *tolerances, "--list", str(options.cases / group)], capture_output=True, text=True)
        if done.returncode:
            print(done.stdout[-500:], done.stderr[-2000:])
            return done.returncode
        for line in done.stdout.splitlines():
            if line.count("\t") < 2:
                continue
            name, outcome, reason = line.split("\t", 2)
            names.append(name)
            prefixes = [prefix for prefix in known if name.startswith(prefix)] if outcome != "passed" else []
            used.update(prefixes)
            if outcome != "passed" and options.refuses and options.refuses in reason:
                outcome = "refused"
            counts["known" if prefixes else outcome] += 1
            if outcome == "FAILED" and not prefixes:
                failures.append(f"{group}/{name}: {reason[:300]}")
    for prefix in known:
        if prefix not in used and any(name.startswith(prefix) for name in names):
            failures.append(f"{prefix}: is listed as a known failure, and every case passes")
    print("\n".join(failures[:100]))
    print(f"{options.device or 'reference kernels'}: {counts['passed']} passed, {counts['FAILED']} failed, {counts['known']} are known to fail, "
          f"{counts['refused']} refused")
    return 1 if failures or not names else 0


if __name__ == "__main__":
    sys.exit(main())
