# SPDX-License-Identifier: Apache-2.0
"""Models that the tests make by code, and what they share."""
import os
import pathlib
import subprocess
import sys

import numpy
import pytest

import tenon as tn


def source_tree():
    """The tree that these tests lie in; where they were copied out of it, their folder, which has nothing else of it."""
    here = pathlib.Path(__file__).resolve().parent
    return next((each for each in here.parents if (each / "bindings/python/tests").exists()), here)


def relu_model(shape=(1, 3, 4), kind="f32"):
    """One input x, one output y = max(x, 0)."""
    x = tn.Parameter(kind, list(shape))
    x.set_friendly_name("x")
    x.output(0).set_names({"x"})
    y = tn.make_node("Relu", [x], name="y")
    y.output(0).set_names({"y"})
    return tn.Model([y], [x], "relu")


def two_inputs_model():
    """sum = a + b and product = a * b of [2, 3] in f32."""
    a, b = tn.Parameter("f32", [2, 3]), tn.Parameter("f32", [2, 3])
    a.output(0).set_names({"a"})
    b.output(0).set_names({"b"})
    total, product = tn.make_node("Add", [a, b], name="total"), tn.make_node("Multiply", [a, b], name="product")
    total.output(0).set_names({"sum"})
    product.output(0).set_names({"product"})
    return tn.Model([total, product], [a, b], "two")


@pytest.fixture(scope="session")
def clip(tmp_path_factory):
    """60 pictures of 320 x 240 whose brightness rises with their number, by FFmpeg, without loss."""
    path = tmp_path_factory.mktemp("media") / "clip.mkv"
    pictures = b"".join(bytes([i * 4]) * (320 * 240 * 3) for i in range(60))
    subprocess.run(["ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", "320x240", "-r", "30", "-i", "-", "-c:v", "ffv1", "-pix_fmt", "bgr0", str(path)],
                   input=pictures, check=True)
    return path


@pytest.fixture
def relu():
    return tn.compile_model(relu_model(), "CPU")


@pytest.fixture
def two():
    return tn.compile_model(two_inputs_model(), "CPU")


def run_python(code, expect=0, timeout=60, leaks=False):
    """Runs code in an interpreter of its own; returns what it printed."""
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True, timeout=timeout, env=dict(os.environ, TENON_PYTHON_LEAKS="1"))
    assert done.returncode == expect, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
    assert leaks or "leaked" not in done.stderr, done.stderr
    return done.stdout


@pytest.fixture
def python():
    return run_python


def ramp(*shape):
    return numpy.arange(-3, numpy.prod(shape) - 3, dtype=numpy.float32).reshape(shape)
