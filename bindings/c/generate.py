#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates the C API's headers, reference and test tables from api/*.toml.

    generate.py                  writes docs/reference/c_api.md, which is in git
    generate.py --check          exits with 1 if that page is out of date
    generate.py --headers FOLDER writes the headers, and removes those that the description no longer has
    generate.py --tests FOLDER   writes the sources of c_api_test and the C99 test
    generate.py --stub FILE      writes a C file with the library's ABI and no content, for ./dev check abi
"""
import argparse
import dataclasses
import pathlib
import re
import sys
import textwrap
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
REFERENCE = HERE.parents[1] / "docs" / "reference" / "c_api.md"
WIDTH = 118
LICENCE = "SPDX-License-Identifier: Apache-2.0"
BUILT_IN = {"void", "char", "bool", "int32_t", "int64_t", "uint32_t", "uint64_t", "size_t", "ptrdiff_t", "double", "float"}


class DescriptionError(Exception):
    """An invalid entry in api/*.toml."""


@dataclasses.dataclass
class Param:
    type: str
    name: str
    null: str = ""
    count: str = ""
    direction: str = ""

    def __post_init__(self):
        if not self.direction:
            self.direction = "out" if self.name == "out" or self.name.startswith("out_") else "in"
        if self.direction not in ("in", "out", "inout"):
            raise DescriptionError(f"parameter {self.name}: no direction '{self.direction}'")

    @property
    def is_pointer(self):
        return self.type.endswith("*")

    @property
    def base(self):
        return re.sub(r"\bconst\b|\*", "", self.type).strip()

    def declared(self):
        return f"{self.type} {self.name}"


@dataclasses.dataclass
class Function:
    name: str
    doc: str
    group: "Group"
    returns: str = "tenon_status_t"
    params: list = dataclasses.field(default_factory=list)
    statuses: list = dataclasses.field(default_factory=list)
    since: str = ""
    thread: str = ""
    variadic: bool = False
    on_null: str = ""

    @property
    def gives_status(self):
        return self.returns == "tenon_status_t"

    def refuses_null(self, param, callbacks):
        """Whether NULL is refused for this parameter."""
        return (param.is_pointer or param.base in callbacks) and not param.null


@dataclasses.dataclass
class Group:
    key: str
    title: str
    doc: str = ""
    thread: str = ""
    enums: list = dataclasses.field(default_factory=list)
    handles: list = dataclasses.field(default_factory=list)
    structs: list = dataclasses.field(default_factory=list)
    callbacks: list = dataclasses.field(default_factory=list)
    macros: list = dataclasses.field(default_factory=list)
    functions: list = dataclasses.field(default_factory=list)


class Api:
    """The parsed and checked description."""

    def __init__(self, folder):
        top = tomllib.loads((folder / "api.toml").read_text())
        self.title, self.rules, self.since = top["title"], top["rules"].strip(), top["since"]
        self.groups = [self.read(folder / f"{key}.toml", key) for key in top["groups"]]
        self.functions = [f for g in self.groups for f in g.functions]
        self.handles = {h["name"]: h for g in self.groups for h in g.handles}
        self.callbacks = {c["name"]: c for g in self.groups for c in g.callbacks}
        self.structs = {s["name"]: s for g in self.groups for s in g.structs}
        self.enums = {e["name"]: e for g in self.groups for e in g.enums}
        self.home = {entry["name"]: g.key for g in self.groups
                     for entry in g.enums + g.structs + g.callbacks + g.handles + g.macros}
        for function in self.functions:
            function.thread = function.thread or self.thread_of(function)
        self.check(folder)

    def thread_of(self, function):
        """The default rule: reading may run concurrently, changing may not."""
        handles = [p for p in function.params if p.base in self.handles and p.direction == "in"]
        if any(not p.type.startswith("const") for p in handles):
            return "one call at a time per handle"
        return "any, while no other call changes the handle" if handles else "any"

    def read(self, path, key):
        raw = tomllib.loads(path.read_text())
        group = Group(key, raw.pop("title"), raw.pop("doc", "").strip(), raw.pop("thread", ""))
        group.enums, group.handles = raw.pop("enum", []), raw.pop("handle", [])
        group.structs, group.macros = raw.pop("struct", []), raw.pop("macro", [])
        group.callbacks = [dict(entry, params=[Param(**p) for p in entry.get("params", [])]) for entry in raw.pop("callback", [])]
        for entry in raw.pop("function", []):
            entry["doc"] = entry["doc"].strip()
            entry["params"] = [Param(**p) for p in entry.get("params", [])]
            group.functions.append(Function(group=group, **entry))
        for function in group.functions:
            function.thread = function.thread or group.thread
            function.since = function.since or self.since
        # Each handle has a free function at the end of its group.
        for handle in group.handles:
            if handle.get("free", True):
                doc = handle.get("free_doc", "Frees the handle.")
                param = Param(f"{handle['name']}*", handle["name"].removeprefix("tenon_").removesuffix("_t"), null="nothing happens")
                group.functions.append(Function(handle["name"].removesuffix("_t") + "_free", doc, group, "void", [param],
                                                since=handle.get("since", self.since), thread="any; the handle is not used any more"))
        if raw:
            raise DescriptionError(f"{path.name}: unknown keys {sorted(raw)}")
        return group

    def check(self, folder):
        files = {path.stem for path in folder.glob("*.toml")} - {"api"}
        if files != {g.key for g in self.groups}:
            raise DescriptionError(f"api.toml lists {sorted(g.key for g in self.groups)}, the folder has {sorted(files)}")
        known = BUILT_IN | set(self.home)
        statuses = {value[0].removeprefix("TENON_") for value in self.enums["tenon_status_t"]["values"]}
        seen = set()
        for function in self.functions:
            if function.name in seen or not re.fullmatch(r"tenon_[a-z0-9_]+", function.name):
                raise DescriptionError(f"{function.name}: named twice, or no name")
            seen.add(function.name)
            for param in function.params:
                if param.base not in known:
                    raise DescriptionError(f"{function.name}: unknown type {param.base}")
            for status in function.statuses:
                if status not in statuses:
                    raise DescriptionError(f"{function.name}: unknown status {status}")
            needs = not function.gives_status and function.returns != "void" and any(p.is_pointer and not p.null for p in function.params)
            if needs != bool(function.on_null):
                raise DescriptionError(f"{function.name}: on_null is {'missing' if needs else 'superfluous'}")


# ---- Headers ----


def comment(text, indent=""):
    """A C comment, wrapped."""
    lines = []
    for paragraph in text.strip().split("\n"):
        hang = "  " if paragraph.startswith("- ") else ""
        lines += textwrap.wrap(paragraph, WIDTH - 6 - len(indent), subsequent_indent=hang, break_on_hyphens=False) or [""]
    if len(lines) == 1:
        return f"{indent}/* {lines[0]} */"
    return "\n".join([f"{indent}/*"] + [f"{indent} * {line}".rstrip() for line in lines] + [f"{indent} */"])


def declaration(prefix, name, params, variadic=False):
    """A declaration, with a line break after a comma if it is too long."""
    parts = [p.declared() for p in params] + (["..."] if variadic else [])
    line = f"{prefix}{name}("
    text = line + (", ".join(parts) or "void") + ");"
    if len(text) <= WIDTH:
        return text
    rows, row = [], line
    for index, part in enumerate(parts):
        piece = part + (", " if index + 1 < len(parts) else ");")
        if len(row + piece.rstrip()) > WIDTH and row.strip():
            rows.append(row.rstrip())
            row = "    "
        row += piece
    return "\n".join(rows + [row])


def notes(function, callbacks):
    """The generated part of a doc comment: NULLs, arrays, statuses."""
    text = []
    for param in function.params:
        if param.count:
            text.append(f"{param.name}: {param.count} elements." if "bytes" not in param.count else f"{param.name}: {param.count}.")
        if param.null and function.returns != "void":
            text.append(f"{param.name} NULL: {param.null}.")
    if function.statuses:
        text.append("Statuses: " + ", ".join(function.statuses) + ".")
    return " ".join(text)


def header(api, group):
    guard = f"TENON_BINDINGS_C_{group.key.upper()}_H"
    used = set()
    for function in group.functions:
        used |= {p.base for p in function.params} | {re.sub(r"\bconst\b|\*", "", function.returns).strip()}
    for entry in group.structs:
        used |= {re.sub(r"\bconst\b|\*", "", field[0]).strip() for field in entry["fields"]}
        used |= set(re.findall(r"TENON_\w+", " ".join(field[1] for field in entry["fields"])))
    for entry in group.callbacks:
        used |= {p.base for p in entry["params"]} | {entry["returns"]}
    order = [g.key for g in api.groups]
    includes = {api.home[name] for name in used if name in api.home and name not in api.handles} - {group.key}
    includes = sorted(includes | ({"base"} if group.key != "base" else set()), key=order.index)
    out = [f"/* {LICENCE} */", f"/* {group.title}. Generated from api/{group.key}.toml by generate.py. */", "/* clang-format off */",
           f"#ifndef {guard}", f"#define {guard}", ""]
    if group.key == "base":
        out += ["#include <stdbool.h>", "#include <stddef.h>", "#include <stdint.h>", ""]
    out += [f"#include <tenon/bindings/c/{name}.h>" for name in includes] + ([""] if includes else [])
    out += ["#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
    if group.key == "base":
        out += [comment(api.rules), "", '#define TENON_C_API __attribute__((visibility("default")))', ""]
    if group.doc:
        out += [comment(group.doc), ""]
    if group.key == "base":
        out += ["/* Handles of all groups. */"]
        for entry in api.handles.values():
            out += [comment(entry["doc"]), f"typedef struct {entry['name'].removesuffix('_t')} {entry['name']};"]
        out += [""]
    out += types(group)
    for function in group.functions:
        more = notes(function, api.callbacks)
        out += [comment(function.doc.replace("\n", " ") + ("\n" + more if more else "")),
                declaration("TENON_C_API " + spaced(function.returns), function.name, function.params, function.variadic), ""]
    out += ["#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
    return "\n".join(out)


def spaced(type_name):
    return type_name + " "


def types(group):
    out = []
    for entry in group.macros:
        if entry.get("doc"):
            out.append(comment(entry["doc"]))
        line = f"#define {entry['name']} {entry['value']}"
        out.append(line if len(line) <= WIDTH else f"#define {entry['name']} \\\n  {entry['value']}")
    out += [""] if group.macros else []
    for entry in group.enums:
        out += [comment(entry["doc"]), f"typedef int32_t {entry['name']};", "enum {"]
        for index, (name, number, *doc) in enumerate(entry["values"]):
            comma = "," if index + 1 < len(entry["values"]) else ""
            out.append(f"  {name} = {number}{comma}" + (f" /* {doc[0]} */" if doc else ""))
        out += ["};", ""]
    for entry in group.structs:
        out += [comment(entry["doc"]), f"typedef struct {entry['name'].removesuffix('_t')} {{"]
        if not entry.get("plain"):
            out.append("  size_t struct_size;")
        for type_name, name, *doc in entry["fields"]:
            if doc and len(doc[0]) > 60:
                out.append(comment(doc[0], "  "))
                doc = []
            out.append(f"  {spaced(type_name)}{name};" + (f" /* {doc[0]} */" if doc else ""))
        out += [f"}} {entry['name']};", ""]
    for entry in group.callbacks:
        out += [comment(entry["doc"].replace("\n", " ")), declaration(f"typedef {entry['returns']} ", f"(*{entry['name']})", entry["params"]), ""]
    return out


def umbrella(api):
    out = [f"/* {LICENCE} */", f"/* {api.title}: models run on devices, over tensors and frames that lie where the caller has them. Generated. */",
           "/* clang-format off */", "#ifndef TENON_BINDINGS_C_TENON_H", "#define TENON_BINDINGS_C_TENON_H", ""]
    out += [f"#include <tenon/bindings/c/{group.key}.h>" for group in api.groups]
    return "\n".join(out + ["", "#endif", ""])


# ---- Reference ----


def reference(api):
    out = [f"# {api.title}", "", "Generated from `bindings/c/api/*.toml` by `bindings/c/generate.py`.",
           "Include `<tenon/bindings/c/tenon.h>`, or the header of one group; link `tenon::c` (`-ltenon_c`).", "", api.rules, "",
           "Any call that returns a status may give `INVALID_ARGUMENT` (a pointer that is NULL or no handle of its type) and "
           "`RESOURCE_EXHAUSTED`; others are listed.", ""]
    out += [f"- [{g.title}](#{anchor(g.title)}): {len(g.functions)} functions, `{g.key}.h`" for g in api.groups] + [""]
    for group in api.groups:
        out += [f"## {group.title}", ""] + ([group.doc.replace("\n", " "), ""] if group.doc else [])
        for entry in group.handles:
            out.append(f"- `{entry['name']}` (handle): {entry['doc']}")
        for entry in group.macros:
            out.append(f"- `{entry['name']}` = `{entry['value']}`" + (f": {entry['doc']}" if entry.get("doc") else ""))
        out += [""] if group.handles or group.macros else []
        for entry in group.enums:
            out += [f"**`{entry['name']}`**: {entry['doc']}", "", "| name | value | |", "|---|---|---|"]
            out += [f"| `{name}` | {number} | {doc[0] if doc else ''} |" for name, number, *doc in entry["values"]] + [""]
        for entry in group.structs:
            out += [f"**`{entry['name']}`**: {entry['doc']}" + ("" if entry.get("plain") else " Set `struct_size` first."), "", "| field | type | |", "|---|---|---|"]
            out += [f"| `{name}` | `{type_name}` | {doc[0] if doc else ''} |" for type_name, name, *doc in entry["fields"]] + [""]
        for entry in group.callbacks:
            signature = ", ".join(p.declared() for p in entry["params"])
            out += [f"**`{entry['name']}`**: `{entry['returns']} (*)({signature})`. {entry['doc'].strip()}", ""]
        for function in group.functions:
            out += entry_of(function, api)
    return "\n".join(out).rstrip() + "\n"


def anchor(title):
    return re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")


def entry_of(function, api):
    signature = declaration(spaced(function.returns), function.name, function.params, function.variadic)
    out = [f"### {function.name}", "", "```c", signature, "```", function.doc.replace("\n", " "), ""]
    for param in function.params:
        facts = []
        if param.direction != "in":
            facts.append(param.direction)
        if param.count:
            facts.append(f"array of {param.count}")
        if param.null:
            facts.append(f"NULL: {param.null}")
        if param.direction == "out" and param.type == "char**":
            facts.append("free with `tenon_string_free`")
        if param.direction == "out" and param.base in api.handles:
            facts.append(f"free with `{param.base.removesuffix('_t')}_free`")
        if facts:
            out.append(f"- `{param.name}`: " + "; ".join(facts))
    if function.gives_status and function.statuses:
        out.append("- Statuses: " + ", ".join(f"`{status}`" for status in function.statuses))
    if function.on_null and any(p.is_pointer for p in function.params):
        out.append(f"- With NULL, or a pointer that is no handle: `{function.on_null}`")
    out.append(f"- Threads: {function.thread}. Since {function.since}.")
    return out + [""]


# ---- Tables for tests ----


def good_argument(api, param):
    """An argument with valid pointers; `good` is the test's struct of valid handles."""
    if param.direction in ("out", "inout") and param.is_pointer:
        return f"good.out<{param.type.removesuffix('*').strip()}>()"
    if param.base in api.handles and param.type.count("*") == 1:
        return f"good.{param.base.removeprefix('tenon_').removesuffix('_t')}"
    if param.base in api.callbacks and param.null:
        return "nullptr"
    if param.base in api.callbacks:
        return f"good.{param.base.removeprefix('tenon_').removesuffix('_t')}_callback"
    if param.type == "const char*":
        return "good.text"
    if param.is_pointer:
        return f"good.in<{param.type.removesuffix('*').strip()}>()"
    return "1" if param.name in ("count", "path_length", "rank", "plane_count", "model_size") else "0"


def calls(api):
    """One call per pointer that a function refuses: NULL, and for handles also other memory."""
    out = [f"// {LICENCE}", "// Generated by generate.py --tests: each pointer of each function, wrong in turn.", ""]
    for function in api.functions:
        for index, param in enumerate(function.params):
            is_handle = param.base in api.handles and param.type.count("*") == 1
            is_free = function.returns == "void" and is_handle
            wrong = ["nullptr"] if function.refuses_null(param, api.callbacks) or is_free else []
            if is_handle and param.direction == "in":
                wrong.append(f"good.impostor<{param.base}>()")
            for value in wrong:
                arguments = [value if i == index else good_argument(api, p) for i, p in enumerate(function.params)]
                call = f"{function.name}({', '.join(arguments)})"
                what = f'"{function.name}", "{param.name}", {"true" if value == "nullptr" else "false"}'
                if function.gives_status:
                    out.append(f"REFUSED({what}, {call})")
                elif function.returns == "void":
                    out.append(f"IGNORED({what}, {call})")
                elif function.on_null == "NULL":
                    out.append(f"ANSWERED({what}, {call}, nullptr)")
                else:
                    out.append(f"ANSWERED({what}, {call}, {function.on_null})")
    return "\n".join(out) + "\n"


def symbols_c(api):
    out = [f"/* {LICENCE} */", "/* Generated by generate.py --tests: C99 sees every function and type. */", "#include <tenon/bindings/c/tenon.h>", "",
           "#include <stdio.h>", "", "typedef void (*any_function)(void);", "static const struct { const char* name; any_function function; } kFunctions[] = {"]
    out += [f'    {{"{f.name}", (any_function){f.name}}},' for f in api.functions]
    out += ["};", ""]
    for name, entry in api.structs.items():
        first = "struct_size" if not entry.get("plain") else entry["fields"][0][1]
        out.append(f"typedef char {name}_begins[offsetof({name}, {first}) == 0 ? 1 : -1];")
    out += ["", "int main(void) {", "  size_t i, missing = 0;",
            "  for (i = 0; i < sizeof kFunctions / sizeof *kFunctions; ++i) missing += kFunctions[i].function == 0;",
            '  printf("%d functions, version %s\\n", (int)(sizeof kFunctions / sizeof *kFunctions), tenon_version());',
            "  return missing != 0;", "}", ""]
    return "\n".join(out)


def stub(api):
    """The same functions and types without an implementation, for abidiff. Each enumerator is an array of (value + 1)
    bytes, because abidiff sees types but not the values of constants."""
    out = [f"/* {LICENCE} */", "/* Generated by generate.py --stub. */", "#include <tenon/bindings/c/tenon.h>", ""]
    for function in api.functions:
        prototype = declaration(spaced(function.returns), function.name, function.params, function.variadic).removesuffix(";")
        out.append(prototype + (" {}" if function.returns == "void" else " { return 0; }"))
    for entry in api.enums.values():
        out += [f"TENON_C_API char abi_{value[0]}[{value[0]} + 1];" for value in entry["values"]]
    for name in list(api.structs) + list(api.callbacks):
        out.append(f"TENON_C_API {name}* abi_type_{name};")
    return "\n".join(out) + "\n"


def write_headers(api, folder):
    """One header for each group and the one that includes them all; a file that is already right keeps its time."""
    files = {f"{group.key}.h": header(api, group) for group in api.groups} | {"tenon.h": umbrella(api)}
    for name, text in files.items():
        write_if_changed(folder / name, text)
    for path in folder.glob("*.h"):
        if path.name not in files:
            path.unlink()


def write_if_changed(path, text):
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--headers", type=pathlib.Path)
    parser.add_argument("--tests", type=pathlib.Path)
    parser.add_argument("--stub", type=pathlib.Path)
    options = parser.parse_args()
    try:
        api = Api(HERE / "api")
    except (DescriptionError, KeyError, TypeError, tomllib.TOMLDecodeError) as error:
        print(f"generate.py: bindings/c/api: {error}", file=sys.stderr)
        return 1
    if options.stub:
        write_if_changed(options.stub, stub(api))
    elif options.headers:
        write_headers(api, options.headers)
    elif options.tests:
        write_if_changed(options.tests / "c_api_calls.inc", calls(api))
        write_if_changed(options.tests / "c99_test.c", symbols_c(api))
    elif options.check:
        if not REFERENCE.exists() or REFERENCE.read_text() != reference(api):
            print(f"{REFERENCE.name} is not what api/*.toml gives; run python3 bindings/c/generate.py")
            return 1
        print(f"{len(api.functions)} functions: the reference is what the description gives")
    else:
        write_if_changed(REFERENCE, reference(api))
        print(f"{len(api.functions)} functions in {len(api.groups)} groups")
    return 0


if __name__ == "__main__":
    sys.exit(main())
