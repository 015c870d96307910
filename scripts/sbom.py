#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A bill of materials in CycloneDX 1.5: sbom.py BUILD TREE OUT.json [--version V]

TREE is what a package holds (an installation). Components are the libraries that its programs and libraries name and the loader finds, with
the Debian or PyPI package that has them, and the packages whose headers BUILD compiled in. Nothing is listed by hand: a library that is
linked tomorrow is in tomorrow's bill. Where a file belongs to no package, its name stands for it.
"""
import argparse
import hashlib
import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[1]
C = {**os.environ, "LC_ALL": "C"}


def output(*command, **options):
    return subprocess.run([str(each) for each in command], capture_output=True, text=True, env=C, check=False, **options).stdout


def elf_files(tree):
    for path in sorted(tree.rglob("*")):
        if path.is_file() and not path.is_symlink() and path.open("rb").read(4) == b"\x7fELF":
            yield path


def linked(tree, build):
    """{library: (file or None, the files of the tree that name it)}; a library that this machine lacks has no file."""
    found = {}
    files = list(elf_files(tree))
    own = {path.name for path in files} | {match for path in files for match in re.findall(r"\(SONAME\)[^\[]*\[(.*)\]", output("readelf", "-dW", path))}
    for path in files:
        needed = re.findall(r"\(NEEDED\)[^\[]*\[(.*)\]", output("readelf", "-dW", path))
        listed = dict(re.findall(r"^\s*(\S+) => (/\S+)", output("ldd", path), re.M))
        for name in needed:
            bundled = tree / "lib" / "tenon" / name
            if name in own and not any(bundled.parent.glob(name)):
                continue
            file = listed.get(name) or next((each for each in ("/lib64/" + name,) if os.path.exists(each)), None)
            # A library that is installed along is what the build found.
            built = build / "lib" / "tenon" / name
            entry = found.setdefault(name, [os.path.realpath(built) if built.exists() else file, set()])
            entry[1].add(path.relative_to(tree).as_posix())
    return found


def headers(build):
    """Files outside the tree that the build's objects were compiled with."""
    listed = output("ninja", "-C", build, "-t", "deps")
    paths = {line.strip() for line in listed.splitlines() if line.startswith("    ")}
    for path in paths:
        real = os.path.realpath(os.path.join(build, path))
        if not real.startswith((str(ROOT) + "/", str(build) + "/")) or "/build/venv" in real:
            yield real


def pypi_files():
    """{real file: (name, version)} of the distributions in build/venv and in this interpreter's environment."""
    folders = [str(each) for each in (ROOT / "build").glob("venv*/lib/python3*/site-packages")]
    known = {}
    for distribution in importlib.metadata.distributions(path=folders or sys.path):
        for file in distribution.files or []:
            if file.suffix != ".py":
                known[os.path.realpath(distribution.locate_file(file))] = (distribution.metadata["Name"], distribution.version)
    return known


def debian_packages(files):
    """{file: (package, version, source)} by dpkg."""
    known, files = {}, sorted(files)
    aliases = {alias: file for file in files for alias in (file, re.sub(r"^/usr/lib", "/lib", file))}
    lines = []
    for start in range(0, len(files), 500):
        part = files[start:start + 500]
        lines += output("dpkg-query", "-S", *(alias for alias, file in aliases.items() if file in set(part))).splitlines()
    owners = {}
    for line in lines:
        package, separator, file = line.partition(": ")
        if separator and file in aliases:
            owners[aliases[file]] = package.split(",")[0].split(":")[0]
    asked = sorted(set(owners.values()))
    versions = {}
    if asked:
        for line in output("dpkg-query", "-W", "-f", "${Package}\t${Version}\t${source:Package}\n", *asked).splitlines():
            name, version, source = line.split("\t")
            versions[name] = (name, version, source)
    for file, package in owners.items():
        if package in versions:
            known[file] = versions[package]
    return known


def component(kind, name, version, properties, suite="debian"):
    purl = {"deb": f"pkg:deb/{suite}/{name}@{version.replace('+', '%2B')}", "pypi": f"pkg:pypi/{name.lower().replace('_', '-')}@{version}",
            "file": ""}[kind]
    entry = {"type": "library", "bom-ref": purl or f"file:{name}", "name": name, "properties": properties}
    if version:
        entry["version"] = version
    if purl:
        entry["purl"] = purl
    return entry


def bill(build, tree, version):
    libraries, included, pypi = linked(tree, build), set(headers(build)), pypi_files()
    files = {file for file, _ in libraries.values() if file}
    debian = debian_packages({os.path.realpath(file) for file in files} | included)
    uses = {}  # (kind, name, version) -> {property: values}

    def note(key, name, value):
        uses.setdefault(key, {}).setdefault(name, set()).add(value)

    for name, (file, by) in libraries.items():
        real = os.path.realpath(file) if file else None
        if real in pypi:
            key = ("pypi", *pypi[real])
        elif real in debian:
            key = ("deb", *debian[real][:2])
        else:
            key = ("file", name, "")
        note(key, "tenon:library", name)
        for each in by:
            note(key, "tenon:linked-by", each)
    for file in included:
        if file in pypi:
            note(("pypi", *pypi[file]), "tenon:headers", "compiled in")
        elif file in debian:
            note(("deb", *debian[file][:2]), "tenon:headers", "compiled in")
    components = [component(kind, name, number, [{"name": key, "value": ", ".join(sorted(values))} for key, values in sorted(found.items())])
                  for (kind, name, number), found in sorted(uses.items())]
    own = {"type": "application", "bom-ref": f"tenon@{version}", "name": "tenon", "version": version, "licenses": [{"license": {"id": "Apache-2.0"}}]}
    digest = hashlib.sha256(json.dumps(components, sort_keys=True).encode()).hexdigest()
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            # The same materials give the same number, so that two builds can be compared.
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'tenon {version} {digest}')}",
            "metadata": {"component": own, "tools": {"components": [{"type": "application", "name": "scripts/sbom.py"}]}},
            "components": components,
            "dependencies": [{"ref": own["bom-ref"], "dependsOn": [each["bom-ref"] for each in components]}]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("tree", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    asked = parser.parse_args()
    version = re.search(r'TENON_VERSION "([\d.]+)"', (ROOT / "core/version.hpp").read_text())[1]
    found = bill(asked.build.resolve(), asked.tree.resolve(), version)
    if not found["components"]:
        sys.exit(f"sbom: {asked.tree} holds no program or library that links anything")
    asked.out.write_text(json.dumps(found, indent=1) + "\n")
    print(f"{asked.out}: {len(found['components'])} components")


if __name__ == "__main__":
    main()
