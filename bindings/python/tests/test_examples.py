# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/python run on the demo's model and clip."""
import os
import re
import subprocess
import sys

import pytest
from conftest import source_tree

import tenon as tn

ROOT = source_tree()
CLIP, MODEL = ROOT / "models/demo.mp4", ROOT / "models/demo.onnx"
pytestmark = pytest.mark.skipif(not (ROOT / "examples/python").exists() or not CLIP.exists() or "elements ffmpeg" in tn.absent(),
                                reason="no examples and clip beside this test, or no FFmpeg")


def run(program, *arguments):
    done = subprocess.run([sys.executable, ROOT / "examples/python" / program, *arguments], capture_output=True, text=True, timeout=120, env=dict(os.environ))
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout


def test_arrays():
    out = run("arrays.py", MODEL)
    assert "NumPy in and out: 0 bytes copied" in out and "the same memory" in out and re.search("refused: .*negative strides", out)


def test_detect(tmp_path):
    out = run("detect.py", CLIP, MODEL, "--device", "CPU", "--frames", "30", "--save", tmp_path / "out.mp4")
    assert re.search(r"objects: .*\d+ x circle", out), out
    assert len(list(tn.open(tmp_path / "out.mp4"))) == 30
    none = subprocess.run([sys.executable, ROOT / "examples/python/detect.py", "/dev/video97", MODEL], capture_output=True, text=True, timeout=120)
    assert none.returncode != 0 and "v4l2: \"/dev/video97\"" in none.stderr


def test_async_queue():
    assert re.search(r"600 frames by \d+ requests", run("async_queue.py", CLIP, MODEL))
