#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that layers and rooms include downwards only, that frameworks know only core and the hubs, that core knows none of them, and
that units (a header with its source) include each other in a circle only where CIRCLES allows it."""
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
    "engine": {"core", "store", "graph"},
    "runtime": {"core", "frameworks", "bridges", "store", "graph"},
    "devices": {"core", "frameworks", "bridges", "store", "graph", "engine", "runtime"},
    "vision": {"core", "frameworks", "graph", "runtime"},
    "elements": {"core", "frameworks", "graph", "runtime", "vision"},
    "drivers": {"core", "store", "graph", "engine", "frameworks"},
    "bindings": {"core", "frameworks", "graph", "runtime", "vision"},
    "compat": {"core", "frameworks", "bridges", "graph", "runtime", "vision", "elements"},
}
FREE = {"tools", "examples", "tests", "bench", "fuzz", "models"}  # Use everything; nobody includes them.
HUBS = {"cpu", "dmabuf"}
# Rooms of one folder, the lowest first: each may include those before it. What lies in the folder itself is above them all, but for
# the headers that say what the folder is for.
ROOMS = {
    "engine": (("kernels", "plan", "lower"), {"engine.hpp", "packed_model.hpp"}),
    "drivers/npu": (("objects", "instrument", "compiler", "run", "calls"), set()),
    "tools/tenon": (("shared", "proof", "show", "commands"), set()),
}
# Units that may include each other, each set with its reason in ARCHITECTURE.md.
CIRCLES = [
    {"core/host", "core/memory", "core/tensor"},
    {"graph/node", "graph/operation_table", "graph/internal/schema", "graph/ops/internal/table_rows"},
    {"graph/layout", "graph/layout_axes"},
    {"graph/input_stage/input_stage", "graph/input_stage/spec"},
    {"runtime/core", "runtime/internal/core_impl"},
    {"runtime/preprocess/internal/steps", "runtime/preprocess/pre_post_process"},
    {"devices/npu/compiled_model", "devices/npu/request"},
    {"drivers/npu/run/command_list", "drivers/npu/run/executor"},
    {"drivers/npu/run/graph", "drivers/npu/run/profiling"},
    {"drivers/npu/compiler/mode_params", "drivers/npu/compiler/options"},
    {"frameworks/ffmpeg/video", "frameworks/ffmpeg/video_impl"},
    {"vision/decode", "vision/internal/decoders"},
]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]tenon/([^>"]+)[>"]', re.MULTILINE)


def upward(path: pathlib.Path, target: str):
    """What is wrong with that include, where both lie in rooms of one folder."""
    for folder, (rooms, contracts) in ROOMS.items():
        if not path.as_posix().startswith(folder + "/") or not target.startswith(folder + "/"):
            continue
        here, there = (name[len(folder) + 1:].split("/") for name in (path.as_posix(), target))
        if len(here) == 1 or here[0] not in rooms or (len(there) == 1 and there[0] in contracts):
            continue
        if len(there) == 1 or there[0] not in rooms or rooms.index(there[0]) > rooms.index(here[0]):
            yield f"{path}: {folder}/{here[0]}/ stands below tenon/{target}"


def violations(path: pathlib.Path):
    layer = path.parts[0]
    if layer not in LAYERS and layer not in FREE:
        return
    is_test = path.stem.endswith(("_test", "_bench")) or path.name.startswith("conformance") or "testing" in path.parts
    for target in INCLUDE.findall(path.read_text(errors="replace")):
        parts = target.split("/")
        other = parts[0]
        if not is_test:
            yield from upward(path, target)
        if layer in FREE:
            continue
        if other == layer:
            same_room = len(parts) > 2 and len(path.parts) > 2 and parts[1] == path.parts[1]
            if layer == "frameworks" and not same_room and parts[1] not in HUBS and not is_test:
                yield f"{path}: framework {path.parts[1]} includes framework {parts[1]}; an edge between two belongs in bridges/"
            if layer == "devices" and not same_room and not is_test:
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


def unit(name: str) -> str:
    """A header and its source are one; the C API's generated headers stand for themselves."""
    return name if name.endswith(".h") else name.rsplit(".", 1)[0]


def circles(names):
    """Sets of units that reach each other, each unit in the largest one."""
    known = set(names)
    arrows = {}
    for name in names:
        path = pathlib.Path(name)
        if path.parts[0] in FREE or "testing" in path.parts or path.stem.endswith(("_test", "_bench")):
            continue
        targets = (unit(target) for target in INCLUDE.findall(path.read_text(errors="replace")) if target in known)
        arrows.setdefault(unit(name), set()).update(targets)

    def reached(start):
        seen, open_ends = set(), [start]
        while open_ends:
            for target in arrows.get(open_ends.pop(), ()):
                if target not in seen:
                    seen.add(target)
                    open_ends.append(target)
        return seen

    reach = {one: reached(one) for one in arrows}
    found = {frozenset({other for other in reach[one] if one in reach.get(other, ())} | {one})
             for one in arrows if one in reach[one]}
    return [circle for circle in found if len(circle) > 1]


def main() -> int:
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.hpp", "*.cpp", "*.h", "*.c", "*.ipp"],
                           capture_output=True, text=True, check=True).stdout.split()
    files = [name for name in files if pathlib.Path(name).exists()]
    found = [line for name in files for line in violations(pathlib.Path(name))]
    for circle in circles(files):
        if not any(circle <= allowed for allowed in CIRCLES):
            found.append("these include each other, and CIRCLES does not allow it: " + ", ".join(sorted(circle)))
    print("\n".join(found) if found else f"include rules hold in {len(files)} files")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
