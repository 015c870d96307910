#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/reference/python.md and python_media.md, from the package's stubs and docstrings.

    reference.py PACKAGE          writes the pages, which are in git because they are read there
    reference.py PACKAGE --check  exits with 1 if they are out of date, or a name of the package has no place in them

PACKAGE is the folder of the built package tenon, whose stubs stubs.py wrote. Nothing of it is run. A docstring names its exceptions after
"@errors": "KIND: when; OTHER: when".
"""
from __future__ import annotations

import ast
import pathlib
import re
import sys
import textwrap
from typing import Iterator, Optional

PAGES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "reference"
WIDTH = 140
Entry = ast.stmt
HEAD = """# {title}

Made by `bindings/python/reference.py` from the package's stubs and docstrings; a test compares it. Members without a text are OpenVINO's
names, and do what they do there.
{about}

An argument of type `object` takes what its text says, and raises TypeError for all else. Exceptions are those of
[tenon.errors](python.md#exceptions); each is also the built-in exception that Python has for its kind. Calls that wait let other
threads of Python run, and Ctrl-C ends the waits that can be long. Objects may be used by any thread; where a call has an object for
itself, its text says so.

"""
# Pages, their parts, and the names in each part: of the package, or of one of its modules.
PARTS = {
    "python.md": ("Python interface: the runtime", "[The guide](../guide/python.md) says how to use it; [memory and media](python_media.md) are a page of\n"
                  "their own, as are [OpenVINO's names](python_openvino_names.md).", [
        ("Reading and compiling", "compile_model read_model save_model serialize core Core CompiledModel"),
        ("Running", "InferRequest OVDict AsyncInferQueue VariableState ProfilingInfo"),
        ("Models", "Model Output ConstOutput Node Parameter Constant Result make_node"),
        ("Shapes, types and layouts", "Shape PartialShape Dimension Type Layout layout_helpers"),
        ("Steps before and after a model", "preprocess"),
        ("Properties", "properties"),
        ("Exceptions", "errors"),
        ("Versions and what is absent", "get_version Version absent"),
    ]),
    "python_media.md": ("Python interface: memory and media", "[Videos and pipelines](../guide/python_video.md) and [tasks](../guide/python_tasks.md) say how to\n"
                        "use it; models and requests are in [the runtime](python.md).", [
        ("Tensors", "Tensor from_dlpack RemoteContext RemoteTensor"),
        ("Ways between memories", "map explain contexts Router ZeroCopy"),
        ("What was copied", "ledger LedgerScope Ledger start_trace write_trace"),
        ("Frames", "open Video Frame Detections Detection"),
        ("Pipelines", "Pipeline elements"),
        ("Elements in Python", "Source Transform Sink register_element"),
        ("GStreamer", "gstreamer"),
        ("Ray", "ray"),
        ("KServe", "serve"),
    ]),
}
MODULES = ("layout_helpers", "preprocess", "properties", "errors", "gstreamer", "ray", "serve")
KIND = re.compile(r"(?<![`.\w])((?:[A-Z]\w+)?(?:Error|Missing\w+|Invalid\w+|DeadlineExceeded|NotFound|AlreadyExists|PermissionDenied|Unimplemented|Unavailable"
                  r"|ResourceExhausted|FailedPrecondition|Busy|Cancelled|Aborted|OutOfRange|Internal|DataLoss|StopIteration))\b")
OPERATORS = {"__len__": "len()", "__iter__": "iteration", "__aiter__": "`async for`", "__getitem__": "indexing", "__setitem__": "assignment by index",
             "__enter__": "`with`", "__eq__": "==", "__hash__": "hash()", "__array__": "numpy.asarray()", "__bool__": "bool()", "__add__": "arithmetic",
             "__str__": "str()", "__dlpack__": "DLPack", "__copy__": "copy.copy()", "__cuda_array_interface__": "`__cuda_array_interface__`"}


class Package:
    """The package's sources and stubs as trees."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        self.trees: dict = {}
        top = self.tree("__init__")
        self.origins: dict = {}  # By public name: the module that has it.
        self.names: list = []
        for node in top.body:
            if isinstance(node, ast.ImportFrom) and node.level == 1:
                for alias in node.names:
                    self.origins[alias.asname or alias.name] = (node.module or alias.name, alias.name)
            elif isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
                self.names = ast.literal_eval(node.value)

    def tree(self, module: str) -> ast.Module:
        """@errors SystemExit: there is no such file, such as a stub that was not made"""
        if module not in self.trees:
            places = [self.folder / f"{module}.py", self.folder / module / "__init__.pyi", self.folder / f"{module}.pyi"]
            found = next((each for each in places if each.exists()), None)
            if not found:
                sys.exit(f"reference.py: {self.folder} has no {module}: build the target tenon_python_stubs")
            text = found.read_text()
            self.trees[module] = ast.parse(text)
            for node in ast.walk(self.trees[module]):  # What a comment behind it says of a field.
                if isinstance(node, ast.AnnAssign):
                    node.about = text.splitlines()[node.end_lineno - 1].partition("  #")[2].lstrip(": ")
        return self.trees[module]

    def named(self, name: str) -> list:
        """The definitions of a public name: one, or each overload of a function."""
        module, own = self.origins.get(name, ("__init__", name))
        found = [node for node in self.tree(module).body if getattr(node, "name", None) == own]
        if not found:
            sys.exit(f"reference.py: {module} has no definition of {name}")
        return found

    def home(self, name: str) -> ast.Module:
        return self.tree(self.origins.get(name, ("__init__",))[0])

    def module(self, name: str) -> ast.Module:
        return self.tree(f"_native/{name}" if (self.folder / "_native" / f"{name}.pyi").exists() else name)


class Types(ast.NodeTransformer):
    """Types as a reader writes them: X | None, without the names of modules."""

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return self.visit(ast.parse(node.value, mode="eval").body) if isinstance(node.value, str) else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return ast.Name(node.attr)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name({"_Any": "Any", "_Optional": "Optional", "_Array": "numpy.ndarray", "_DType": "numpy.dtype"}.get(node.id, node.id))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        kind = self.visit(node.value)
        if kind.id == "Literal":
            return ast.Subscript(kind, node.slice, ast.Load())
        inner = self.visit(node.slice)
        if kind.id in ("numpy.ndarray", "numpy.dtype"):
            return kind
        parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if kind.id == "Optional":
            parts = [*parts, ast.Constant(None)]
        if kind.id in ("Optional", "Union"):
            parts = [each for each in parts if ast.unparse(each) != "None"] + [ast.Constant(None)] * any(ast.unparse(each) == "None" for each in parts)
            whole = parts[0]
            for each in parts[1:]:
                whole = ast.BinOp(whole, ast.BitOr(), each)
            return whole
        return ast.Subscript(kind, inner, ast.Load())


def type_text(node: Optional[ast.expr]) -> str:
    return ast.unparse(ast.fix_missing_locations(Types().visit(ast.parse(ast.unparse(node), mode="eval").body))) if node else ""


def signature(function: ast.AST, name: str, is_member: bool) -> str:
    """name(argument: type = default, ...) -> type"""
    given = function.args
    parts, positional = [], [*given.posonlyargs, *given.args]
    defaults = [None] * (len(positional) - len(given.defaults)) + list(given.defaults)
    is_static = any(getattr(each, "id", "") == "staticmethod" for each in function.decorator_list)
    if is_member and not is_static:
        positional, defaults = positional[1:], defaults[1:]

    def add(argument: ast.arg, default: Optional[ast.expr], prefix: str = "") -> None:
        kind = type_text(argument.annotation)
        value = "" if default is None else (" = " if kind else "=") + ast.unparse(default)
        parts.append(prefix + argument.arg + (f": {kind}" if kind else "") + value)

    for number, (argument, default) in enumerate(zip(positional, defaults)):
        if re.fullmatch(r"arg\d*", argument.arg):
            argument = ast.arg("value", argument.annotation)
        add(argument, default)
        if number + 1 == len(given.posonlyargs) - (is_member and not is_static) and number + 1 > 0 and isinstance(function, ast.FunctionDef) and number + 1 < len(positional):
            parts.append("/")
    if given.vararg:
        add(given.vararg, None, "*")
    elif given.kwonlyargs:
        parts.append("*")
    for argument, default in zip(given.kwonlyargs, given.kw_defaults):
        add(argument, default)
    if given.kwarg:
        add(given.kwarg, None, "**")
    result = type_text(function.returns)
    if "contextmanager" in decorators(function):
        result = re.sub(r"^Iterator\[(.*)\]$", r"context manager of \1", result)
    start = "await " if isinstance(function, ast.AsyncFunctionDef) or result.startswith("Coroutine[") else ""
    result = re.sub(r"^Coroutine\[Any, Any, (.*)\]$", r"\1", result)
    return f"{start}{name}({', '.join(parts)})" + (f" -> {result}" if result and result != "None" else "")


def decorators(function: ast.AST) -> set:
    return {ast.unparse(each) for each in function.decorator_list}


def escaped(text: str) -> str:
    """Prose, whose < and * are no HTML and no emphasis."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if number % 2 else part.replace("<", "&lt;").replace("*", "\\*") for number, part in enumerate(parts))


def prose(text: Optional[str], indent: str = "") -> list:
    """A docstring as lines of Markdown: paragraphs, blocks of code, and its exceptions at the end."""
    if not text:
        return []
    text, _, errors = text.strip().partition("@errors")
    lines: list = []
    for paragraph in re.split(r"\n\s*\n", text):
        if re.match(r" {4}", paragraph) and lines[-1:] == [indent + "```"]:
            lines[-1:] = ["", *(indent + each for each in textwrap.dedent(paragraph).splitlines()), indent + "```"]
        elif re.match(r" {4}", paragraph):
            lines += ["", indent + "```text", *(indent + each for each in textwrap.dedent(paragraph).splitlines()), indent + "```"]
        elif paragraph.strip():
            lines += [""] * bool(lines) + textwrap.wrap(escaped(" ".join(paragraph.split())), WIDTH, initial_indent=indent, subsequent_indent=indent,
                                                        break_long_words=False, break_on_hyphens=False)
    if errors:
        kinds = [each.strip().rstrip(".") for each in " ".join(errors.split()).split(";")]
        words = "; ".join(KIND.sub(r"`\1`", escaped(each)) for each in kinds)
        lines += textwrap.wrap(f"Raises {words}.", WIDTH, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return lines


def is_public(name: str) -> bool:
    return not name.startswith("_")


def bullet(heads: list, text: Optional[str], more: str = "") -> list:
    """A member: each way to call it, what else is said of it, and its text."""
    lines = prose(text, "  ")
    joined = "; ".join(f"`{head}`" for head in heads) + more
    if not lines:
        return [f"- {joined}"]
    return [f"- {joined}:", *lines]


def members(tree: ast.Module, kind: ast.ClassDef) -> Iterator[tuple]:
    """(name, definitions) of a class of a module in the order of its source, those of private classes that it derives from first."""
    grouped: dict = {}
    for base in kind.bases:
        for node in tree.body:
            if isinstance(base, ast.Name) and base.id.startswith("_") and isinstance(node, ast.ClassDef) and node.name == base.id:
                grouped.update(members(tree, node))
    for node in kind.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if any(each.endswith(".setter") for each in decorators(node)):
                grouped[node.name][0].is_set = True
            elif "property" in decorators(node) or node.name not in grouped:
                grouped[node.name] = [node]
            else:
                grouped[node.name].append(node)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            grouped[node.target.id] = [node]
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            grouped[node.targets[0].id] = [node]
    yield from grouped.items()


def text_for(name: str, nodes: list, known: set) -> Optional[str]:
    """The docstring of the first definition that has one; OpenVINO's getters are described where their property is."""
    found = next((text for node in nodes if not isinstance(node, (ast.Assign, ast.AnnAssign)) and (text := ast.get_docstring(node))), None)
    plain = name.partition("_")[2]
    if not found and name.startswith(("get_", "set_")) and plain in known:
        return f"As `{plain}`."
    return found


def class_lines(tree: ast.Module, kind: ast.ClassDef, level: str) -> list:
    lines = [f"{level} {kind.name}", *prose(ast.get_docstring(kind)), ""]
    grouped = dict(members(tree, kind))
    bases = [type_text(base) for base in kind.bases if is_public(ast.unparse(base).rpartition(".")[2]) and ast.unparse(base) not in ("object", "Enum", "enum.Enum")]
    if bases:
        lines += [f"Derives from {', '.join(f'`{each}`' for each in bases)}.", ""]
    makers = [node for name in ("__init__", "__new__") for node in grouped.get(name, [])
              if not (node.args.vararg and not node.args.kwonlyargs and len(node.args.args) <= 1)]
    for node in makers:
        text = ast.get_docstring(node) or ""
        lines += bullet([signature(node, kind.name, True).partition(" -> ")[0]], None if text.startswith("Initialize self") else text)
    constants, known = [], set(grouped)
    for name, nodes in grouped.items():
        first = nodes[0]
        if not is_public(name) and name != "__call__":
            continue
        text = text_for(name, nodes, known)
        if isinstance(first, (ast.Assign, ast.AnnAssign)):
            shown = type_text(first.annotation) if isinstance(first, ast.AnnAssign) else ""
            if shown and not name.isupper() and not shown.startswith(("Final[", "TypeAlias")) and shown != kind.name:
                is_known = first.value and ast.unparse(first.value) != "..." and not ast.unparse(first.value).startswith("field(")
                lines += bullet([f"{name}: {shown}" + (f" = {ast.unparse(first.value)}" if is_known else "")], first.about)
            else:
                constants.append(f"`{name}`")
        elif "property" in decorators(first):
            lines += bullet([f"{name}: {type_text(first.returns) or 'Any'}"], text, ", which can be set" if getattr(first, "is_set", False) else "")
        else:
            prefix = f"{kind.name}." if "staticmethod" in decorators(first) or "classmethod" in decorators(first) else ""
            lines += bullet(list(dict.fromkeys(signature(each, prefix + name, True) for each in nodes)), text)
    if constants:
        lines += textwrap.wrap("- Members: " + ", ".join(constants) + ".", WIDTH, subsequent_indent="  ")
    operators = [shown for name, shown in OPERATORS.items() if name in grouped]
    if operators:
        lines += [f"- It has {', '.join(operators)}."]
    return [*lines, ""]


def function_lines(nodes: list, name: str, level: str) -> list:
    heads = list(dict.fromkeys(signature(each, name, False) for each in nodes))
    return [f"{level} {name}", "```text", *(line for head in heads for line in wrapped_signature(head)), "```",
            *prose(next((text for node in nodes if (text := ast.get_docstring(node))), None)), ""]


def wrapped_signature(head: str) -> list:
    """Lines that end behind arguments."""
    lines = [""]
    for part in re.split(r"(?<=,) ", head):
        if lines[-1] and len(lines[-1]) + len(part) > WIDTH - 20:
            lines.append("    " + part)
        else:
            lines[-1] += (" " if lines[-1] else "") + part
    return lines


def module_lines(package: Package, name: str) -> list:
    """What a module of the package has."""
    tree = package.module(name)
    lines = [f"### tenon.{name}", *prose(ast.get_docstring(tree)), ""]
    grouped: dict = {}
    wanted = None
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__" and name not in ("properties",):
            wanted = set(ast.literal_eval(node.value))
    constants: list = []
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level == 1 and wanted:
            for each in package.tree(node.module or "__init__").body:
                if isinstance(each, (ast.ClassDef, ast.FunctionDef)) and each.name in wanted & {alias.name for alias in node.names}:
                    grouped.setdefault(each.name, []).append(each)
        elif isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) and is_public(node.name):
            grouped.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            constants += property_names(package, node)
    for title, nodes in grouped.items():
        if wanted is not None and title not in wanted:
            continue
        lines += class_lines(tree, nodes[0], "####") if isinstance(nodes[0], ast.ClassDef) else function_lines(nodes, title, "####")
    if constants:
        lines += ["| name | key |", "|---|---|", *(f"| `{own}` | {key} |" for own, key in constants if own[-1:] != ":"), ""]
        lines += ["| values | |", "|---|---|", *(f"| `{own[:-1]}` | {key} |" for own, key in constants if own[-1:] == ":"), ""]
    return lines


def property_names(package: Package, node: ast.Assign) -> list:
    """(name, key) of properties: name = Property("KEY"), or a namespace of such; and (name + ":", values) of enumerations in it."""
    call, own = node.value, ast.unparse(node.targets[0])
    kind = ast.unparse(call.func)
    if kind == "Property":
        return [(own, ast.literal_eval(call.args[0]))]
    if kind != "_Namespace":
        return []
    found = [(f"{own}.{each.arg}", ast.literal_eval(each.value.args[0])) for each in call.keywords
             if isinstance(each.value, ast.Call) and ast.unparse(each.value.func) == "Property"]
    for each in call.keywords:
        if isinstance(each.value, ast.Attribute) and ast.unparse(each.value.value) == "_enums":
            kind, = (one for one in package.tree("_enums").body if isinstance(one, ast.ClassDef) and one.name == each.value.attr)
            found.append((f"{own}.{each.arg}:", ", ".join(f"`{one.targets[0].id}`" for one in kind.body if isinstance(one, ast.Assign))))
    return found


def part_lines(package: Package, title: str, names: str) -> list:
    lines = [f"## {title}"]
    for name in names.split():
        if name in MODULES:
            lines += module_lines(package, name)
            continue
        nodes = package.named(name)
        lines += class_lines(package.home(name), nodes[0], "###") if isinstance(nodes[0], ast.ClassDef) else function_lines(nodes, name, "###")
    return lines


def page(package: Package, file: str) -> str:
    title, about, parts = PARTS[file]
    index = [f"- [{name}](#{re.sub(r'[^a-z0-9 -]', '', name.lower()).replace(' ', '-')}): {', '.join(f'`{each}`' for each in names.split())}" for name, names in parts]
    lines = [line for name, names in parts for line in part_lines(package, name, names)]
    text = HEAD.format(title=title, about=about) + "\n".join([*index, "", *lines])
    return re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"


def unplaced(package: Package) -> list:
    """Names that the package has and no page."""
    placed = [name for _, _, parts in PARTS.values() for _, names in parts for name in names.split()]
    placed += [node.name for node in package.module("errors").body if isinstance(node, ast.ClassDef) and node.name in package.names]
    twice = sorted({name for name in placed if placed.count(name) > 1})
    return [name for name in package.names if name not in placed] + twice


def main() -> int:
    package = Package(pathlib.Path(sys.argv[1]).resolve())
    if wrong := unplaced(package):
        sys.exit(f"reference.py: each name stands in one part of PARTS; not so: {', '.join(wrong)}")
    old = []
    for file in PARTS:
        text = page(package, file)
        if "--check" not in sys.argv[2:]:
            (PAGES / file).write_text(text)
        elif not (PAGES / file).exists() or (PAGES / file).read_text() != text:
            old.append(file)
    if old:
        print(f"not what the package's stubs and docstrings say: {', '.join(old)}; run bindings/python/reference.py {sys.argv[1]}")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main())
