#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command whose output files are kept, unless they are there already.

    keep.py --into FOLDER --name NAME [--from FILE...] [--packages A,B] -- COMMAND...

The key of what is kept is the hash of the command, of the files that it is made from, and of the versions of the Python packages that
compute it. .FOLDER.NAME.key beside the folder holds it; it is written last, so an interrupted run is run again.
"""
import argparse
import hashlib
import importlib.metadata
import pathlib
import subprocess
import sys


def version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "absent"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=pathlib.Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--from", dest="sources", nargs="*", type=pathlib.Path, default=[])
    parser.add_argument("--packages", default="")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    key = hashlib.sha256("\0".join(arguments.command).encode())
    for source in sorted(arguments.sources):
        key.update(source.read_bytes())
    for package in filter(None, arguments.packages.split(",")):
        key.update(f"{package} {version(package)}\n".encode())
    stamp = arguments.into.parent / f".{arguments.into.name}.{arguments.name}.key"
    if stamp.exists() and stamp.read_text() == key.hexdigest():
        print(f"{arguments.name}: kept in {arguments.into}")
        return 0
    arguments.into.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    code = subprocess.run(arguments.command).returncode
    if code == 0:
        stamp.write_text(key.hexdigest())
    return code


if __name__ == "__main__":
    sys.exit(main())
