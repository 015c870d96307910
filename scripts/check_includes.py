#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that layers include downwards only, that frameworks know only core and the hubs, and that core knows none of them."""
import pathlib
import re
import subprocess
import sys

# A folder may include itself and what its row names. Rows follow the layer list of ARCHITECTURE.md.
LAYERS = {
    "core": set(),
    "frameworks": {"core"},
    "bridges": {"core", "frameworks"},
    "store": {"core"},
    "graph": {"core", "frameworks", "store"},
    "runtime": {"core", "frameworks", "bridges", "store", "graph"},
    "devices": {"core", "frameworks", "bridges", "store", "graph", "runtime"},
    "vision": {"core", "frameworks", "graph", "runtime"},
    "elements": {"core", "frameworks", "graph", "runtime", "vision"},
    "drivers": {"core", "store", "graph", "devices", "frameworks"},
    "bindings": {"core", "frameworks", "graph", "runtime", "vision"},
    "compat": {"core", "frameworks", "bridges", "graph", "runtime", "vision", "elements"},
}
FREE = {"tools", "examples", "tests", "bench", "fuzz", "models"}  # Use everything; nobody includes them.
HUBS = {"cpu", "dmabuf"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]tenon/([^>"]+)[>"]', re.MULTILINE)


def violations(path: pathlib.Path):
    layer = path.parts[0]
    if layer not in LAYERS:
        return
    is_test = path.stem.endswith(("_test", "_bench")) or path.name.startswith("conformance")
    for target in INCLUDE.findall(path.read_text(errors="replace")):
        parts = target.split("/")
        other = parts[0]
        if other == layer:
            same_room = len(parts) > 2 and len(path.parts) > 2 and parts[1] == path.parts[1]
            if layer == "frameworks" and not same_room and parts[1] not in HUBS and not is_test:
                yield f"{path}: framework {path.parts[1]} includes framework {parts[1]}; an edge between two belongs in bridges/"
            is_engine = parts[1:3] == ["cpu", "engine"]  # A library without a runtime, for whoever runs graphs on the CPU.
            if layer == "devices" and not same_room and not is_test and not is_engine:
                yield f"{path}: device {path.parts[1]} includes device {parts[1]}"
            continue
        if is_test and (other in LAYERS or other in FREE):
            continue
        if other not in LAYERS[layer]:
            yield f"{path}: {layer}/ may not include tenon/{target}"
    if layer == "core" and not is_test:
        for header in re.findall(r'^\s*#\s*include\s*<([^>]+)>', path.read_text(errors="replace"), re.MULTILINE):
            if "/" in header and not header.startswith(("tenon/core/", "sys/")):
                yield f"{path}: core includes only the standard library and the system, not <{header}>"


def main() -> int:
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.hpp", "*.cpp", "*.h", "*.c", "*.ipp"],
                           capture_output=True, text=True, check=True).stdout.split()
    found = [line for name in files if pathlib.Path(name).exists() for line in violations(pathlib.Path(name))]
    print("\n".join(found) if found else f"include rules hold in {len(files)} files")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
