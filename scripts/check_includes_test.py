#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of check_includes.py: each rule is broken once, and kept once."""
import sys
import unittest

from check_includes import header_only, own_header_first, privacy  # noqa: E402

OWN = "namespace tenon {\nnamespace level_zero {\nnamespace detail {\nvoid call();\n}  // namespace detail\n" \
      "void open() { detail::call(); }\n}  // namespace level_zero\n}  // namespace tenon\n"


def found(name, text):
    return list(privacy({"frameworks/level_zero/native.hpp": OWN, name: text}))


class Privacy(unittest.TestCase):
    def test_own_detail_is_free_to_use(self):
        self.assertEqual(found("frameworks/level_zero/device.cpp", "void f() { detail::call(); }"), [])
        self.assertEqual(found("frameworks/level_zero/a_test.cpp", "void f() { level_zero::detail::call(); }"), [])
        self.assertEqual(found("devices/x/a.cpp", "namespace y {\nnamespace detail {\nvoid g();\n}  // namespace detail\n"
                                                  "void f() { y::detail::g(); }\n}"), [])

    def test_another_folders_is_found_by_each_of_its_names(self):
        for use in ("level_zero::detail::call()", "tenon::level_zero::detail::call()", "::tenon::level_zero::detail::call()",
                    "detail::call()"):
            self.assertEqual(len(found("devices/npu/a.cpp", f"void f() {{\n  {use};\n}}")), 1, use)
        self.assertIn("devices/npu/a.cpp:2:", found("devices/npu/a.cpp", "namespace l0 = tenon::level_zero;\nl0::detail::call();")[0])

    def test_a_name_of_ones_own_does_not_excuse_anothers(self):
        text = "namespace npu {\nnamespace detail {\nvoid call();\n}  // namespace detail\n}\nlevel_zero::detail::call();\n"
        self.assertEqual(len(found("devices/npu/a.cpp", text)), 1)

    def test_internal_headers_are_their_owners(self):
        text = "#include <tenon/graph/readers/internal/text.hpp>\n"
        self.assertEqual(found("graph/writers/a.cpp", text), [])
        self.assertEqual(len(found("drivers/npu/a.cpp", text)), 1)


class OwnHeaderFirst(unittest.TestCase):
    HEADERS = {"frameworks/x/x.hpp": "", "core/memory.hpp": "", "graph/internal/y.hpp": "",
               "frameworks/opencl/image.hpp": ""}

    def wrong(self, name, text):
        return list(own_header_first({**self.HEADERS, name: text}))

    def test_the_first_of_tenons_is_the_sources_own(self):
        own, other = "#include <tenon/frameworks/x/x.hpp>\n", "#include <tenon/core/memory.hpp>\n"
        self.assertEqual(self.wrong("frameworks/x/x.cpp", "#include <vector>\n" + own + other), [])
        self.assertEqual(len(self.wrong("frameworks/x/x.cpp", other + own)), 1)
        self.assertEqual(len(self.wrong("frameworks/x/x.cpp", other)), 1)

    def test_public_headers_are_above_the_rooms_of_their_sources(self):
        for name in ("core/base/memory.cpp", "frameworks/opencl/memory/image.cpp"):
            self.assertEqual(len(self.wrong(name, "#include <tenon/core/error.hpp>\n")), 1, name)

    def test_sources_without_a_public_header_are_free(self):
        for name in ("frameworks/x/z.cpp", "frameworks/x/x_test.cpp", "graph/internal/y.cpp"):
            self.assertEqual(self.wrong(name, "#include <tenon/core/error.hpp>\n"), [], name)


class HeaderOnly(unittest.TestCase):
    ALL = "#include <tenon/core/header_only.hpp>\n#include <tenon/frameworks/x/a.cpp>\n#include <tenon/frameworks/x/room/b.cpp>\n"
    TREE = {name: "" for name in ("frameworks/x/a.cpp", "frameworks/x/room/b.cpp", "frameworks/x/a_test.cpp", "frameworks/x/a_bench.cpp",
                                  "frameworks/x/conformance.cpp", "frameworks/x/probe.cpp", "frameworks/x/x_oracle.cpp",
                                  "frameworks/x/testing/c.cpp", "frameworks/xy/d.hpp")}

    def wrong(self, listed, **more):
        return list(header_only({**self.TREE, "frameworks/x/header_only.hpp": listed, **more}))

    def test_lists_what_is_compiled(self):
        self.assertEqual(self.wrong(self.ALL), [])

    def test_missing_foreign_and_double_sources_are_found(self):
        self.assertIn("a.cpp is compiled", self.wrong(self.ALL.replace("#include <tenon/frameworks/x/a.cpp>\n", ""))[0])
        self.assertIn("a_test.cpp is no source", self.wrong(self.ALL + "#include <tenon/frameworks/x/a_test.cpp>\n")[0])
        self.assertIn("a.cpp is listed twice", self.wrong(self.ALL + "#include <tenon/frameworks/x/a.cpp>\n")[0])

    def test_every_framework_with_sources_has_one(self):
        self.assertEqual(len(self.wrong(self.ALL, **{"frameworks/xy/d.cpp": ""})), 1)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-q"])
