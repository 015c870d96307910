#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""README's own code as a project: readme.py README.md FOLDER writes app.cpp, CMakeLists.txt and pkg_config_modules."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "docs"))
import docs_code  # noqa: E402


def main() -> None:
    text = pathlib.Path(sys.argv[1]).read_text()
    folder = pathlib.Path(sys.argv[2])
    _, fragments, _ = docs_code.extract(text, "README.md")
    cmake = re.findall(r"^```cmake\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    modules = re.search(r"`pkg-config --cflags --libs ([^`]+)`", text)
    if "cpp" not in fragments or len(cmake) != 1 or not modules:
        sys.exit("readme.py: README must have C++ code, one block of CMake, and a line `pkg-config --cflags --libs MODULES`")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "app.cpp").write_text(docs_code.function_of(fragments["cpp"], "README.md", "int main()"))
    # The lines of README, and between them the program that they speak of.
    package, _, link = cmake[0].partition("\n")
    (folder / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\n"
                                           f"{package}\nadd_executable(app app.cpp)\n{link}")
    (folder / "pkg_config_modules").write_text(modules.group(1) + "\n")


if __name__ == "__main__":
    main()
