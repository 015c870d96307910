#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""README's own code as a project: readme.py README.md FOLDER writes app.cpp, CMakeLists.txt and pkg_config_modules."""
import pathlib
import re
import sys


def blocks(text: str, language: str):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def section(text: str, title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    if not found:
        sys.exit(f"readme.py: README has no section '{title}'")
    return found.group(1)


def program(code: list[str]) -> str:
    """Includes first, the rest one after another in main(), as a reader would paste them."""
    lines = "".join(code).splitlines()
    includes = [line for line in lines if line.startswith("#include")]
    body = [line for line in lines if not line.startswith("#include")]
    return "\n".join(includes + ["", "template <typename T>", "void use(const T&) {}", "", "int main() {", *body, "}", ""])


def main() -> None:
    text = pathlib.Path(sys.argv[1]).read_text()
    folder = pathlib.Path(sys.argv[2])
    code = blocks(section(text, "In code"), "cpp")
    build = section(text, "In your build")
    cmake = blocks(build, "cmake")
    modules = re.search(r"`pkg-config --cflags --libs ([^`]+)`", build)
    if len(code) < 2 or len(cmake) != 1 or not modules:
        sys.exit("readme.py: README's sections 'In code' and 'In your build' have not the code blocks that they had")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "app.cpp").write_text(program(code))
    # README's lines, and between them the program that they refer to.
    package, _, link = cmake[0].partition("\n")
    (folder / "CMakeLists.txt").write_text("cmake_minimum_required(VERSION 3.25)\nproject(app LANGUAGES CXX)\n"
                                           f"{package}\nadd_executable(app app.cpp)\n{link}")
    (folder / "pkg_config_modules").write_text(modules.group(1) + "\n")


if __name__ == "__main__":
    main()
