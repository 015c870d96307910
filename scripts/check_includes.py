#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that layers and rooms include downwards only, that frameworks know only core and the hubs, that core knows none of them,
that units (a header with its source) include each other in a circle only where CIRCLES allows it, and that no folder uses another's
namespace detail or internal/ headers: what others may use is public, or stands in the folder's client.hpp; that a source includes its
public header before any other, so that the header needs nothing before it; and that header_only.hpp lists its folder's sources."""
import collections
import pathlib
import re
import subprocess
import sys

# A folder may include itself and the folders in its row. Rows follow the layer list of ARCHITECTURE.md.
LAYERS = {
    "core": set(),
    "frameworks": {"core"},
    "bridges": {"core", "frameworks"},
    "store": {"core"},
    "graph": {"core", "frameworks", "store"},
    "planning": {"core", "store", "graph"},
    "engine": {"core", "store", "graph", "planning"},
    "runtime": {"core", "frameworks", "bridges", "store", "graph"},
    "devices": {"core", "frameworks", "bridges", "store", "graph", "planning", "engine", "runtime"},
    "vision": {"core", "frameworks", "graph", "runtime"},
    "elements": {"core", "frameworks", "bridges", "graph", "engine", "runtime", "vision"},
    "drivers": {"core", "store", "graph", "planning", "engine", "frameworks"},
    "bindings": {"core", "frameworks", "bridges", "graph", "runtime", "vision", "elements"},
    "compat": {"core", "frameworks", "bridges", "graph", "runtime", "vision", "elements"},
}
FREE = {"tools", "examples", "tests", "bench", "fuzz", "models"}  # May use everything; nothing includes them.
HUBS = {"cpu", "dmabuf"}
# Rooms of one folder, the lowest first: each may include those before it. Files in the folder itself are above them all, except for
# the headers that say what the folder is for (in core and in frameworks: all of its headers, which are public).
class Headers:
    def __contains__(self, name: str) -> bool:
        return name.endswith(".hpp")


HEADERS = Headers()
ROOMS = {
    "core": (("platform", "base", "sync", "media", "route"), HEADERS),
    "frameworks/ffmpeg": (("base", "frames", "streams"), HEADERS),
    "frameworks/opencl": (("device", "sync", "memory", "edges"), HEADERS),
    "engine": (("kernels", "plan", "lower"), {"engine.hpp", "packed_model.hpp"}),
    "engine/kernels": (("simd", "low_bit", "reductions", "attention", "recurrent", "data_movement", "image", "nms"), set()),
    "engine/lower": (("build", "matmul_conv", "reductions", "data_movement", "image"), set()),
    "graph/ops": (("internal", "elementwise", "matmul_conv", "reductions", "data_movement", "image", "nms"), HEADERS),
    "vision": (("internal", "outputs", "decoders", "tracking", "metrics", "drawing"), HEADERS),
    "elements": (("internal", "element", "basic", "pipeline"), HEADERS),
    "devices/gpu": (("public", "twin", "program", "plan", "lower", "remote", "request"), {"native.hpp", "config.hpp", "target.hpp", "hardware.hpp", "kernels.hpp"}),
    "devices/gpu/lower": (("build", "matmul_conv", "reductions", "data_movement", "image", "nms"), set()),
    "drivers/vaapi": (("objects", "codec", "process", "calls"), set()),
    "drivers/npu": (("objects", "instrument", "compiler", "run", "calls"), set()),
    "bindings/python/native": (("base", "memory", "models", "run", "pipelines"), {"native.hpp"}),
    "tools/tenon": (("shared", "migrate", "proof", "tune", "show", "commands"), set()),
    "tools/tenon/show": (("text", "pictures", "models", "pipelines", "reports"), set()),
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
]
# Layers whose headers are installed, and sources that the build compiles into no library.
PUBLIC = {"core", "frameworks", "bridges", "graph", "runtime", "vision", "elements", "bindings"}
ALONE = {"conformance.cpp", "probe.cpp"}
# Layers whose folders have a namespace detail each.
OWNERS = {"frameworks", "bridges", "devices", "drivers", "tools", "bindings"}
NAMESPACE = re.compile(r"^namespace ((?:inline |\w|::)+) \{", re.MULTILINE)
ALIAS = re.compile(r"^ *namespace (\w+) = ([\w:]+);", re.MULTILINE)
DETAIL = re.compile(r"^namespace (?:[\w:]+::)?detail \{.*?^\}  // namespace (?:[\w:]+::)?detail$", re.MULTILINE | re.DOTALL)
USE = re.compile(r"((?:\w+::|(?<!\w)::)*)\bdetail::(\w+)")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]tenon/([^>"]+)[>"]', re.MULTILINE)


def upward(path: pathlib.Path, target: str):
    """The problem with an include within a folder that has rooms."""
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
        if layer == "compat" and other == "devices" and parts[2] == "public":
            continue  # As programs do.
        if other not in LAYERS[layer]:
            yield f"{path}: {layer}/ may not include tenon/{target}"
    if layer == "core" and not is_test:
        for header in re.findall(r'^\s*#\s*include\s*<([^>]+)>', path.read_text(errors="replace"), re.MULTILINE):
            if "/" in header and not header.startswith(("tenon/core/", "sys/")):
                yield f"{path}: core includes only the standard library and the system, not <{header}>"


def owner(name: str) -> str:
    """The folder whose namespace detail and internal/ a file may use: a framework, bridge, device, driver or tool, else its layer."""
    parts = name.split("/")
    return "/".join(parts[:2]) if parts[0] in OWNERS and len(parts) > 2 else parts[0]


def privacy(texts):
    """Uses of private names of another folder. @param texts  By the file's name. A folder's tests belong to it."""
    namespaces, private = collections.defaultdict(set), collections.defaultdict(set)
    for name, text in texts.items():
        for opened in NAMESPACE.findall(text):
            namespaces[owner(name)].update(opened.replace("inline ", "").split("::"))
        for region in DETAIL.findall(text):
            private[owner(name)].update(re.findall(r"\w+", region))
    for name, text in texts.items():
        here = owner(name)
        aliases = dict(ALIAS.findall(text))
        for use in USE.finditer(text):
            outer = [aliases.get(word, word).split("::")[-1] for word in use[1].split("::") if word]
            outer = [word for word in outer if word not in ("tenon", "v1")]
            if all(word in namespaces[here] for word in outer) and use[2] in private[here]:
                continue
            line = text.count("\n", 0, use.start()) + 1
            yield f"{name}:{line}: {use[0].lstrip(':')} is not of {here}/: what others may use is public, or in a client.hpp"
        for target in INCLUDE.findall(text):
            if "/internal/" in target and owner(target) != here:
                yield f"{name}: tenon/{target} is private to {owner(target)}/"


def unit(name: str) -> str:
    """A header and its source form one unit; a header in C is one by itself."""
    return name if name.endswith(".h") else name.rsplit(".", 1)[0]


def circles(names):
    """Sets of units that reach each other, each as large as possible."""
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


def is_compiled(name: str) -> bool:
    """Whether the build compiles this source into its folder's library."""
    path = pathlib.PurePosixPath(name)
    return (path.suffix == ".cpp" and path.name not in ALONE and "testing" not in path.parts and
            not path.stem.endswith(("_test", "_bench", "_oracle")))


def own_header(name: str, names):
    """The public header of a source: beside it, or above its room. None if there is none, or it is private."""
    path = pathlib.PurePosixPath(name)
    above = path.parent.parent
    folder = above if ROOMS.get(above.as_posix(), (None, None))[1] is HEADERS else path.parent
    header = (folder / f"{path.stem}.hpp").as_posix()
    return header if header in names and "/internal/" not in header else None


def own_header_first(texts):
    """Sources that include another of Tenon's headers before their own, or not their own. @param texts  By the file's name."""
    for name, text in texts.items():
        if name.split("/")[0] not in PUBLIC or not is_compiled(name):
            continue
        header = own_header(name, texts)
        included = INCLUDE.findall(text)
        if header and included[:1] != [header]:
            yield f"{name}: its first include of Tenon's must be its own header, <tenon/{header}>"


def header_only(texts):
    """Differences between what a header_only.hpp includes and its folder's compiled sources; frameworks without one.
    @param texts  By the file's name."""
    for name in texts:
        parts = name.split("/")
        if parts[0] == "frameworks" and is_compiled(name) and "/".join(parts[:2]) + "/header_only.hpp" not in texts:
            yield f"{name}: frameworks/{parts[1]}/ has no header_only.hpp, which lists its sources"
    for name, text in texts.items():
        if not name.endswith("/header_only.hpp"):
            continue
        folder = name.removesuffix("header_only.hpp")
        compiled = {source for source in texts if source.startswith(folder) and is_compiled(source)}
        # A folder below may list its own.
        rooms = tuple(target.removesuffix("header_only.hpp") for target in INCLUDE.findall(text)
                      if target.startswith(folder) and target.endswith("/header_only.hpp"))
        compiled = {source for source in compiled if not rooms or not source.startswith(rooms)}
        listed = [target for target in INCLUDE.findall(text) if target.endswith(".cpp")]
        for source in sorted(compiled.difference(listed)):
            yield f"{name}: {source} is compiled into the library, and not listed here"
        for source in sorted(set(listed) - compiled):
            yield f"{name}: {source} is no source of this folder's library"
        for source in sorted({source for source in listed if listed.count(source) > 1}):
            yield f"{name}: {source} is listed twice"


def main() -> int:
    files = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.hpp", "*.cpp", "*.h", "*.c", "*.ipp"],
                           capture_output=True, text=True, check=True).stdout.split()
    files = [name for name in files if pathlib.Path(name).exists()]
    found = [line for name in files for line in violations(pathlib.Path(name))]
    texts = {name: pathlib.Path(name).read_text(errors="replace") for name in files}
    for rule in (privacy, own_header_first, header_only):
        found += rule(texts)
    for circle in circles(files):
        if not any(circle <= allowed for allowed in CIRCLES):
            found.append("these include each other, and CIRCLES does not allow it: " + ", ".join(sorted(circle)))
    print("\n".join(found) if found else f"include rules hold in {len(files)} files")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
