#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names of OpenVINO's Python package beside those of tenon.openvino: names.py [OUTPUT] writes docs/reference/python_openvino_names.md.

Modules, classes and members come from the installed wheel; argument names are compared where both sides tell them."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import sys
import types
import typing
import warnings
from pathlib import Path

# The sources of tenon lie beside this script; the package is the one that is built or installed.
sys.path = [path for path in sys.path if Path(path or ".").resolve() != Path(__file__).resolve().parent]
OUTPUT = Path(__file__).resolve().parents[2] / "docs" / "reference" / "python_openvino_names.md"
# Operators that are part of how a class is used.
SPECIAL = {"__call__", "__getitem__", "__setitem__", "__len__", "__iter__", "__contains__", "__add__", "__sub__", "__mul__", "__truediv__", "__radd__",
           "__rsub__", "__rmul__", "__rtruediv__", "__enter__", "__exit__", "__eq__", "__hash__", "__copy__", "__deepcopy__"}
# What no application names: the wheel's own machinery. Listed in the page, and left out of the share.
MACHINERY = ("tools", "torch", "package_utils", "frontend", "preprocess.torchvision", "utils.decorators", "utils.node_factory", "utils.input_validation",
             "utils.broadcasting", "utils.reduction", "utils.postponed_constant", "utils.data_helpers.data_dispatcher", "utils.data_helpers.wrappers")


def machinery(path: str) -> bool:
    return bool(re.match(r"opset\d+\.ops", path)) or any(path == each or path.startswith(each + ".") for each in MACHINERY)


def modules() -> list:
    """Public modules of the wheel by their paths within it."""
    package = importlib.import_module("openvino")
    found = [""]
    for each in pkgutil.walk_packages(package.__path__, "openvino."):
        path = each.name.partition(".")[2]
        if not any(part.startswith("_") for part in path.split(".")):
            found.append(path)
    found += [f"properties.{each}" for each in ("intel_npu",) if f"properties.{each}" not in found]
    return sorted(found)


def elsewhere(path: str) -> set:
    """Identities of what belongs to other modules, and was only imported for a module's own use."""
    if path in ("", "op"):
        return set()
    found: set = set()
    for home in ("openvino", "openvino.op", "openvino.op.util", "openvino.passes", "openvino.exceptions"):
        if home != f"openvino.{path}" and not f"openvino.{path}".startswith("openvino.passes"):
            found |= {id(value) for value in vars(importlib.import_module(home)).values() if isinstance(value, type)}
    return found


def module_names(path: str) -> dict:
    """Public names of a module that are OpenVINO's own, with their values."""
    try:
        module = importlib.import_module("openvino" + (f".{path}" if path else ""))
    except (ImportError, AttributeError, SystemExit):
        return {}
    names, imported = {}, elsewhere(path)
    for name in dir(module):
        value = getattr(module, name, None)
        if id(value) in imported or name.startswith("_") or isinstance(value, types.ModuleType) or getattr(typing, name, None) is value:
            continue
        owner = str(getattr(value, "__module__", "openvino") or "openvino")
        if owner.partition(".")[0] in ("openvino", "builtins", "typing") and not (owner == "builtins" and callable(value) and not isinstance(value, type)):
            names[name] = value
    if path.partition(".")[0] == "properties":  # Its functions are made when they are named.
        native = importlib.import_module("openvino._pyopenvino").properties
        for part in path.split(".")[1:]:
            native = getattr(native, part)
        names.update({name: name for name in dir(native) if isinstance(getattr(native, name), types.BuiltinFunctionType)})
    if path == "":
        names["layout_helpers"] = module.layout_helpers
    return names


def members(kind: type) -> dict:
    """Public members of a class, and its operators; those of public base classes stand there."""
    found: dict = {}
    bases = {id(value) for home in ("openvino", "openvino.passes") for value in vars(importlib.import_module(home)).values()}
    for base in kind.__mro__:
        if base is not kind and id(base) in bases:
            continue
        if base is object or base.__name__ == "pybind11_object" or base.__module__ in ("builtins", "collections", "enum", "typing", "collections.abc"):
            continue
        for name, value in vars(base).items():
            if hasattr(kind, "__members__") and name in ("name", "value"):
                continue
            if (not name.startswith("_") or name in SPECIAL) and value is not None:
                found.setdefault(name, value)
    return found


def parameters(value: object) -> set:
    """Names of arguments, as far as they can be known."""
    signature = getattr(value, "__nb_signature__", None)
    if signature:
        return set(re.findall(r"(?:^|[(,] ?)(\w+):", " ".join(str(each[0]) for each in signature)))
    try:
        return {each.name for each in inspect.signature(value).parameters.values() if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)}
    except (TypeError, ValueError):
        lines = re.findall(r"^(?:\d+\. )?\w+\((.*)\) ->", getattr(value, "__doc__", None) or "", re.M)
        return set(re.findall(r"(?:^|, )(\w+):", ", ".join(lines)))


def resolve(path: str) -> object:
    """What tenon.openvino has at a path. @raises AttributeError, ImportError"""
    value = importlib.import_module("tenon.openvino")
    for part in filter(None, path.split(".")):
        try:
            value = getattr(value, part)
        except AttributeError as first:
            if not isinstance(value, types.ModuleType):
                raise
            try:
                value = importlib.import_module(f"{value.__name__}.{part}")
            except ImportError:
                raise AttributeError(str(first)) from None
    return value


def accepts(value: object) -> bool:
    """Whether a function takes any keyword."""
    try:
        return any(each.kind == each.VAR_KEYWORD for each in inspect.signature(value).parameters.values())
    except (TypeError, ValueError):
        return False


class Report:
    """All names: present, absent with a reason, absent without one; and arguments that differ."""

    def __init__(self) -> None:
        self.rows: list = []  # (group, path, reason or None, is machinery)
        self.unexplained: list = []
        self.arguments: list = []

    def add(self, group: str, path: str, value: object) -> bool:
        from tenon.openvino._modules import reason

        try:
            own = resolve(path)
        except (AttributeError, ImportError) as error:
            why = reason(path) or (str(error).partition(": ")[2] if "Tenon has no" in str(error) else "")
            if machinery(path):
                why = why or "an internal of OpenVINO's package"
            elif not why:
                self.unexplained.append(path)
            self.rows.append((group, path, why or "no reason is known", machinery(path)))
            return False
        self.rows.append((group, path, None, machinery(path)))
        if callable(value) and not isinstance(value, type) and not path.rpartition(".")[2].startswith("__"):
            wanted = {name for name in parameters(value) if not re.fullmatch(r"arg\d+|self|cls|args|kwargs", name)}
            missing = wanted - parameters(own)
            if missing and not accepts(own):
                self.arguments.append((path, sorted(missing)))
        return True

    def share(self) -> tuple:
        own = [row for row in self.rows if not row[3]]
        return sum(row[2] is None for row in own), len(own)


def collect() -> Report:
    warnings.simplefilter("ignore")
    report, seen = Report(), set()
    for path in modules():
        group = path or "openvino"
        for name, value in sorted(module_names(path).items()):
            full = f"{path}.{name}" if path else name
            report.add(group, full, value)
            if isinstance(value, type) and id(value) not in seen and not machinery(full):
                seen.add(id(value))
                for member, what in sorted(members(value).items()):
                    report.add(f"{full}", f"{full}.{member}", what)
    native = module_names("").get("layout_helpers")
    for name in sorted(each for each in dir(native) if not each.startswith("_")):
        report.add("layout_helpers", f"layout_helpers.{name}", getattr(native, name))
    return report


def page(report: Report, version: str) -> str:
    present, count = report.share()
    lines = ["# Names of OpenVINO's Python package in tenon.openvino", "",
             "Written by `bindings/python/names.py` from the installed wheel of OpenVINO; a test compares this page with it. How to use the package:",
             "[the Python guide](../guide/python_openvino.md).", "",
             f"OpenVINO {version}: {count} names that applications can use (modules' names, classes' members, functions of operation sets), of which",
             f"{present} are present: {100 * present / count:.1f} %. Besides, {len(report.rows) - count} names are machinery of the wheel itself, and listed last.", "",
             "| where | present | absent |", "|---|---|---|"]
    groups: dict = {}
    for group, path, why, inside in report.rows:
        groups.setdefault(group, []).append((path, why, inside))
    for group, rows in groups.items():
        if not rows[0][2]:
            lines.append(f"| {group} | {sum(why is None for _, why, _ in rows)} | {sum(why is not None for _, why, _ in rows)} |")
    lines += ["", "## Absent, and why", "", "| name | reason |", "|---|---|"]
    by_reason: dict = {}
    for group, path, why, inside in report.rows:
        if why is not None and not inside:
            by_reason.setdefault(why, []).append(path)
    lines += [f"| {', '.join(f'`{path}`' for path in paths)} | {why} |" for why, paths in by_reason.items()]
    if report.arguments:
        lines += ["", "## Arguments by another name", "", "By position they are the same; by keyword these are missing.", "", "| function | arguments |", "|---|---|"]
        lines += [f"| `{path}` | {', '.join(names)} |" for path, names in report.arguments]
    lines += ["", "## Present", ""]
    for group, rows in groups.items():
        names = [path.rpartition(".")[2] for path, why, inside in rows if why is None and not inside]
        if names and not re.fullmatch(r"opset\d+\.ops", group):
            lines.append(f"- **{group}**: {', '.join(f'`{name}`' for name in names)}")
    lines += ["", "## Machinery of the wheel", "", "| module | names | reason |", "|---|---|---|"]
    for group, rows in groups.items():
        if rows[0][2]:
            why = next((why for _, why, _ in rows if why), "present")
            lines.append(f"| {group} | {len(rows)} | {why} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    try:
        version = importlib.import_module("openvino").__version__.partition("-")[0]
    except ImportError as error:
        sys.exit(f"names.py compares with an installed OpenVINO: {error}")
    report = collect()
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else OUTPUT
    output.write_text(page(report, version))
    present, count = report.share()
    print(f"{present} of {count} names, {100 * present / count:.1f} %; {len(report.arguments)} functions with other arguments")
    if report.unexplained:
        sys.exit(f"absent without a reason in tenon/openvino/_absent.py: {', '.join(report.unexplained[:50])}")


if __name__ == "__main__":
    main()
