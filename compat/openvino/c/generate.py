#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes OpenVINO's C API from api/*.toml, of which each file is one header.

    generate.py HEADERS SOURCES    writes openvino/c/*.h into the one folder, functions.cpp, two lists of exports and use.c into the other
    generate.py --names            prints {"header": {"functions": [...], "types": [...], "values": [...], "keys": [...]}} as JSON
    generate.py --page [--write]   whether the guide's table is what the headers have; or writes it
    generate.py --compare FOLDER   whether the original's headers in FOLDER declare the same

Entries of a file: header, about, needs = [headers], prelude = text, handles = [tags], keys = [[variable, value]], and
  [[enum]]      name, about, values, step = 1. The first value is 0.
  [[struct]]    name, about, tag, fields = [declarations]
  [[callback]]  name, about, declare: what stands after typedef
  [[function]]  declare, about, unicode, and what it does. It gives ov_status_e where declare names no other type. NULL is refused for a
                pointer, except where its name ends with "?"; `also` has to be true, too. Then one of
      gives     an expression, which goes to the last pointer that is written to,
      does      statements, whose exceptions become a status, with `list` for variable arguments,
      body      the whole function: nothing is checked.
"""
import argparse
import json
import pathlib
import re
import sys
import textwrap
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
PAGE = HERE.parents[2] / "docs/guide/coming_from_openvino.md"
MARKS = ("<!-- C headers: made by compat/openvino/c/generate.py -->\n", "<!-- end of C headers -->\n")
HEAD = "/* SPDX-License-Identifier: Apache-2.0\n   {}\n   Made by compat/openvino/c/generate.py. */\n"
BY_HAND = {"deprecated.h": "marks of what is deprecated", "openvino.h": "all of these"}  # In include/openvino/c.


class Function:
    def __init__(self, entry):
        match = re.fullmatch(r"(?:(.+?) )?(ov_\w+)\((.*)\)", entry["declare"])
        self.returns, self.name, params = match[1] or "ov_status_e", match[2], match[3]
        self.entry = entry
        self.variadic = params.endswith(", ...")
        self.params = []  # (declaration, name, is a pointer, may be NULL)
        for param in re.sub(r", \.\.\.$", "", params).split(", ") if params else []:
            optional = param.endswith("?")
            param = param.rstrip("?")
            name = re.search(r"\w+$", param)[0]
            pointer = "*" in param or param.startswith("ov_util_log_callback_func")
            self.params.append((param, name, pointer, optional))

    def types(self):
        return [re.sub(r" ?\w+$", "", param) for param, _, _, _ in self.params] + (["..."] if self.variadic else [])

    def parameters(self):
        return ", ".join([param for param, _, _, _ in self.params] + (["..."] if self.variadic else [])) or "void"

    def declaration(self):
        text = f"OPENVINO_C_API({self.returns}) {self.name}({self.parameters()}) OV_TENON_NAME({self.name});"
        text = "\n".join(textwrap.wrap(f"/** {self.entry['about']} */", 118)) + "\n" + "\n".join(textwrap.wrap(text, 118, subsequent_indent="    "))
        return f"#ifdef OPENVINO_ENABLE_UNICODE_PATH_SUPPORT\n{text}\n#endif" if self.entry.get("unicode") else text

    def definition(self):
        head = f"{self.returns} {self.name}({self.parameters() if self.params else ''}) {{\n"
        if "body" in self.entry:
            needed = [name for _, name, pointer, optional in self.params if pointer and not optional]
            check = f"  if (!({' && '.join(needed)})) return INVALID_C_PARAM;\n" if needed and self.returns == "ov_status_e" else ""
            return head + check + textwrap.indent(self.entry["body"].rstrip(), "  ") + "\n}\n"
        needed = [name for _, name, pointer, optional in self.params if pointer and not optional]
        needed += [self.entry["also"]] if "also" in self.entry else []
        lines = [f"if (!({' && '.join(needed)})) return INVALID_C_PARAM;"]
        out = [name for param, name, pointer, _ in self.params if pointer and not param.startswith("const")]
        does = f"give({out[-1]}, {self.entry['gives']});" if "gives" in self.entry else self.entry["does"].rstrip()
        does = "\n".join(["[&] {", textwrap.indent(does, "  "), "}"]) if "\n" in does else f"[&] {{ {does} }}"
        if self.variadic:
            lines += ["va_list list;", f"va_start(list, {self.params[-1][1]});", f"const ov_status_e status = guarded({does});", "va_end(list);", "return status;"]
        else:
            lines.append(f"return guarded({does});")
        return head + textwrap.indent("\n".join(lines), "  ") + "\n}\n"


class Header:
    def __init__(self, path):
        self.entry = tomllib.loads(path.read_text())
        self.name = self.entry["header"]
        self.functions = [Function(each) for each in self.entry.get("function", [])]
        self.enums, self.structs = self.entry.get("enum", []), self.entry.get("struct", [])
        self.callbacks, self.handles = self.entry.get("callback", []), self.entry.get("handles", [])
        self.keys = self.entry.get("keys", [])

    def types(self):
        return [f"{each}_t" for each in self.handles] + [each["name"] for each in self.enums + self.callbacks + self.structs]

    def text(self):
        parts = [HEAD.format(self.entry["about"]) + "#pragma once\n"]
        if self.entry["needs"]:
            parts.append("\n".join(f'#include "openvino/c/{each}"' for each in self.entry["needs"]) + "\n")
        parts += [self.entry["prelude"]] if "prelude" in self.entry else []
        parts += [f"/** {each['about']} */\ntypedef {each['declare']};\n" for each in self.callbacks]
        for enum in self.enums:
            values = ", ".join(f"{value} = {index * enum.get('step', 1)}" for index, value in enumerate(enum["values"]))
            parts.append(f"/** {enum['about']} */\ntypedef enum {{\n" + "\n".join(textwrap.wrap(values, 110, initial_indent="    ", subsequent_indent="    "))
                         + f"\n}} {enum['name']};\n")
        for struct in self.structs:
            tag = f" {struct['tag']}" if "tag" in struct else ""
            parts.append(f"/** {struct['about']} */\ntypedef struct{tag} {{\n" + "".join(f"    {field};\n" for field in struct["fields"]) + f"}} {struct['name']};\n")
        parts += ["".join(f"typedef struct {each} {each}_t;\n" for each in self.handles)] if self.handles else []
        parts += ["".join(f"OPENVINO_C_VAR(const char*) {name} OV_TENON_NAME({name}); /**< \"{value}\" */\n" for name, value in self.keys)] if self.keys else []
        parts += [function.declaration() + "\n" for function in self.functions]
        return "\n".join(parts)


def read():
    """All headers; those that others need come first."""
    headers = {header.name: header for header in (Header(path) for path in sorted((HERE / "api").glob("*.toml")))}
    order = []

    def add(name):
        if name in order or name not in headers:
            return
        for each in headers[name].entry["needs"]:
            add(each)
        order.append(name)
    for name in headers:
        add(name)
    return [headers[name] for name in order]


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def keys_of(headers):
    return {name: value for header in headers for name, value in header.keys}


def source(headers):
    text = HEAD.format("The functions, and the same under the original's linker names.") + '#include "support.hpp"\n\nusing namespace ov_c;\n\nextern "C" {\n'
    text += "".join(f'const char* {name} = "{value}";\n' for name, value in keys_of(headers).items()) + "\n"
    names = [function.name for header in headers for function in header.functions]
    text += "\n".join(function.definition() for header in headers for function in header.functions)
    alias = '__asm__("{0}") __attribute__((alias("tenon_{0}"), visibility("default")))'
    text += "\n" + "".join(f"extern decltype({each}) plain_{each} {alias.format(each)};\n" for each in names)
    text += "".join(f"extern const char* plain_{each} {alias.format(each)};\n" for each in keys_of(headers))
    return text + '}  // extern "C"\n'


def use(headers):
    """A program that uses each name: types by a size, functions by a pointer of the type that the table says."""
    text = HEAD.format("Uses each name of the C API.") + "#include <stdio.h>\n#include <openvino/c/openvino.h>\n"
    text += "#include <openvino/c/gpu/gpu_plugin_properties.h>\n#include <openvino/c/ov_prepostprocess.h>\n\nint main(void) {\n  int wrong = 0;\n"
    count = 0
    for header in headers:
        for name in header.types():
            opaque = name in [f"{each}_t" for each in header.handles] or name == "encryption_func"
            text += f"  wrong += sizeof({name}{'*' if opaque else ''}) == 0;\n"
        for enum in header.enums:
            for index, value in enumerate(enum["values"]):
                text += f"  wrong += (int){value} != {index * enum.get('step', 1)};\n"
        for struct in header.structs:
            fields = [re.search(r"\* (\w+)\)|(\w+)$", re.sub(r"\{.*?\}", "", field)) for field in struct["fields"]]
            fields = [field[1] or field[2] for field in fields]
            text += "".join(f"  wrong += sizeof((({struct['name']}*)0)->{field}) == 0;\n" for field in fields)
        for function in header.functions:
            count += 1
            text += f"  {{\n    {function.returns} (*function)({', '.join(function.types()) or 'void'}) = &{function.name};\n    wrong += function == 0;\n  }}\n"
    for name, value in keys_of(headers).items():
        count += 1
        length = len(value)
        text += f"  {{\n    const char* expected = \"{value}\";\n    int i;\n    for (i = 0; i <= {length}; ++i) wrong += {name}[i] != expected[i];\n  }}\n"
    return text + f'  printf("{count} functions and keys, %d wrong\\n", wrong);\n  return wrong != 0;\n}}\n'


def names(headers):
    found = {}
    for header in headers:
        found[f"openvino/c/{header.name}"] = {
            "functions": [each.name for each in header.functions], "types": header.types(),
            "values": [value for enum in header.enums for value in enum["values"]], "keys": [name for name, _ in header.keys]}
    for name in BY_HAND:
        found[f"openvino/c/{name}"] = {"functions": [], "types": [], "values": [], "keys": []}
    return found


def page(headers):
    lines = ["| header | functions and keys | absent |", "|---|---|---|"]
    for name, each in sorted(names(headers).items()):
        there = each["functions"] + each["keys"]
        lines.append(f"| `{name}` | {BY_HAND.get(name.rpartition('/')[2]) or ' '.join(f'`{one}`' for one in there)} | |")
    return MARKS[0] + "\n".join(lines) + "\n" + MARKS[1]


def compare(headers, folder):
    """What the original's headers declare and ours do not, and the other way round."""
    wrong = []

    def plain(text):
        text = re.sub(r"\bconst (size_t|int32_t|int64_t|ov_\w+)(?= \w+[,)])", r"\1", re.sub(r"\s+", " ", text).strip())
        return text.replace("* const ", "* ").replace("(void)", "()").replace("( ", "(")
    theirs, ours = set(), set()
    for path in sorted(folder.rglob("*.h")):
        header = path.relative_to(folder).as_posix()
        text = re.sub(r"//.*", "", re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S))
        theirs |= {f"{header}: {plain(f'{returns} {name}({params})')}" for returns, name, params in re.findall(r"OPENVINO_C_API\(([^)]*)\)\s*(\w+)\(([^;]*)\);", text)}
        theirs |= {f"{header}: {name}" for name in re.findall(r"OPENVINO_C_VAR\(const char\*\)\s*(\w+);", text)}
        theirs |= {f"{header}: type {name}" for name in re.findall(r"^\}\s*(\w+);|^typedef struct \w+ (\w+);", text, re.M) for name in name if name}
    for header in headers:
        ours |= {f"{header.name}: {plain(f'{each.returns} {each.name}({each.parameters()})')}" for each in header.functions}
        ours |= {f"{header.name}: {name}" for name, _ in header.keys}
        ours |= {f"{header.name}: type {name}" for name in header.types() if name not in [each["name"] for each in header.callbacks]}
    wrong += [f"the original alone: {each}" for each in sorted(theirs - ours)] + [f"here alone: {each}" for each in sorted(ours - theirs)]
    return wrong, len(theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*")
    parser.add_argument("--names", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--compare", metavar="FOLDER")
    options = parser.parse_args()
    headers = read()
    if options.names:
        print(json.dumps(names(headers), indent=1))
    elif options.page:
        text = PAGE.read_text()
        start, end = (text.find(mark) for mark in MARKS)
        expected = text[:start] + page(headers) + text[end + len(MARKS[1]):]
        if start < 0 or end < 0:
            sys.exit(f"{PAGE.name} has no place for the table of C headers: {MARKS[0].strip()}")
        if options.write:
            write(PAGE, expected)
        elif text != expected:
            sys.exit(f"{PAGE.name} does not say what the C headers have: python3 compat/openvino/c/generate.py --page --write")
    elif options.compare:
        wrong, count = compare(headers, pathlib.Path(options.compare))
        print("\n".join(wrong) or f"{count} declarations are the original's")
        sys.exit(1 if wrong or not count else 0)
    else:
        to, out = (pathlib.Path(folder) for folder in options.folders)
        for header in headers:
            write(to / "openvino/c" / header.name, header.text())
        write(out / "functions.cpp", source(headers))
        write(out / "use.c", use(headers))
        write(out / "exports.map", "{ global: tenon_ov_*; local: *; };\n")
        write(out / "exportsplain.map", "{ global: ov_*; local: *; };\n")


if __name__ == "__main__":
    main()
