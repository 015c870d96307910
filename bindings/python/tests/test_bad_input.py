# SPDX-License-Identifier: Apache-2.0
"""Every public function and member, with arguments of wrong types, values, devices and numbers, by position and by keyword: a Python exception, never a
crash, a hang or an error without a name. In an interpreter of its own (bad_calls.py), whose death would name the call. ./dev check python runs it
under the address sanitizer."""
import os
import pathlib
import subprocess
import sys

import numpy
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


class Throws:
    """No iterator, for a reason of its own."""

    def __iter__(self):
        raise TypeError("the program's own reason")


class OneSource(tn.Source):
    """One picture; open() and frames() give what `gives` says."""

    gives = {}

    def open(self):
        return self.gives.get("open")

    def frames(self):
        return self.gives.get("frames", [numpy.zeros((4, 6, 3), numpy.uint8)])


@pytest.mark.parametrize("call, says", [
    (lambda: tn.Pipeline({"nodes": 5}), '"nodes" of a pipeline is a list.*not 5'),
    (lambda: tn.Pipeline({"nodes": {"a": 1}}), '"nodes" of a pipeline is a list'),
    (lambda: tn.Pipeline({"nodes": [], "patience_ms": None}), "patience_ms.*milliseconds, not None"),
    (lambda: tn.Pipeline(frames="3").add(OneSource).add("null").run(), "frames is a number.*not '3'"),
    (lambda: tn.Pipeline(on_error=5).add(OneSource).add("null").run(), 'on_error is "stop", "end" or "restart", not 5'),
    (lambda: tn.Pipeline(restart_delay="x").add(OneSource).add("null").run(), "restart_delay is a number of seconds, not 'x'"),
    (lambda: tn.Pipeline().add(OneSource).add("null", id=5).run(), "name of a node is a str, not 5"),
    (lambda: tn.Pipeline().add(OneSource).add("null", after=5), "after is the name of a node.*not 5"),
    (lambda: tn.Pipeline().add(OneSource).add("null", queue=5).run(), "queue is a dict.*not 5"),
    (lambda: tn.Pipeline().add(OneSource).add("null", queue={"size": 1.5}).run(), "queue: size is a number of frames, not 1.5"),
    (lambda: tn.ledger(5).__enter__(), "a ledger is that of.*not of 5"),
    (lambda: tn.save_model(None, "x.xml"), "what is written is a Model.*not None"),
    (lambda: tn.serialize(tn.Tensor(), "x.xml"), "what is written is a Model"),
    (lambda: tn.start_trace(2**60), "capacity is a number of spans"),
    (lambda: tn.open(".", ahead=None), "ahead is a number of frames, not None"),
    (lambda: tn.open(["a.mp4", "b.mp4"]), "what is opened is a path, a URL or the number of a camera, not \\['a.mp4'.*tenon.Pipeline"),
    (lambda: tn.open(".", format=5), "format is the name of a pixel format.*not 5"),
    (lambda: tn.open(".", model="x"), "model is a CompiledModel.*not 'x'"),
    (lambda: tn.open(".", quality="best"), 'quality is "fast" or "exact", not \'best\''),
    (lambda: tn.Frame(numpy.zeros((4, 6, 3), numpy.uint8)).to("rgb", quality="best"), 'quality is "fast" or "exact"'),
])
def test_wrong_settings_are_named(call, says):
    with pytest.raises((TypeError, ValueError), match=says):
        call()


@pytest.mark.parametrize("gives, says", [
    ({"open": 5}, "open\\(\\) of a source gives is a dict.*not 5"),
    ({"open": {"width": "a"}}, "open\\(\\): width is a number of pixels, not 'a'"),
    ({"open": {"width": -1}}, "open\\(\\): width is a number of pixels, not -1"),
    ({"open": {"fps": float("nan")}}, "open\\(\\): fps is a number from 0 to 1e9, not nan"),
    ({"frames": None}, "frames\\(\\) of a source gives an iterator.*not None"),
    ({"frames": 5}, "frames\\(\\) of a source gives an iterator.*not 5"),
    ({"frames": Throws()}, "the program's own reason"),
])
def test_what_a_source_gives_wrongly_is_named(gives, says):
    with pytest.raises((TypeError, ValueError), match=says):
        tn.Pipeline().add(type("Wrong", (OneSource,), {"gives": gives})).add("null").run()


@pytest.mark.parametrize("where", ["frames", "process"])
def test_texts_that_cannot_be_encoded_are_escaped(where):
    """A file name with bytes that are no UTF-8 has surrogates in Python; an exception with one ended the process."""
    def fails(*_):
        raise KeyError("caf\udce9.mp4") if where == "frames" else ValueError("no caf\udce9.mp4")

    source = type("Names", (OneSource,), {"frames": fails} if where == "frames" else {})
    pipeline = tn.Pipeline().add(source).add(fails if where == "process" else "null")
    if where == "process":
        pipeline.add("null")
        with pytest.raises(RuntimeError, match=r"ValueError: no caf\\udce9\.mp4") as info:
            pipeline.run()
        assert isinstance(info.value.__cause__, ValueError) and "test_bad_input.py" in pipeline.failures[0]["message"]
    else:  # repr() escapes it already.
        with pytest.raises(KeyError, match="udce9"):
            pipeline.run()
