#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The C, C++ and Python of README.md and docs/, as sources that are compiled or run: docs_code.py ROOT OUT writes them into the folder OUT,
and OUT/targets.cmake with a call of docs_program(), docs_page() or docs_python() for each.

Every block ```cpp or ```c is compiled, in one of two ways.

A whole program has a line above its fence that names it, the components that it links, and, where it is to be run, its
arguments (from the root of the tree), the devices that it needs, and what its output must match:

    <!-- program: NAME; links runtime ffmpeg; run models/demo.mp4 3; devices cpu; prints [0-9]+ detections -->

All other blocks of a page are fragments. The page says once what they link, and what they use but do not declare:

    <!-- fragments: links runtime ffmpeg -->
    <!-- given
    std::shared_ptr<tenon::Model> model;
    -->

Its includes come first; then its blocks follow each other in one function, each within a scope of its own inside the one before, so
that a block may use what earlier ones declared, and declare it anew. A `given` stands among them where it stands in the page. In
C++ there is use(), which takes anything. Fragments are compiled, and not linked or run.

The blocks ```python of a page follow each other as one script, which is run where models/, clip.mp4 and detector.onnx are, and checked by
mypy --strict. A `given` before a block stands before it in the script. What they need besides the package and the CPU device stands before
them, as targets:

    <!-- python: needs elements_ffmpeg device_npu -->

Blocks ```py need packages that ./dev check python alone installs, and are run there (bindings/python/tests/slow/test_guides.py).
"""
import pathlib
import re
import sys

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.M | re.S)
COMMENT = re.compile(r"^<!-- (program:|fragments:|python:|given\n)(.*?)-->", re.M | re.S)
KEYS = {"program": ("links", "run", "devices", "prints"), "fragments": ("links",), "python": ("needs",)}
SUFFIXES = {"cpp": "cpp", "c": "c", "python": "py"}


class Wrong(Exception):
    """A page that breaks the rules above; says where."""


def pages(root):
    """Generated references are declarations of headers that are compiled anyway."""
    yield root / "README.md"
    for path in sorted((root / "docs").rglob("*.md")):
        if "reference" not in path.parts:
            yield path


def settings(kind, text, where):
    """'NAME; links a b; run x' as a name and a dictionary."""
    name, found = "", {}
    for part in (each.strip() for each in text.strip().split(";")):
        key, _, value = part.partition(" ")
        if key in KEYS[kind]:
            found[key] = value.strip()
        elif kind == "program" and not name and re.fullmatch(r"\w+", part):
            name = part
        else:
            raise Wrong(f"{where}: '{part}' is none of: {', '.join(KEYS[kind])}" + (", a program's name" if kind == "program" else ""))
    if kind == "python":
        if "needs" not in found:
            raise Wrong(f"{where}: a python comment says 'needs TARGETS'")
        return "", found
    if "links" not in found or (kind == "program" and not name):
        raise Wrong(f"{where}: a {kind} comment needs " + ("a name and " if kind == "program" else "") + "'links COMPONENTS'")
    return name, found


def parse(text, page):
    """Yields (kind, value, line): blocks of code and the comments that are about them, in their order."""
    if text.count("\n```") % 2 != text.startswith("```"):
        raise Wrong(f"{page}: a fence ``` that nothing ends")
    events = [(m.start(), m) for m in FENCE.finditer(text)] + [(m.start(), m) for m in COMMENT.finditer(text)]
    for start, match in sorted(events, key=lambda each: each[0]):
        line = text.count("\n", 0, start) + 2  # The first line within.
        if match.re is FENCE:
            if match.group(1) in SUFFIXES:
                yield match.group(1), match.group(2), line
        elif match.group(1) == "given\n":
            yield "given", match.group(2), line
        else:
            kind = match.group(1)[:-1]
            found = settings(kind, match.group(2), f"{page}:{line - 1}")
            yield ("python comment" if kind == "python" else kind), found, line


def python_needs(text, page):
    """The targets that a page's Python needs besides the package and the CPU device."""
    return [target for kind, value, _ in parse(text, page) if kind == "python comment" for target in value[1]["needs"].split()]


def without_includes(code):
    """Empty lines in their place: line numbers stay."""
    return re.sub(r"^#include.*$", "", code, flags=re.M)


def function_of(parts, page, head, language="cpp"):
    """Fragments as one source: (text, line) in order, within each other."""
    if language == "python":
        return "\n".join(f"# {page}:{line}\n{text}" for text, line in parts)
    includes = dict.fromkeys(line for text, _ in parts for line in re.findall(r"^#include.*$", text, re.M))
    lines = list(includes)
    if language == "cpp":
        lines += ["template <typename... T>", "void use(T&&...) {}"]
    lines += [head + " {"]
    for text, line in parts:
        lines += ["{", f'#line {line} "{page}"', without_includes(text).rstrip("\n")]
    return "\n".join(lines + ["}" * len(parts), "}", ""])


def extract(text, page):
    """What a page holds: ([(name, language, settings, source)], {language: [(text, line)]}, links of its fragments)."""
    programs, fragments, links, pending, given = [], {}, None, None, []
    for kind, value, line in parse(text, page):
        if pending and kind not in SUFFIXES:
            raise Wrong(f"{page}:{line - 1}: the program '{pending[0]}' has no block of code below it")
        if kind == "program":
            pending = value
        elif kind == "fragments":
            links = value[1]["links"]
        elif kind == "python comment":
            pass  # python_needs() reads it.
        elif kind == "given":
            given.append((value, line))
        elif pending and kind == "python":
            raise Wrong(f"{page}:{line}: the program '{pending[0]}' is in Python: blocks of Python need no comment")
        elif pending:
            programs.append((pending[0], kind, pending[1], f'#line {line} "{page}"\n{value}'))
            pending = None
        else:
            if links is None and kind != "python":
                raise Wrong(f"{page}:{line}: a fragment of code, and no line <!-- fragments: links ... --> before it (or is it a whole "
                            "program without its <!-- program: ... -->?)")
            fragments.setdefault(kind, []).extend(given + [(value, line)])
            given = []
    if pending:
        raise Wrong(f"{page}: the program '{pending[0]}' has no block of code below it")
    return programs, fragments, links


def quoted(value):
    return f"[==[{value}]==]"


def write(path, text):
    """Only what changed: the rest need not be compiled again."""
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def main(root, out):
    out.mkdir(parents=True, exist_ok=True)
    calls, names = ["# Generated by docs_code.py."], set()
    for path in pages(root):
        page = path.relative_to(root).as_posix()
        programs, fragments, links = extract(path.read_text(), page)
        for name, language, known, source in programs:
            if name in names:
                raise Wrong(f"{page}: a second program of the name '{name}'")
            names.add(name)
            file = out / f"{name}.{SUFFIXES[language]}"
            write(file, source)
            words = [f"{key.upper()} {quoted(known[key]) if key == 'prints' else known[key]}" for key in KEYS["program"] if key in known]
            calls.append(f'docs_program(NAME {name} SOURCE "{file}" ' + " ".join(words) + ")")
        for language, parts in fragments.items():
            name = re.sub(r"\W", "_", page.removesuffix(".md")) + "_" + language
            file = out / f"{name}.{SUFFIXES[language]}"
            head = f"void {name}({'void' if language == 'c' else ''});\nvoid {name}({'void' if language == 'c' else ''})"
            write(file, function_of(parts, page, head, language))
            if language == "python":
                needs = python_needs(path.read_text(), page)
                calls.append(f'docs_python(NAME {name} SOURCE "{file}"' + "".join([" NEEDS", *(f" tenon_{each}" for each in needs)] if needs else []) + ")")
                continue
            calls.append(f'docs_page(NAME {name} SOURCE "{file}" LINKS {links})')
    write(out / "targets.cmake", "\n".join(calls) + "\n")


if __name__ == "__main__":
    try:
        main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
    except Wrong as wrong:
        sys.exit(str(wrong))
