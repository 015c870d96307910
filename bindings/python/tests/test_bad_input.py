# SPDX-License-Identifier: Apache-2.0
"""Every public function and member, with arguments of wrong types, values, devices and numbers, by position and by keyword: a Python exception, never a
crash, a hang or an error without a name. In an interpreter of its own (bad_calls.py), whose death would name the call. ./dev check python runs it
under the address sanitizer."""
import os
import pathlib
import subprocess
import sys

import pytest

import tenon as tn

FOLDER = pathlib.Path(__file__).resolve().parent


@pytest.mark.parametrize("what", ["functions", "members", "keywords"])
def test_wrong_arguments_raise(what, tmp_path, request):
    clip = "" if "elements ffmpeg" in tn.absent() else request.getfixturevalue("clip")
    if what == "keywords" and not list(pathlib.Path(tn._native.__file__).parent.glob("_native/*.pyi")):
        pytest.skip("this build makes no stubs")
    done = subprocess.run([sys.executable, "-X", "faulthandler", str(FOLDER / "bad_calls.py"), what, str(clip), str(tmp_path)], capture_output=True, text=True, timeout=300, check=False,
                          env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
    assert done.returncode == 0, f"exit code {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-2000:]}"
    assert int(done.stdout.split()[-2]) > 5000, done.stdout
