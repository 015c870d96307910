#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes the C API's description in every way that matters and checks whether scripts/abi.sh objects."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What is done to which file (old text, new text), and whether programs would break.
CHANGES = [
    ("nothing", "base.toml", "", "", False),
    ("a new function", "base.toml", '[[function]]\nname = "tenon_version"',
     '[[function]]\nname = "tenon_news"\ndoc = "New."\nreturns = "size_t"\n\n[[function]]\nname = "tenon_version"', False),
    ("a struct that grows at its end", "ledger.toml", '  ["uint64_t", "wait_ns"],\n]\n\n[[struct]]',
     '  ["uint64_t", "wait_ns"],\n  ["uint64_t", "more"],\n]\n\n[[struct]]', False),
    ("a new enumerator", "properties.toml", '  ["TENON_VALUE_TENSOR", 8],', '  ["TENON_VALUE_TENSOR", 8],\n  ["TENON_VALUE_NEW", 9],', False),
    ("a function that went", "base.toml", 'name = "tenon_version"', 'name = "tenon_build"', True),
    ("a parameter of another type", "request.toml", '{ type = "int64_t", name = "timeout_ms" }', '{ type = "int32_t", name = "timeout_ms" }', True),
    ("a field in the middle", "ledger.toml", '  ["uint64_t", "maps"],\n  ["uint64_t", "copied_bytes"',
     '  ["uint64_t", "new"],\n  ["uint64_t", "maps"],\n  ["uint64_t", "copied_bytes"', True),
    ("a plain struct that grows", "shape.toml", '["int64_t", "max", "-1: no upper bound."]]', '["int64_t", "max", "-1: no upper bound."], ["int64_t", "step"]]', True),
    ("an enumerator of another value", "ledger.toml", '["TENON_ZERO_COPY_REQUIRE", 1,', '["TENON_ZERO_COPY_REQUIRE", 9,', True),
]


def tree(folder):
    """The part of the repository that the check reads."""
    for name in ("bindings/c", "tests/abi", "scripts"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "docs" / "reference").mkdir(parents=True)
    return folder


def main() -> int:
    failed = 0
    for what, file, old, new, breaks in CHANGES:
        with tempfile.TemporaryDirectory() as name:
            root = tree(pathlib.Path(name))
            path = root / "bindings/c/api" / file
            text = path.read_text()
            if old not in text:
                print(f"{what}: {file} no longer has {old!r}: adapt this test")
                failed += 1
                continue
            path.write_text(text.replace(old, new, 1))
            subprocess.run([sys.executable, root / "bindings/c/generate.py"], check=True, stdout=subprocess.DEVNULL)
            done = subprocess.run([root / "scripts/abi.sh"], capture_output=True, text=True)
            if (done.returncode != 0) != breaks:
                print(f"{what}: {'should have been refused' if breaks else 'was refused'}\n{done.stdout}{done.stderr}")
                failed += 1
    print(f"{len(CHANGES) - failed} of {len(CHANGES)} changes judged rightly")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
