#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `tenon migrate` knows of other APIs, from the folders in compat/ that have a migrate.toml.

    names.py TABLES GENERATED             writes tables.inc into the folder TABLES: a JSON text for each API
    names.py --compare API GENERATED ORIGINAL
                                          whether each public name of the original's headers in ORIGINAL is here, or absent with a reason
    names.py --count API GENERATED ORIGINAL HEADER...
                                          for each of these headers, with all that it includes: how many public names of the original's are here, and
                                          how many are absent with a reason; those without one are an error
    names.py --use API GENERATED [ORIGINAL]
                                          prints a program that uses each name; with ORIGINAL, each that its headers have, too

migrate.toml says: title, namespace, headers = how includes begin, include = folders of headers ("@generated@" is the build's), page = the guide,
whose tables name the headers that are absent and what differs; use = [[what changes, the line]]; and
  [[absent]]    name (a pattern as in a shell), reason, instead: a class, function or property that is not declared here
  [[differs]]   name, reason: it is there, and behaves otherwise
  [[component]] name, reason, there: what find_package or target_link_libraries name
"""
import fnmatch
import json
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[3]
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|[A-Za-z_]\w*|\d[\w.\']*|::|->|\S')
# Not names of declarations, though they may stand before a parenthesis.
WORDS = {"if", "for", "while", "switch", "return", "sizeof", "alignof", "decltype", "noexcept", "static_assert", "operator", "explicit", "alignas",
         "const", "constexpr", "static", "inline", "virtual", "typename", "template", "auto", "void", "throw", "defined", "enable_if_t", "override"}


def tokens(text):
    text = re.sub(r"\\\n", " ", text)
    text = re.sub(r'//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*")', lambda match: match[1] or " ", text, flags=re.S)
    text = re.sub(r"^\s*#[^\n]*", "", text, flags=re.M)
    text = re.sub(r"\b(?:_?OPENVINO|OV_TENON|TENON_ENUM)_\w+\s*\((?:[^()]|\([^()]*\))*\)\s*;?|\b(?:OPENVINO|TENON)_(?:\w+_)?(?:API|EXPORTS|HIDDEN\w*|SUPPRESS\w*)\b", " ", text)
    text = re.sub(r"\[\[.*?\]\]", " ", text)
    return TOKEN.findall(text)


class Names:
    """The public declarations of headers: qualified names, with the keys of properties."""

    def __init__(self):
        self.kinds = {}  # Qualified name: "class", "enum", "value", "function", "method", "type", "variable", "macro".
        self.keys = {}   # Text of a property: qualified name.
        self.closed = set()  # Classes that none derives from: templates, and final ones.
        self.in_macros = set()  # Methods that macros declare in classes.

    def read(self, path):
        text = path.read_text(errors="replace")
        for name in re.findall(r"^#\s*define\s+((?:OPENVINO|OV)_\w+)", text, re.M):
            if not name.startswith("OV_TENON") and not name.endswith(("_H", "_HPP")):
                self.kinds.setdefault(name, "macro")
        for body in re.findall(r"^#\s*define\b(?:.*\\\n)*.*", text, re.M):
            self.in_macros.update(re.findall(r"\b([a-z]\w*)\(\)(?: const)?(?: \w+)? \{", body))
        self.words, self.at = tokens(text), 0
        self.scope([], "namespace", True)

    def put(self, where, name, kind):
        if re.fullmatch(r"[A-Za-z]\w*", name) and "detail" not in where and not name.startswith("OV_TENON"):
            self.kinds.setdefault("::".join(where + [name]), kind)

    def skip(self):
        """From an opening brace behind its closing one."""
        depth = 0
        while self.at < len(self.words):
            depth += {"{": 1, "}": -1}.get(self.words[self.at], 0)
            self.at += 1
            if depth == 0:
                return

    def scope(self, where, kind, public):
        declared = []
        while self.at < len(self.words):
            word = self.words[self.at]
            if word == "}":
                self.at += 1
                return
            if kind == "class" and word in ("public", "private", "protected") and self.words[self.at + 1:self.at + 2] == [":"]:
                public, declared = word == "public", []
                self.at += 2
            elif word == ";":
                self.declaration(where, kind, declared, public)
                declared = []
                self.at += 1
            elif word == "{" and declared.count("(") > declared.count(")"):
                self.skip()  # An argument.
            elif word == "{":
                declared = self.brace(where, kind, declared, public)
            else:
                declared.append(word)
                self.at += 1

    def brace(self, where, kind, declared, public):
        """What an opening brace begins; returns what goes on after it."""
        plain = flat(declared)
        if "namespace" in plain and "using" not in plain:
            self.at += 1
            inner = [word for word in plain[plain.index("namespace") + 1:] if word not in ("::", "inline")]
            self.scope(where + inner, "namespace", True)
            return []
        if declared[:1] == ["extern"] and len(declared) == 2:
            self.at += 1
            self.scope(where, kind, True)
            return []
        if "enum" in plain:
            name = next((word for word in plain[plain.index("enum") + 1:] if word not in ("class", "struct")), "")
            if public and name:
                self.put(where, name, "enum")
            self.values(where + [name] if {"class", "struct"} & set(plain) else where, public)
            return declared
        if {"class", "struct", "union"} & set(plain) and "(" not in plain and "=" not in plain:
            start = next(index for index, word in enumerate(plain) if word in ("class", "struct", "union"))
            head = plain[start + 1:plain.index(":", start)] if ":" in plain[start:] else plain[start + 1:]
            names = [word for word in head if re.fullmatch(r"\w+", word) and word != "final"]
            name = names[-1] if names else ""
            if public and name:
                self.put(where, name, "class")
            if "template" in declared or "final" in head:
                self.closed.add("::".join(where + [name]))
            self.at += 1
            self.scope(where + [name] if public else where + ["detail"], "class", plain[start] != "class")
            return []
        self.skip()
        if "operator" in plain:
            return []
        if "(" in plain and "=" not in plain[:plain.index("(")]:
            self.declaration(where, kind, declared, public)
            return []
        inside = self.words[self.begin_of_last_brace():self.at]
        return declared + ["{"] + [word for word in inside if word.startswith('"')]

    def begin_of_last_brace(self):
        depth, at = 0, self.at - 1
        while at >= 0:
            depth += {"}": 1, "{": -1}.get(self.words[at], 0)
            if depth == 0:
                return at
            at -= 1
        return 0

    def values(self, where, public):
        self.at += 1
        before, depth = "{", 1
        while self.at < len(self.words) and depth:
            word = self.words[self.at]
            depth += {"{": 1, "}": -1, "(": 1, ")": -1}.get(word, 0)
            if public and before in ("{", ",") and depth == 1:
                self.put(where, word, "value")
            before = word
            self.at += 1

    def declaration(self, where, kind, declared, public):
        plain = flat(declared)
        if not public or not plain or plain[0] in ("friend", "namespace", "static_assert", "extern") and plain[0] != "extern":
            return
        if plain[0] == "using":
            if "=" in plain:
                self.put(where, plain[1], "type")
            elif "namespace" not in plain and plain[-1:] != plain[-3:-2]:  # Constructors are no names.
                self.put(where, plain[-1], "type")
            return
        if plain[0] == "typedef":
            self.put(where, plain[-1], "type")
            return
        if "operator" in plain or "~" in plain:
            return
        at = plain.index("(") if "(" in plain else -1
        if kind == "namespace":
            for index, word in enumerate(plain):  # constexpr Type a(..), b(..);
                if word == "," and plain[index + 2:index + 3] == ["("]:
                    self.put(where, plain[index + 1], "variable")
        if at > 0 and "=" not in plain[:at] and "{" not in plain[:at]:
            name = plain[at - 1]
            if name not in WORDS and re.fullmatch(r"[A-Za-z_]\w*", name) and not (where and name == where[-1]) and "::" not in plain[max(0, at - 2):at]:
                self.put(where, name, "method" if kind == "class" else "function")
            return
        if {"class", "struct", "enum"} & set(plain[:2]):
            return  # Declared ahead.
        end = min([plain.index(stop) for stop in ("=", "{", "[") if stop in plain] + [len(plain)])
        names = [word for word in plain[:end] if re.fullmatch(r"[A-Za-z_]\w*", word)]
        if len(names) > 1:
            self.put(where, names[-1], "variable")
            text = next((word[1:-1] for word in declared if word.startswith('"')), "")
            if {"Property", "Priorities", "Properties"} & set(declared) and re.fullmatch(r"[A-Z][A-Z0-9_]+", text):
                self.keys[text] = "::".join(where + [names[-1]])


def flat(declared):
    """Without template arguments and what stands between parentheses."""
    result, angle, paren = [], 0, 0
    for index, word in enumerate(declared):
        if word == "<" and not paren and index and (re.fullmatch(r"\w+", declared[index - 1]) and declared[index - 1] != "operator"):
            angle += 1
            continue
        if angle:
            angle += {"<": 1, ">": -1}.get(word, 0)
            continue
        if word == ")":
            paren -= 1
        if paren <= 0 or word == "(" and paren == 0:
            result.append(word)
        if word == "(":
            paren += 1
    return result


def folders(entry, here, generated):
    return [pathlib.Path(each.replace("@generated@", str(generated))) if each.startswith("@") else here / each for each in entry["include"]]


def known(entry, here, generated):
    names, headers = Names(), set()
    for folder in folders(entry, here, generated):
        for path in sorted(each for suffix in ("*.hpp", "*.h") for each in folder.rglob(suffix)):
            header = path.relative_to(folder).as_posix()
            headers.add(header)
            if not (header.startswith("openvino/c/")):
                names.read(path)
    return names, headers


def absent_headers_of(entry):
    """The absent headers of the guide, with the reasons."""
    page = ROOT / entry["page"]
    absent = {}
    if not page.exists():
        return absent
    for row in re.findall(r"^\| (.+?) ?\|$", page.read_text(), re.M):
        cells = [cell.strip() for cell in row.split(" | ")]
        folder = re.fullmatch(r"`([\w/]+/)`", cells[0])
        if folder and len(cells) == 3:
            for part in re.split(r"; ", cells[2].rstrip("|").strip()):
                listed, _, reason = part.partition(": ")
                reason = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", reason)
                for header in re.findall(r"`([\w/*]+\.\w+)`", listed):
                    absent[folder[1] + header] = reason
                if listed == "the others":
                    absent[folder[1] + "*"] = reason
    return absent


def table(path, generated):
    here = path.parent
    entry = tomllib.loads(path.read_text())
    names, headers = known(entry, here, generated)
    absent = absent_headers_of(entry)
    result = {"api": here.name, "title": entry["title"], "namespace": entry["namespace"], "headers": sorted(headers), "begins": entry["headers"],
              "absent_headers": dict(sorted(absent.items())), "names": dict(sorted(names.kinds.items())), "keys": dict(sorted(names.keys.items())),
              "in_macros": sorted(names.in_macros),
              "absent": entry.get("absent", []), "differs": entry.get("differs", []), "components": entry.get("component", []),
              "use": entry["use"], "page": entry["page"]}
    inside = entry["namespace"] + "::"
    result["names"] = {name: kind for name, kind in result["names"].items() if name.startswith(inside) or kind == "macro"}
    if "c_names" in entry:
        made = json.loads(subprocess.run([sys.executable, str(here / entry["c_names"]), "--names"], check=True, capture_output=True, text=True).stdout)
        for header, each in made.items():
            result["names"].update({name: "C function" for name in each["functions"]} | {name: "C type" for name in each["types"]}
                                   | {name: "C key" for name in each["keys"]})
    return result


def inherited(ours, name, kind):
    """Whether a method of the original's is here as that of a base."""
    last = name.rpartition("::")[2]
    of_operation = kind == "method" and name.startswith(("ov::op::v", "ov::op::util::"))
    bases = ("ov::op::util::SubGraphOp", "ov::op::util::VariableExtension") if name.startswith("ov::op::v") else ()
    return of_operation and ("ov::Node::" + last in ours.kinds or any(
        other.startswith(bases) and other.endswith("::" + last) for other, each in ours.kinds.items() if each == "method" and bases))


def compare(api, generated, original):
    path = ROOT / "compat" / api / "migrate.toml"
    entry = tomllib.loads(path.read_text())
    ours, headers = known(entry, path.parent, generated)
    theirs = Names()
    for each in sorted(original.rglob("openvino/**/*.hpp")):
        header = each.relative_to(original).as_posix()
        if header in headers:
            theirs.read(each)
    patterns = [each["name"] for each in entry.get("absent", [])]
    theirs.kinds = {name: kind for name, kind in theirs.kinds.items() if not name.startswith("std::")}
    missing = [name for name, kind in theirs.kinds.items() if name not in ours.kinds and not inherited(ours, name, kind)]
    hidden = [name for name in missing if not any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
    wrong = [pattern for pattern in patterns if pattern in ours.kinds]
    for name in hidden:
        print(f"neither here nor absent with a reason: {theirs.kinds[name]} {name}")
    for pattern in wrong:
        print(f"called absent and here: {pattern}")
    print(f"{len(theirs.kinds)} names in the headers that are here: {len(theirs.kinds) - len(missing)} here, "
          f"{len(missing) - len(hidden)} absent with a reason")
    return 1 if hidden or wrong or not theirs.kinds else 0


def reached(original, first):
    """A header and all of the original's that it includes."""
    found, left = [], [first]
    while left:
        header = left.pop()
        if header in found:
            continue
        found.append(header)
        for name in re.findall(r'^#\s*include\s*["<]([^">]+)[">]', (original / header).read_text(errors="replace"), re.M):
            beside = (pathlib.PurePosixPath(header).parent / name).as_posix()
            left += [each for each in (name, beside) if (original / each).exists()][:1]
    return found


def count(api, generated, original, entries):
    path = ROOT / "compat" / api / "migrate.toml"
    entry = tomllib.loads(path.read_text())
    ours, headers = known(entry, path.parent, generated)
    patterns = [each["name"] for each in entry.get("absent", [])]
    reasons = absent_headers_of(entry)
    failed = False
    for first in entries:
        theirs, all_of_absent = {}, set()
        for header in reached(original, first):
            names = Names()
            names.read(original / header)
            kinds = {name: kind for name, kind in names.kinds.items() if not name.startswith("std::")}
            theirs |= kinds
            if header not in headers and any(fnmatch.fnmatchcase(header, each) for each in reasons):
                all_of_absent |= set(kinds)
        missing = [name for name, kind in theirs.items() if name not in ours.kinds and not inherited(ours, name, kind)]
        hidden = [name for name in missing if name not in all_of_absent and not any(fnmatch.fnmatchcase(name, each) for each in patterns)]
        print(f"{first}: {len(theirs)} names: {len(theirs) - len(missing)} here ({100 * (len(theirs) - len(missing)) / len(theirs):.0f} %), "
              f"{len(missing) - len(hidden)} absent with a reason")
        for name in hidden:
            print(f"neither here nor absent with a reason: {theirs[name]} {name}")
        failed |= bool(hidden)
    return 1 if failed else 0


def use(api, generated, original):
    """Names of a namespace by a using-declaration, members by one in a class that derives from theirs, enumerators by their value."""
    path = ROOT / "compat" / api / "migrate.toml"
    entry = tomllib.loads(path.read_text())
    names, headers = known(entry, path.parent, generated)
    theirs = Names()
    for header in sorted(headers) if original else ():
        if (original / header).exists() and header.endswith(".hpp"):
            theirs.read(original / header)
    left_out = 0
    print("// Made by tools/tenon/migrate/names.py.")
    for header in sorted(headers):
        if header.endswith(".hpp") and not header.endswith("/dx.hpp") and (not original or (original / header).exists()):
            print(f"#include <{header}>")
    count = 0
    for name, kind in sorted(names.kinds.items()):
        parent, _, last = name.rpartition("::")
        if original and name not in theirs.kinds or not (name.startswith(entry["namespace"] + "::") or kind == "macro"):
            continue
        closed = parent in names.closed or parent in theirs.closed
        # What a program is compiled for, and in which language.
        closed |= name.startswith(("OPENVINO_ARCH_", "OPENVINO_CPP_VER_AT_LEAST_"))
        # Some of the original's are private.
        closed |= bool(original) and parent == "ov::Model" and last in ("get_rt_info", "has_rt_info")
        closed |= bool(original) and parent == "ov::op::util::SubGraphOp" and last in ("get_function", "set_function")
        if closed:
            left_out += 1
            continue
        count += 1
        if kind == "macro":
            print(f"#ifndef {name}\n#error no {name}\n#endif")
        elif names.kinds.get(parent) == "enum":
            print(f"constexpr auto kUse{count} = {name};")
        elif names.kinds.get(parent) == "class":
            print(f"struct Use{count} : {parent} {{ using {name}; }};")
        else:
            print(f"namespace use{count} {{ using {name}; }}")
    print("int main() {}")
    print(f"{count} names; {left_out} more: members of templates and of final classes, and what depends on the machine", file=sys.stderr)


def main():
    if sys.argv[1] == "--use":
        return use(sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4]) if len(sys.argv) > 4 else None)
    if sys.argv[1] == "--compare":
        sys.exit(compare(sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])))
    if sys.argv[1] == "--count":
        sys.exit(count(sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4]), sys.argv[5:]))
    out, generated = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    text = "// Made by tools/tenon/migrate/names.py.\n"
    for path in sorted((ROOT / "compat").glob("*/migrate.toml")):
        whole = json.dumps(table(path, generated), separators=(",", ":"), ensure_ascii=True)
        # Compilers need not take longer texts than 65,536 characters in one piece.
        text += "\n".join(f'R"json({whole[at:at + 16000]})json"' for at in range(0, len(whole), 16000)) + ",\n"
    out.mkdir(parents=True, exist_ok=True)
    target = out / "tables.inc"
    if not target.exists() or target.read_text() != text:
        target.write_text(text)


if __name__ == "__main__":
    main()
