#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether check_tree.py counts the words that it is for, in every language, and keeps its budget."""
import collections
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import check_tree  # noqa: E402

COUNTED = {
    "a.cpp": ["// Of a frame.\nint a;", "int a;  ///< Of a frame.", "/* Nobody waits. */", 'f("Who decodes");', "auto a = R\"x(Than b)x\";",
              "int a = 1'000;  // Somebody's number, whatever\n"],
    "a.py": ['"""Of pages."""', "# whoever calls", "a = 'who'"],
    "CMakeLists.txt": ["# Of targets.", 'message("Than this")'],
    "a.md": ["Of two writers.", "The thread who waits.", "```sh\nls\n```\nOf two."],
}
NOT_COUNTED = {
    "a.cpp": ["void OfNothing(int who);", "// A list of frames.", '// A sentence that says "who" or `nobody`.', "// The developer who reads this.",
              "char a = '\"'; int who = 1; char b = '\"';"],
    "a.py": ["who = Of(1)"],
    "CMakeLists.txt": ["set(who Of)"],
    "a.md": ["```cpp\n// Of a frame.\n```", "The option `who`.", "Anyone asks, and anyone who asks gets it."],
}


class Words(unittest.TestCase):
    def count(self, name, text):
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch) / name
            path.write_text(text)
            return [line for line, _ in check_tree.words(path)]

    def test_each_is_counted_once_where_a_sentence_is_read(self):
        for name, texts in COUNTED.items():
            for text in texts:
                self.assertEqual(len(self.count(name, text)), 1, text)
        self.assertEqual(self.count("a.cpp", "int a;\n/* A\n * Of b. */"), [3])

    def test_code_and_persons_are_not_counted(self):
        for name, texts in NOT_COUNTED.items():
            for text in texts:
                self.assertEqual(self.count(name, text), [], text)


class Budget(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.addCleanup(setattr, check_tree, "BUDGET", check_tree.BUDGET)
        check_tree.BUDGET = pathlib.Path(scratch.name) / "budget.txt"

    def update(self, **counts):
        with contextlib.redirect_stdout(io.StringIO()):
            return check_tree.update(collections.Counter(counts))

    def test_counts_go_down_and_not_up(self):
        self.assertEqual(self.update(core=5, graph=2), 0)
        self.assertEqual(self.update(core=3, graph=3), 1)
        self.assertEqual(check_tree.budget(), {"core": 3, "graph": 2})
        self.assertEqual(len(list(check_tree.over_budget({"core": 4, "graph": 2}, check_tree.budget()))), 1)

    def test_a_new_folder_gets_a_line_only_by_update(self):
        self.assertEqual(self.update(core=1), 0)
        self.assertEqual(len(list(check_tree.over_budget({"core": 1, "new": 1}, check_tree.budget()))), 1)
        self.assertEqual(self.update(core=1, new=1), 0)
        self.assertEqual(check_tree.budget(), {"core": 1, "new": 1})


class Opens(unittest.TestCase):
    WRITES = {"core/a.cpp": ["std::ofstream out(path);", 'FILE* f = fopen(path, "w");', 'std::fopen(path, is_new ? "w" : "a")', "open(p, O_WRONLY | O_CREAT, 0600)",
                             "mkstemp(name);", "avio_open(&pb, url, AVIO_FLAG_WRITE)", "std::fstream both(path);", "fs::copy_file(a, b);",
                             "CreateFileW(path, access)", "cv::imwrite(path, mat);"],
              "bindings/python/tenon/a.py": ['open(path, "w")', "with open(p, mode='ab') as f:", "Path(p).write_text(text)", "io.open(path, 'r+b')"]}
    HARMLESS = {"core/a.cpp": ['fopen(path, "rb")', 'std::fopen("/proc/self/maps", "re")', "// std::ofstream", "#include <fstream>", "ifstream in(path);"],
                "core/a_test.cpp": ["std::ofstream out(path);"], "fuzz/a/a.cpp": ["std::ofstream out(path);"],
                "bindings/python/tenon/a.py": ['open(path, encoding="utf-8")', 'open(p, "rb")', 'tn.open("a.mp4", format="rgb24")'],
                "models/a.py": ['open(path, "w")']}

    def test_each_way_to_write_counts(self):
        for names, count in ((self.WRITES, 1), (self.HARMLESS, 0)):
            for name, lines in names.items():
                for line in lines:
                    self.assertEqual(check_tree.own_opens(pathlib.Path(name), line), count, line)

    def test_only_what_is_listed_with_a_reason_may(self):
        listed = "## Files that are written otherwise\n| file | places | why |\n|---|---|---|\n| `core/file.hpp` | 1 | it is the layer |\n## Next\n"
        self.assertEqual(list(check_tree.file_problems({"core/file.hpp": 1}, listed)), [])
        self.assertEqual(len(list(check_tree.file_problems({"core/file.hpp": 2}, listed))), 1)
        self.assertEqual(len(list(check_tree.file_problems({"core/file.hpp": 1, "core/any.hpp": 1}, listed))), 1)
        self.assertEqual(len(list(check_tree.file_problems({}, listed))), 1)


class Security(unittest.TestCase):
    HEAD = "## What is promised\n| class | promise | test |\n|---|---|---|\n"

    def problems(self, promises="", limits=""):
        return list(check_tree.security_problems(f"{self.HEAD}{promises}\n## Limits\n| limit | in the code |\n|---|---|\n{limits}\n"))

    def test_what_is_there_is_no_problem(self):
        self.assertEqual(self.problems("| files | whole | `core/base/file_test.cpp: Files.ANewFileAppearsWholeOrNotAtAll` |",
                                       "| nodes | `graph/limits.hpp: nodes = 1'000'000` |"), [])

    def test_what_is_missing_is_named(self):
        self.assertEqual(len(self.problems("| files | whole | `core/base/file_test.cpp: Files.NoSuchTest`, `core/base/none_test.cpp: A.B` |")), 2)
        self.assertEqual(len(self.problems("| files | whole | by hand |")), 1)
        self.assertEqual(len(self.problems("", "| nodes | `graph/limits.hpp: nodes = 1'000` |")), 1)

    def test_a_deleted_folder_takes_its_rows_along(self):
        self.assertEqual(self.problems("| files | whole | `frameworks/no_such/x_test.cpp: A.B` |"), [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-q"])
