#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks facts about the tree: licence lines, file lengths, addresses or paths that must not be in it, the tests and limits that SECURITY.md
names, files that are opened for writing past core/file.hpp, and words.

    check_tree.py                 checks; exits with 1 if something is wrong
    check_tree.py --update        writes scripts/words_budget.txt: counts that went down, and folders that are new
    check_tree.py --words FOLDER  lists the words that FOLDER's budget counts

Words are counted in comments and strings of C, C++, CMake and Python, and in pages: a sentence that begins with "Of" or "Than", which
has no subject where it stands, and "who", "whoever", "nobody" or "somebody", which here mostly stand for a thing that has a name. Each
top-level folder has a budget. A count above it is an error; --update never raises one.
"""
import collections
import pathlib
import re
import subprocess
import sys

MAX_LINES = 620
SOURCES = (".cpp", ".hpp", ".h", ".c", ".ipp", ".py", ".sh", ".cmake")
VERSION = re.search(r'TENON_VERSION "([\d.]+)"', pathlib.Path("core/version.hpp").read_text())[1]
# Paths in a home or work folder, package indexes, developers' notes: never useful to a reader.
BANNED = [
    (re.compile(r"(?<![\w.])/(?:work|root|home)/\w+"), "a path of one machine"),
    (re.compile(r"https?://[^\s\"']*/(?:simple|debian)(?:/|\b)|--(?:extra-)?index-url"), "a package host"),
    (re.compile(r'"[^"\n]*(?<![\d.])' + re.escape(VERSION) + r"(?![\d.])"), "the release; it stands in core/version.hpp alone"),
    (re.compile(r"\b(?:TODO|FIXME|XXX)\b(?!\(#\d+\))"), "a TODO without an issue number"),
]

BUDGET = pathlib.Path("scripts/words_budget.txt")
BUDGET_HEAD = """# Words that scripts/check_tree.py counts, for each top-level folder (`.`: files in none). A number may only go down: mend some, then run
# scripts/check_tree.py --update. Empty lines keep changes of two folders apart when branches are merged.
"""
# After a person these are right. A word in quotes is one that a text is about.
WORD = re.compile(r"(?<![\"'`\w])(?:(?:Of|Than)(?=\s)|(?<!people )(?<!person )(?<!developer )(?<!developers )(?<!programmers )"
                  r"(?<!newcomer )(?<!contributor )(?<!anyone )(?:[Ww]ho|[Ww]hoever|[Nn]obody|[Ss]omebody)\b)(?![\"`]|'(?!s\b))")
# Comments and strings, by how a language writes them. A quote after a digit separates thousands.
C_TEXT = re.compile(r"//[^\n]*|/\*.*?\*/|R\"(?P<mark>[^\s()\"]*)\(.*?\)(?P=mark)\"|\"(?:\\.|[^\"\\\n])*\"|(?<!\w)'(?:\\.|[^'\\\n])+'", re.S)
PYTHON_TEXT = re.compile(r"#[^\n]*|\"\"\".*?\"\"\"|'''.*?'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)
CMAKE_TEXT = re.compile(r"#[^\n]*|\"(?:\\.|[^\"\\])*\"", re.S)
CODE_IN_PAGES = re.compile(r"^```.*?^```$|`[^`\n]+`", re.M | re.S)


def problems(path: pathlib.Path):
    text = path.read_text(errors="replace")
    lines = text.count("\n")
    if path.suffix in SOURCES or path.name == "CMakeLists.txt":
        if "SPDX-License-Identifier: Apache-2.0" not in text[:400]:
            yield f"{path}: no licence line at the top"
        if lines > MAX_LINES:
            print(f"{path}: {lines} lines, more than {MAX_LINES}: has it two jobs?")
    if path.name == pathlib.Path(__file__).name or path.as_posix() in ("core/version.hpp",):
        return
    for pattern, what in BANNED:
        for match in pattern.finditer(text):
            yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {what}: {match.group(0)}"


def prose(path: pathlib.Path, text: str):
    """The parts of a file that are read as sentences: (offset, text)."""
    if path.suffix == ".md":
        yield 0, CODE_IN_PAGES.sub(lambda code: re.sub(r"[^\n]", "`", code[0]), text)
        return
    if path.suffix in (".cpp", ".hpp", ".h", ".c", ".ipp"):
        pattern = C_TEXT
    elif path.suffix == ".cmake" or path.name == "CMakeLists.txt":
        pattern = CMAKE_TEXT
    elif path.suffix == ".py":
        pattern = PYTHON_TEXT
    else:
        return
    for match in pattern.finditer(text):
        opening = 0 if match[0][0] in "/#" else re.match(r'R"[^(]*\(|"""|\'\'\'|.', match[0]).end()
        yield match.start() + opening, match[0][opening:] if opening == 0 else match[0][opening:-1]


def words(path: pathlib.Path):
    """What the budget counts in a file: (line number, the line)."""
    if path.name in (pathlib.Path(__file__).name, "check_tree_test.py"):
        return
    text = path.read_text(errors="replace")
    lines = text.split("\n")
    for start, part in prose(path, text):
        for match in WORD.finditer(part):
            line = text.count("\n", 0, start + match.start())
            yield line + 1, lines[line].strip()


SECURITY = pathlib.Path("SECURITY.md")


def security_problems(text: str):
    """Rows of SECURITY.md that name a test or a line of code which the tree does not have. A folder that was deleted takes its rows along."""
    promises = text.partition("## What is promised")[2].partition("## Limits")
    for part, what in ((promises[0], "test"), (promises[2], "default")):
        for row in part.split("\n"):
            cells = [cell.strip() for cell in row.strip("|").split("|")]
            if not row.startswith("|") or set(row) <= {"|", "-"} or cells[-1] in ("test", "in the code"):
                continue
            named = re.findall(r"`([\w/.]+): ([^`]+)`", cells[-1])
            if not named:
                yield f"{SECURITY}: a row without a {what}: {row}"
            for name, wanted in named:
                path = pathlib.Path(name)
                if not path.exists():
                    if path.parent.exists():
                        yield f"{SECURITY}: {name} does not exist"
                    continue
                suite = re.fullmatch(r"(\w+)\.(\w+)", wanted)
                pattern = (rf"\bTEST(?:_F|_P)?\({suite[1]}, {suite[2]}\)" if suite else
                           rf"^def {wanted}\(" if wanted.startswith("test_") else rf"(?<!\w){re.escape(wanted)}(?![\w'])")
                if not re.search(pattern, path.read_text(), re.M):
                    yield f"{SECURITY}: {name} has no {what} {wanted}"


# How files are opened for writing without core/file.hpp. fopen's mode tells whether it writes.
OWN_OPEN = {
    (".cpp", ".hpp", ".h", ".c", ".ipp"): re.compile(
        r"\b(?:std::)?w?(?:ofstream|fstream|filebuf)\b|\b(?:std::)?w?f(?:re)?open(?:64|_s)?\((?!.*,\s*\"r[bem]*\")|\bO_(?:CREAT|TMPFILE)\b|"
        r"(?<![\w.>])(?:mk(?:d|o)?stemp|tmpfile|creat|avio_open2?)\(|\bcopy_file\(|\bCreateFile[AW2]?\(|\bim(?:write|encode)\(|\bVideoWriter\b"),
    (".py",): re.compile(r"(?<![\w.])(?:io\.)?open\([^)\n]*[\"'][rbt]*[wax+][rbt+]*[\"']|\.write_(?:text|bytes)\(|\b(?:mkstemp|NamedTemporaryFile)\("),
}
# Tests, tools of developers and what only the build runs; and Python outside the package that users install.
NO_PRODUCT = re.compile(r"(?:^|/)(?:tests|testing|programs|consumer)/|^compat/openvino/remote/|^(?:fuzz|bench|examples|findings|docs|scripts|models|cmake)/|_(?:test|bench)\.\w+$|"
                        r"^(?!bindings/python/tenon/).*\.py$")


def own_opens(path: pathlib.Path, text: str) -> int:
    """The number of lines that open a file for writing by themselves; comments and include lines do not count."""
    pattern = next((each for suffixes, each in OWN_OPEN.items() if path.suffix in suffixes), None)
    if not pattern or NO_PRODUCT.search(path.as_posix()):
        return 0
    lines = (re.sub(r"//.*", "", line) for line in text.split("\n") if not re.match(r"\s*(?:#|///?|\*)", line))
    return sum(1 for line in lines if pattern.search(line))


def file_problems(opens: dict, text: str):
    """Files that open outputs by themselves and stand not in SECURITY.md's list with their reason, and rows of it that have become wrong."""
    rows = re.findall(r"^\| `([\w/.]+)` \| (\d+) \| (\S[^|]*)\|$", text.partition("## Files that are written otherwise")[2].partition("\n## ")[0], re.M)
    known = {name: int(count) for name, count, _ in rows}
    for name, count in sorted(opens.items()):
        if count > known.get(name, 0):
            yield (f"{name}: opens files for writing in {count} places, {known.get(name, 0)} may: use NewFile, NewFileStream or GrowingFile of "
                   f"core/file.hpp, or give the reason in {SECURITY}, \"Files that are written otherwise\"")
    for name, count in sorted(known.items()):
        if pathlib.Path(name).exists() and opens.get(name, 0) < count:
            yield f"{SECURITY}: {name} opens files for writing in {opens.get(name, 0)} places, not in {count}"


def folder_of(path: pathlib.Path) -> str:
    return path.parts[0] if len(path.parts) > 1 else "."


def budget() -> dict[str, int]:
    lines = BUDGET.read_text().splitlines() if BUDGET.exists() else []
    return {folder: int(count) for folder, count in (line.split() for line in lines if line and not line.startswith("#"))}


def over_budget(counts, known):
    for folder, count in sorted(counts.items()):
        if count > known.get(folder, 0):
            yield (f"{folder}: {count} sentences begin with Of or Than or say who, nobody or somebody, {known.get(folder, 0)} may: name the "
                   f"thing (scripts/check_tree.py --words {folder} lists them; {BUDGET})")


def update(counts) -> int:
    known = budget()
    kept = {folder: min(counts[folder], known.get(folder, counts[folder])) for folder in sorted(set(counts) | set(known))}
    BUDGET.write_text(BUDGET_HEAD + "".join(f"\n{folder} {count}\n" for folder, count in kept.items()))
    found = list(over_budget(counts, kept))
    print("\n".join(found) if found else f"{BUDGET}: {sum(kept.values())} words in {len(kept)} folders")
    return 1 if found else 0


def main() -> int:
    names = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")
    files = [path for path in map(pathlib.Path, filter(None, names)) if path.exists() and path.suffix not in (".onnx", ".mp4", ".json", ".png", ".xz")]
    if sys.argv[1:2] == ["--words"]:
        for path in files:
            if folder_of(path) == sys.argv[2].strip("/"):
                print("".join(f"{path}:{line}: {text}\n" for line, text in words(path)), end="")
        return 0
    counts = collections.Counter()
    for path in files:
        counts[folder_of(path)] += sum(1 for _ in words(path))
    if sys.argv[1:] == ["--update"]:
        return update(counts)
    found = [problem for path in files for problem in problems(path)]
    found += over_budget(counts, budget())
    found += security_problems(SECURITY.read_text())
    opens = {path.as_posix(): own_opens(path, path.read_text(errors="replace")) for path in files}
    found += file_problems({name: count for name, count in opens.items() if count}, SECURITY.read_text())
    print("\n".join(found) if found else "licence lines, lengths, forbidden words and budgets of words: fine")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
