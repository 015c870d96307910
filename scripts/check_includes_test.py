#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of check_includes.py: each rule is broken once, and kept once."""
import sys
import unittest

from check_includes import privacy  # noqa: E402

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


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-q"])
