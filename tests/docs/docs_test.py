#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What holds of README.md and docs/ besides that their code compiles: links lead somewhere, every page is in the index, README stays
short, and its figures are those of docs/benchmarks.md. And that docs_code.py refuses what it cannot compile."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
sys.dont_write_bytecode = True
import docs_code  # noqa: E402
import rows  # noqa: E402
import tables  # noqa: E402

LONGEST_README = 120  # Lines: two screens.
# Folders of the tree that pages name in their text.
PATH = re.compile(r"(?<![\w/.-])(?:bench|bindings|bridges|core|devices|docs|drivers|examples|frameworks|fuzz|graph|models|runtime|scripts|tests|tools|vision)"
                  r"/[\w./-]*\w")


def anchors(text):
    """As GitHub makes them of headings."""
    for title in re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M):
        title = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title)
        yield re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def broken_links(path):
    for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text()):
        file, _, anchor = target.partition("#")
        if re.match(r"\w+:", target):
            continue
        found = (path.parent / file).resolve() if file else path
        if not found.exists():
            yield target
        elif anchor and anchor not in anchors(found.read_text()):
            yield target


def headers_of_the_c_api():
    """The build generates them: tenon.h, and one for each description."""
    groups = [path.stem for path in (ROOT / "bindings/c/api").glob("*.toml") if path.stem != "api"]
    return [f"bindings/c/{name}.h" for name in ["tenon", *groups]]


def named_tests():
    """Tests of GoogleTest as Suite.Name, rows of the GPU's oracle, and programs below examples/ as example_program."""
    found = {f"example_{path.stem}" for path in (ROOT / "examples").glob("*/*.c*")}
    for path in (ROOT / "tests/fake_intel_gpu").glob("*.cpp"):
        found.update(re.findall(r"^TWIN_ROW\((\w+)\)", path.read_text(), re.M))
    return found | set(rows.known_tests())


class Pages(unittest.TestCase):
    def test_links_lead_somewhere(self):
        for path in [*docs_code.pages(ROOT), *(ROOT / "docs/reference").glob("*.md")]:
            self.assertEqual(list(broken_links(path)), [], path)

    def test_files_that_pages_name_exist(self):
        for path in docs_code.pages(ROOT):
            text = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.M | re.S)
            for name in PATH.findall(text):
                here = [ROOT / name, ROOT / f"{name}.hpp", ROOT / "docs" / name]
                self.assertTrue(any(each.exists() for each in here), f"{path}: {name}")

    def test_rows_of_tables_have_as_many_cells_as_their_heads(self):
        for path in [*docs_code.pages(ROOT), *(ROOT / "docs/reference").glob("*.md")]:
            width = 0
            for number, line in enumerate(path.read_text().splitlines(), 1):
                here = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
                self.assertTrue(0 in (width, here) or here == width, f"{path}:{number}: write \\| for a bar within a cell")
                width = here

    def test_rows_name_tests_that_there_are(self):
        tests = named_tests()
        for path in docs_code.pages(ROOT):
            for table in re.findall(r"<!-- rows -->\n(.*?)<!-- end of rows -->", path.read_text(), re.S):
                for line in table.splitlines()[2:]:
                    names = re.findall(r"`([^`]+)`", line.split("|")[-2])
                    self.assertTrue(names, f"{path}: no test: {line}")
                    self.assertEqual([name for name in names if name not in tests], [], f"{path}: {line}")

    def test_headers_that_pages_name_exist(self):
        for path in docs_code.pages(ROOT):
            for header in re.findall(r"<tenon/([\w/]+\.(?:hpp|h))>", path.read_text()):
                self.assertTrue((ROOT / header).exists() or header in headers_of_the_c_api(), f"{path}: <tenon/{header}>")

    def test_pipelines_name_the_schema_that_the_build_writes(self):
        """Seen from the pipeline's folder. cmake/TenonPackage.cmake gives the installed ones another path."""
        for path in (ROOT / "examples").glob("*/*.json"):
            for schema in re.findall(r'"\$schema": *"([^"]*)"', path.read_text()):
                self.assertEqual(os.path.normpath(path.parent / schema), str(ROOT / "build/release/pipeline.schema.json"), path)

    def test_every_page_is_in_the_index(self):
        index = (ROOT / "docs/README.md").read_text()
        for path in (ROOT / "docs").rglob("*.md"):
            name = path.relative_to(ROOT / "docs").as_posix()
            if name != "README.md":
                self.assertIn(f"]({name})", index)

    def test_recipes_that_copy_a_folder_leave_no_include_behind(self):
        for page, folder, copy in (("add_framework", "frameworks/null", "frameworks/mylib"), ("add_device", "devices/template", "devices/mydevice")):
            recipe = re.search(r"^```sh\n(cp -r .*?)^cd \.\./\.\.", (ROOT / f"docs/guide/{page}.md").read_text(), re.M | re.S).group(1)
            with tempfile.TemporaryDirectory() as scratch:
                tree = pathlib.Path(scratch)
                shutil.copytree(ROOT / folder, tree / folder)
                subprocess.run(["bash", "-ec", recipe], cwd=tree, check=True)
                for source in (tree / copy).glob("*.?pp"):
                    for header in re.findall(r'#include <tenon/([^>]+)>', source.read_text()):
                        self.assertNotIn(folder, header, source.name)
                        self.assertTrue((tree / header).exists() or (ROOT / header).exists(), f"{page}: {source.name} includes {header}")

    def test_the_matrix_has_every_framework_or_says_why_not(self):
        page = tables.block(tables.MATRIX.read_text(), "matrix").group(1)
        lists = [dict(tables.cells(line) for line in part.splitlines()[2:])
                 for part in re.findall(r"^\| framework or bridge \|.*\n(?:\|.*(?:\n|$))+", page, re.M)]
        wanted = {path.parent.name for folder in ("frameworks", "bridges") for path in (ROOT / folder).glob("*/contexts.hpp")}
        self.assertEqual(len(lists), 2, "this machine and the virtual one")
        for found in lists:
            self.assertEqual(set(found), wanted, "run ./dev bench matrix")
            for name, said in found.items():
                self.assertRegex(said, r"^(\d+(, \d+)*|none: .{10,})$", name)

    def test_nothing_asks_an_index_for_the_package(self):
        """The package of its name there is another project."""
        asks = re.compile(r"pip install[^\n`]*[ \"'](tenon)(?![-\w/.])")
        self.assertTrue(asks.search('pip install -q "tenon[ray]"') and not asks.search("pip install build/wheel/tenon-1.whl ."))
        texts = [*docs_code.pages(ROOT), *(ROOT / "docs/reference").glob("*.md"), *(ROOT / "examples").rglob("*.*"), *(ROOT / "bindings/python/tenon").rglob("*.py")]
        for path in texts:
            if path.suffix in (".md", ".py", ".yaml", ".sh") and path != ROOT / "docs/guide/python.md":  # That page says so.
                self.assertNotRegex(path.read_text(), asks, path)

    def test_readme_is_two_screens(self):
        self.assertLessEqual((ROOT / "README.md").read_text().count("\n"), LONGEST_README)

    def test_readme_cites_figures_that_are_there(self):
        readme, benchmarks = (path.read_text() for path in (tables.README, tables.BENCHMARKS))
        self.assertEqual(tables.block(readme, "cited").group(1), tables.cited(benchmarks), "run scripts/tables.py")


PROGRAM = "<!-- program: one; links core; run a 1; prints x -->\n```cpp\nint main() {}\n```\n"
FRAGMENT = "<!-- fragments: links core -->\n```cpp\n#include <a>\nint a;\n```\ntext\n```cpp\nint a = 1;\n```\n"


class Extraction(unittest.TestCase):
    def wrong(self, text, *words):
        with self.assertRaises(docs_code.Wrong) as raised:
            docs_code.extract(text, "page.md")
        for word in words:
            self.assertIn(word, str(raised.exception))

    def test_program_and_fragments_are_found(self):
        programs, fragments, links = docs_code.extract(PROGRAM + FRAGMENT, "page.md")
        self.assertEqual([(name, language, known["run"]) for name, language, known, _ in programs], [("one", "cpp", "a 1")])
        self.assertIn('#line 3 "page.md"\nint main', programs[0][3])
        self.assertEqual([line for _, line in fragments["cpp"]], [7, 12])
        self.assertEqual(links, "core")

    def test_later_fragments_are_within_earlier_ones(self):
        source = docs_code.function_of([("#include <a>\nint a;\n", 7), ("int a = 1;\n", 12)], "page.md", "void f()")
        self.assertLess(source.index("#include <a>"), source.index("void f()"))
        self.assertRegex(source, r'(?s)\{\n#line 7 "page.md"\n\nint a;\n\{\n#line 12 "page.md"\nint a = 1;\n\}\}\n\}\n$')

    def test_a_fragment_must_say_what_it_links(self):
        self.wrong("text\n```cpp\nint a;\n```\n", "page.md:3", "fragments")

    def test_python_of_a_page_is_one_script(self):
        page = "<!-- given\na = 1\n-->\n```python\nb = a\n```\ntext\n```python\nprint(b)\n```\n"
        _, fragments, _ = docs_code.extract(page, "page.md")
        script = docs_code.function_of(fragments["python"], "page.md", "", "python")
        self.assertEqual([line for line in script.splitlines() if line and not line.startswith("#")], ["a = 1", "b = a", "print(b)"])

    def test_python_says_what_it_needs(self):
        page = "<!-- python: needs elements_ffmpeg device_npu -->\n```python\na = 1\n```\n"
        self.assertEqual(docs_code.python_needs(page, "page.md"), ["elements_ffmpeg", "device_npu"])
        self.assertEqual(len(docs_code.extract(page, "page.md")[1]["python"]), 1)
        with self.assertRaisesRegex(docs_code.Wrong, "needs"):
            docs_code.extract("<!-- python: links core -->\n", "page.md")

    def test_a_program_in_python_is_refused(self):
        with self.assertRaisesRegex(docs_code.Wrong, "blocks of Python need no comment"):
            docs_code.extract("<!-- program: x; links core -->\n```python\nx = 1\n```\n", "page.md")

    def test_a_program_must_have_code(self):
        self.wrong("<!-- program: one; links core -->\ntext\n", "'one'")
        self.wrong("<!-- program: one; links core -->\n" + FRAGMENT, "'one'")

    def test_misspelt_settings_are_refused(self):
        self.wrong(PROGRAM.replace("prints", "print"), "'print x'")
        self.wrong(PROGRAM.replace("links core; ", ""), "links")

    def test_a_fence_without_end_is_refused(self):
        self.wrong(PROGRAM + "```cpp\nint a;\n", "fence")


class Tables(unittest.TestCase):
    PAGE = "<!-- a -->\n| x | y |\n|---|---|\n| one | **2.5**, aim 1 |\n<!-- end of a -->\n"

    def test_a_table_goes_between_its_lines(self):
        self.assertEqual(tables.replaced(self.PAGE, "a", "new"), "<!-- a -->\nnew\n<!-- end of a -->\n")
        with self.assertRaises(SystemExit):
            tables.replaced(self.PAGE, "b", "new")

    def test_cells_are_cited_bare(self):
        self.assertEqual(tables.cell(self.PAGE, "a", "one", "y"), "2.5")
        for place in (("a", "two", "y"), ("a", "one", "z")):
            with self.assertRaises(SystemExit):
                tables.cell(self.PAGE, *place)

    def test_a_table_without_what_readme_cites_changes_nothing(self):
        pages = (tables.BENCHMARKS, tables.README)
        before = [path.read_text() for path in pages]
        with self.assertRaises(SystemExit):
            tables.write("first", "| model | way |\n|---|---|\n| another | |")
        self.assertEqual([path.read_text() for path in pages], before)


class Checklists(unittest.TestCase):
    LOG = ("-" * 58 + "\n[ RUN      ] Frames.Map\n[       OK ] Frames.Map (0 ms)\n[       OK ] All/Formats.Map/nv12 (1 ms)\n[       OK ] Typed/0.Map (1 ms)\n"
           "[  SKIPPED ] Frames.Skip (0 ms)\n[  FAILED  ] Frames.Fail (0 ms)\nTest Failed.\n\"frames_test\" end time: now\n" + "-" * 58 +
           "\nTest Passed.\n\"example_one\" end time: now\n" + "-" * 58 + "\n")

    def test_only_tests_that_passed_count(self):
        self.assertEqual(set(rows.passed(self.LOG)), {"Frames.Map", "Formats.Map", "Typed.Map", "example_one"})

    def test_a_test_that_did_not_run_is_named_unless_it_runs_elsewhere(self):
        row = {"name": "frame.h", "tests": ["Frames.Map", "Frames.Skip"]}
        found = list(rows.missed_tests("list", {"section": [{"row": [row]}]}, {"Frames.Map"}))
        self.assertEqual(len(found), 1)
        self.assertIn("Frames.Skip", found[0])
        self.assertEqual(list(rows.missed_tests("list", {"section": [{"row": [row | {"tier": "in the VM"}]}]}, {"Frames.Map"})), [])

    def test_files_are_the_documents(self):
        checklist = {"files": ["a.h", "gst/b.h"], "section": [{"folder": "", "row": [{"name": "a.h"}]}, {"folder": "gst", "row": [{"name": "b.h"}]}]}
        self.assertEqual(list(rows.misplaced_files("list", checklist)), [])
        for wrong in ("a.h, b.h", "c.h", "a.h, a.h"):
            checklist["section"][1]["row"][0]["name"] = wrong
            self.assertTrue(list(rows.misplaced_files("list", checklist)), wrong)


if __name__ == "__main__":
    unittest.main()
