#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The documentation as a site: docs.py OUT. Run it by an interpreter that has mkdocs-material.

The pages are those of docs/, with README.md, ARCHITECTURE.md and what else they link to; docs/README.md is the first one, and its tables
are the menu, so a page that the index lacks would be lost (docs_test says so). Beside them stands what Doxygen makes of the public headers,
and where a page says `tenon::Name` of a class, that is a link to it. A warning is an error: a link that leads nowhere, a page without a
place in the menu, a comment in a header that names a parameter that there is not.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
TITLES = {"to begin": "Begin", "to do": "Do", "to look up": "Look up", "to change Tenon": "Change Tenon"}
CODE = re.compile(r"(?<![\[`])`([\w:/.]+)`(?![\]`])")
CPP = pathlib.Path("reference/cpp")
CONFIG = """site_name: Tenon
docs_dir: pages
site_dir: site
use_directory_urls: false
theme:
  name: material
  font: false
  features: [navigation.tabs, navigation.indexes, navigation.footer, search.highlight, search.suggest, content.code.copy]
  palette: {primary: teal}
plugins: [search]
validation: {nav: {omitted_files: warn, not_found: warn}, links: {not_found: warn, anchors: warn, absolute_links: warn, unrecognized_links: warn}}
markdown_extensions:
  - tables
  - attr_list
  - pymdownx.superfences
  - pymdownx.highlight
  - toc:
      permalink: true
      slugify: !!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}
nav: """


def place_of(path):
    """Where a page of the tree is in the site; None for what is no page."""
    if path.suffix != ".md" or not path.is_file():
        return None
    name = path.relative_to(ROOT)
    if name == pathlib.Path("docs/README.md"):
        return pathlib.Path("index.md")
    if name.parts[0] == "docs":
        return pathlib.Path(*name.parts[1:])
    # A page README.md would be the index of its folder.
    return pathlib.Path("tree", "_".join(name.parts).lower())


def in_prose(text, change):
    """`text` with change() on what is not code."""
    parts, at = [], 0
    for fence in FENCE.finditer(text):
        parts += [change(text[at:fence.start()]), fence.group(0)]
        at = fence.end()
    return "".join(parts + [change(text[at:])])


def with_lists(text):
    """An empty line before a list, which this Markdown wants and GitHub's does not."""
    lines = []
    for line in text.split("\n"):
        if re.match(r"([-*]|\d+\.) ", line) and lines and lines[-1].strip() and not re.match(r"([-*]|\d+\.) |\s", lines[-1]):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def cpp_reference(out, pages):
    """The C++ reference, below pages/; returns the pages of classes by their names."""
    (out / "cpp").mkdir()
    (out / "cpp" / "tenon").symlink_to(ROOT)
    (pages / CPP).parent.mkdir(parents=True)
    options = {"OUTPUT_DIRECTORY": pages / CPP.parent, "HTML_OUTPUT": CPP.name, "GENERATE_TAGFILE": out / "cpp/tags.xml"}
    text = (ROOT / "scripts/Doxyfile").read_text() + "".join(f"{key} = {value}\n" for key, value in options.items())
    done = subprocess.run(["doxygen", "-"], cwd=out / "cpp", input=text, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}docs: Doxygen has ended with {done.returncode}")
    found = {f"{CPP}/index.html": CPP / "index.html"}
    for compound in xml.etree.ElementTree.parse(out / "cpp/tags.xml").getroot().iter("compound"):
        if compound.get("kind") in ("class", "struct", "namespace"):
            found[compound.findtext("name")] = CPP / compound.findtext("filename")
    return found


def stage(pages, classes):
    """Copies all pages that docs/ leads to; returns their places. `classes`: pages of the C++ reference by what stands for them."""
    waiting = sorted((ROOT / "docs").rglob("*.md"))
    done = {}
    while waiting:
        path = waiting.pop()
        if path in done:
            continue
        place = done[path] = place_of(path)

        def link(match, path=path, place=place):
            words, target = match.groups()
            file, separator, anchor = target.partition("#")
            if re.match(r"\w+:", target) or not file:
                return match.group(0)
            found = (path.parent / file).resolve()
            there = place_of(found)
            if there is None:
                # Sources are not part of the site; pictures are.
                return words if found.exists() and not (found.is_relative_to(ROOT / "docs") and found.is_file()) else match.group(0)
            waiting.append(found)
            return f"[{words}]({os.path.relpath(there, place.parent)}{separator}{anchor})"

        def reference(match, place=place):
            there = classes.get(match.group(1))
            return f"[{match.group(0)}]({os.path.relpath(there, place.parent)})" if there else match.group(0)

        text = in_prose(path.read_text(), lambda prose: with_lists(CODE.sub(reference, LINK.sub(link, prose))))
        # Pictures of README.md are in docs/.
        text = re.sub(r"(!\[[^\]]*\]\()(?:\.\./)*docs/", lambda match: match.group(1) + "../", text) if place.parts[0] == "tree" else text
        (pages / place).parent.mkdir(parents=True, exist_ok=True)
        (pages / place).write_text(text)
    shutil.copytree(ROOT / "docs/images", pages / "images", dirs_exist_ok=True)
    return done


def menu(places):
    """The tables of docs/README.md as sections; pages that it names in its text, and others of the tree, come last."""
    sections, section, named = [], None, set()
    index = (ROOT / "docs/README.md").read_text()
    for line in index.splitlines():
        head = re.match(r"\| ([^|]+?) \| \|$", line)
        if head:
            section = TITLES.get(head.group(1), head.group(1))
            sections.append((section, []))
        elif not line.startswith("|"):
            section = None
        for words, target in LINK.findall(line):
            found = ((ROOT / "docs") / target.partition("#")[0]).resolve()
            if found not in places or found in named:
                continue
            named.add(found)
            if section is None:
                if sections[-1][0] != "Decisions":
                    sections.append(("Decisions", []))
            sections[-1][1].append({words: places[found].as_posix()})
    rest = [places[path] for path in sorted(places) if path not in named and place_of(path) != pathlib.Path("index.md")]
    if rest:
        sections.append(("The tree", [place.as_posix() for place in rest]))
    return [{"Tenon": "index.md"}, *({name: entries} for name, entries in sections if entries)]


def main():
    out = pathlib.Path(sys.argv[1]).resolve()
    shutil.rmtree(out, ignore_errors=True)
    (out / "pages").mkdir(parents=True)
    classes = cpp_reference(out, out / "pages")
    places = stage(out / "pages", classes)
    (out / "mkdocs.yml").write_text(CONFIG + json.dumps(menu(places)) + "\n")
    done = subprocess.run([sys.executable, "-m", "mkdocs", "build", "--strict", "-f", out / "mkdocs.yml"], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    if done.returncode:
        print("\n".join(line for line in done.stdout.splitlines() if not line.startswith("INFO")))
    else:
        print(f"{len(places)} pages, {len(classes)} classes and namespaces of C++: {out / 'site' / 'index.html'}")
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
