# SPDX-License-Identifier: Apache-2.0
"""Elements in Python in programs that are not Python's: the tool and GStreamer's, by the elements python, python_source and python_sink."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

import pytest
from conftest import source_tree

import tenon as tn
from tenon.__main__ import tool

ROOT = source_tree()
EXAMPLE = ROOT / "examples" / "python_element" / "brightness.py"
LIBRARY = tool().parents[1] / "lib"
# The interpreter of this test has its library in itself where that is no shared one; the system's of the same version then serves.
PYTHONS = [each for each in (sys.executable, f"/usr/bin/python{sys.version_info[0]}.{sys.version_info[1]}") if os.path.exists(each)]

pytestmark = pytest.mark.skipif("elements python" in tn.absent() or not EXAMPLE.exists(), reason="no examples beside this test, or no elements in Python")


def environment(python=sys.executable):
    paths = [str(pathlib.Path(tn.__file__).parents[1]), sysconfig.get_path("purelib"), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "TENON_PYTHON": python, "PYTHONPATH": os.pathsep.join(each for each in paths if each), "TENON_ELEMENT_PATH": str(LIBRARY)}


def has_library():
    name = f"libpython{sysconfig.get_config_var('LDVERSION')}.so.1.0"
    import ctypes
    for each in (os.path.join(sysconfig.get_config_var("LIBDIR"), name), name):
        try:
            return bool(ctypes.CDLL(each))
        except OSError:
            pass
    return False


needs_library = pytest.mark.skipif(not has_library(), reason="no shared library of this Python: the system package libpython3 of its version")
build_tool = tool() if tool().exists() else ROOT / "build" / "release" / "bin" / "tenon"
needs_tool = pytest.mark.skipif(not build_tool.exists(), reason="no command-line tool here")
plugin = build_tool.parents[1] / "lib" / "gstreamer-1.0"
needs_gstreamer = pytest.mark.skipif(not (plugin / "libgsttenon.so").exists() or not shutil.which("gst-launch-1.0"), reason="no GStreamer, or no plugin of Tenon")


def run(*words, python=sys.executable, cwd=None, **more):
    return subprocess.run([str(word) for word in words], env={**environment(python), **more}, cwd=cwd, capture_output=True, text=True, timeout=100)


@pytest.fixture(scope="module")
def launch(tmp_path_factory):
    """Runs gst-launch-1.0. The list of plugins is made once."""
    folder = tmp_path_factory.mktemp("gst")
    return lambda *line: run("gst-launch-1.0", "-q", *line, cwd=folder, GST_PLUGIN_PATH=str(plugin), GST_REGISTRY=str(folder / "registry.bin"))


def pipeline_of(folder, *nodes):
    path = folder / "pipeline.json"
    path.write_text(json.dumps({"nodes": [{"element": element, "parameters": parameters} for element, parameters in nodes]}))
    return path


def test_in_a_process_of_python(tmp_path):
    pipeline = tn.Pipeline().add("python_source", module=EXAMPLE, kwarg='{"count": 6, "width": 64}').add("python", module=EXAMPLE)
    frames = list(pipeline)
    assert len(frames) == 6 and frames[5].width == 64 and frames[3].time == pytest.approx(0.12)
    assert '"number": 5' in json.loads(frames[5].json())["metadata"][0]["text"]
    tn.Pipeline().add("python_source", module=EXAMPLE).add("python_sink", module=EXAMPLE, kwarg=json.dumps({"path": str(tmp_path / "out.txt")})).run()
    assert (tmp_path / "out.txt").read_text() == "25 pictures, brightness 25.5\n"


@needs_tool
@needs_library
def test_the_tool_runs_pipeline_files(tmp_path):
    for python in PYTHONS:
        done = run(build_tool, "pipeline", EXAMPLE.with_name("pipeline.json"), cwd=EXAMPLE.parent, python=python)
        assert done.returncode == 0, done.stderr
        assert "10 pictures, brightness 25.5" in done.stdout, done.stdout + done.stderr


@needs_gstreamer
@needs_library
def test_gstreamer_runs_them(launch, tmp_path):
    out = tmp_path / "out.txt"
    kwarg = json.dumps({"path": str(out)})
    done = launch("videotestsrc", "num-buffers=8", "pattern=white", "!", "video/x-raw,format=GRAY8,width=64,height=48", "!", "tenonpython", f"module={EXAMPLE}", "class=Brightness",
                   'kwarg={"least": 10}', "!", "tenonjson", f"path={tmp_path}/lines.jsonl")
    assert done.returncode == 0 and "ERROR" not in done.stderr, done.stderr
    lines = (tmp_path / "lines.jsonl").read_text().splitlines()
    assert len(lines) == 8 and '"number": 7' in json.loads(lines[7])["metadata"][0]["text"], lines
    done = launch("videotestsrc", "num-buffers=8", "pattern=black", "!", "video/x-raw,format=GRAY8,width=64,height=48", "!", "tenonpython", f"module={EXAMPLE}",
                   'kwarg={"least": 30}', "!", "tenonpython_sink", f"module={EXAMPLE}", f"kwarg={kwarg}")
    assert done.returncode == 0, done.stderr
    assert not out.exists() or out.read_text().startswith("0 pictures"), out.read_text()
    done = launch("tenonpython_source", f"module={EXAMPLE}", "!", "videoconvert", "!", "video/x-raw,format=GRAY8", "!", "tenonpython_sink", f"module={EXAMPLE}", f"kwarg={kwarg}")
    assert done.returncode == 0, done.stderr
    assert out.read_text().startswith("25 pictures"), out.read_text()


FAILING = '''import tenon as tn


class Fails(tn.Transform):
    def process(self, frame):
        if frame.time and frame.time > 0.1:
            raise ZeroDivisionError("in the element")


class Other(tn.Sink):
    def write(self, frame):
        frame.nothing_of_this_name
'''


@pytest.fixture
def failing(tmp_path):
    path = tmp_path / "failing.py"
    path.write_text(FAILING)
    return path


@needs_gstreamer
@needs_library
def test_gstreamer_gets_pythons_line(launch, failing):
    done = launch("videotestsrc", "num-buffers=30", "!", "tenonpython", f"module={failing}", "!", "fakesink")
    assert done.returncode != 0 and "ZeroDivisionError: in the element" in done.stderr and "failing.py\", line 7" in done.stderr, done.stderr


@needs_tool
@needs_library
def test_the_tool_gets_pythons_line(failing, tmp_path):
    done = run(build_tool, "pipeline", pipeline_of(tmp_path, ("python_source", {"module": str(EXAMPLE)}), ("python_sink", {"module": str(failing)})))
    assert done.returncode != 0 and "nothing_of_this_name" in done.stderr and 'failing.py", line 12' in done.stderr, done.stderr


def test_what_is_wrong_is_named(failing, tmp_path):
    (tmp_path / "no_python.py").write_text("this is no Python")
    (tmp_path / "empty.py").write_text("x = 1\n")
    wrong = [
        ({"module": str(tmp_path / "missing.py")}, "no Python file"),
        ({"module": "no.such_module"}, "No module named"),
        ({"module": str(tmp_path / "no_python.py")}, "SyntaxError"),
        ({"module": str(tmp_path / "empty.py")}, "has no transform"),
        ({"module": str(EXAMPLE), "class": "Nothing"}, "no class or function 'Nothing'; it has Brightness, Bars, Count"),
        ({"module": str(EXAMPLE), "class": "Bars"}, "Bars is a source, for which there is the element python_source"),
        ({"module": str(EXAMPLE), "kwarg": "[1]"}, "JSON object"),
        ({"module": str(EXAMPLE), "kwarg": "{least"}, "no JSON"),
        ({"module": str(EXAMPLE), "kwarg": '{"most": 1}'}, "most"),
        ({"module": str(EXAMPLE), "kwarg": '{"least": "much"}'}, "least"),
        ({}, "module"),
    ]
    for parameters, text in wrong:
        with pytest.raises(ValueError, match=text):
            tn.Pipeline().add("python_source", module=EXAMPLE).add("python", **{name + "_": value for name, value in parameters.items()}).add("null").run()


@needs_tool
def test_no_python_is_an_error_with_a_remedy(tmp_path):
    path = pipeline_of(tmp_path, ("python_source", {"module": str(EXAMPLE)}), ("null", {}))
    done = run(build_tool, "pipeline", path, python="/nonexistent/python")
    assert done.returncode != 0 and "/nonexistent/python does not run" in done.stderr and "TENON_PYTHON" in done.stderr, done.stderr
