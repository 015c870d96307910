#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""exports_test.py NM LIBRARY: the library exports every function that api/*.toml describes, and nothing else."""
import subprocess
import sys

from generate import HERE, Api


def main() -> int:
    nm, library = sys.argv[1:]
    lines = subprocess.run([nm, "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout.splitlines()
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
