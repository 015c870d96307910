#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""exports_test.py NM LIBRARY: the library exports every function that api/*.toml describes, and nothing else."""
import re
import subprocess
import sys

from generate import HERE, Api


def main() -> int:
    nm, library = sys.argv[1:]
    lines = subprocess.run([nm, "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout.splitlines()
    version = "TENON_" + re.search(r'TENON_VERSION "(\d+)', (HERE.parents[1] / "core/version.hpp").read_text())[1]
    lines = [line for line in lines if line.split()[-1].partition("@@")[0] != version]  # The version itself is listed, too.
    for line in lines:
        name, _, its = line.split()[-1].partition("@@")
        if its != version:
            print(f"{name} has the version '{its}' instead of {version}")
            return 1
    exported = {line.split()[-1].split("@")[0] for line in lines}
    described = {function.name for function in Api(HERE / "api").functions}
    for name in sorted(described - exported):
        print(f"described, not exported: {name}")
    for name in sorted(exported - described):
        print(f"exported, not described: {name}")
    if exported == described:
        print(f"{len(described)} functions described and exported")
    return 0 if exported == described else 1


if __name__ == "__main__":
    sys.exit(main())
