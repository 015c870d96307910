# SPDX-License-Identifier: Apache-2.0
"""GstBuffers of PyGObject as frames and tensors. PyGObject of a system serves the Python of that system's version alone."""
import gc
import importlib.util
import os
import pathlib
import sys

import numpy
import pytest
from conftest import source_tree

import tenon as tn

SYSTEM = pathlib.Path("/usr/lib/python3/dist-packages/gi")


@pytest.fixture(scope="module")
def gst(tmp_path_factory):
    version = f"cpython-{sys.version_info[0]}{sys.version_info[1]}"
    if not importlib.util.find_spec("gi"):
        if not list(SYSTEM.glob(f"_gi.{version}-*.so")):
            pytest.skip("no PyGObject for this Python: the system package python3-gi")
        folder = tmp_path_factory.mktemp("gi")
        (folder / "gi").symlink_to(SYSTEM)  # Nothing else of the system's packages.
        sys.path.append(str(folder))
    import gi
    try:
        for name in ("Gst", "GstVideo"):
            gi.require_version(name, "1.0")
        from gi.repository import Gst, GstVideo  # noqa: F401
    except (ImportError, ValueError) as error:
        pytest.skip(f"no GStreamer for PyGObject: {error}")
    Gst.init(None)
    return Gst


def pull(gst, line):
    """The samples of a line that ends in an appsink."""
    pipeline = gst.parse_launch(f"{line} ! appsink name=sink sync=false")
    sink = pipeline.get_by_name("sink")
    pipeline.set_state(gst.State.PLAYING)
    samples = []
    while sample := sink.emit("pull-sample"):
        samples.append(sample)
    pipeline.set_state(gst.State.NULL)
    return samples


@pytest.mark.parametrize("name, planes", [("RGB", 1), ("GRAY8", 1), ("NV12", 2), ("I420", 3), ("BGRx", 1), ("Y42B", 3), ("YUY2", 1)])
def test_buffers_are_frames_in_place(gst, name, planes):
    from tenon.gstreamer import frame_of, tensor_of
    samples = pull(gst, f"videotestsrc num-buffers=3 ! video/x-raw,format={name},width=62,height=46,framerate=10/1")
    assert len(samples) == 3
    for number, sample in enumerate(samples):
        with tn.ledger() as moved:
            frame, whole = frame_of(sample.get_buffer(), sample.get_caps()), tensor_of(sample.get_buffer())
        assert moved.copied == 0 and frame.time == pytest.approx(number / 10) and (frame.width, frame.height) == (62, 46)
        assert len(frame.planes) == planes and not whole.writable and not frame.planes[0].writable
        assert frame.planes[0].data.__array_interface__["data"][0] == whole.data.__array_interface__["data"][0]
        ok, info = sample.get_buffer().map(gst.MapFlags.READ)
        assert ok and bytes(info.data) == bytes(whole.data)
        sample.get_buffer().unmap(info)
    kept = [frame_of(sample.get_buffer(), sample.get_caps()) for sample in samples]
    wanted = [numpy.array(frame.planes[0]) for frame in kept]
    del samples, sample, frame, whole
    gc.collect()
    assert all((numpy.asarray(frame.planes[0]) == each).all() for frame, each in zip(kept, wanted))


def test_a_buffer_goes_when_its_last_frame_goes(gst):
    from tenon.gstreamer import frame_of
    buffer = gst.Buffer.new_allocate(None, 64 * 48, None)
    buffer.fill(0, bytes([7]) * (64 * 48))
    caps = gst.Caps.from_string("video/x-raw,format=GRAY8,width=64,height=48,framerate=1/1")
    before = buffer.mini_object.refcount  # With the reference that asking takes.
    frame = frame_of(buffer, caps)
    assert buffer.mini_object.refcount > before
    plane = frame.planes[0]
    del frame
    gc.collect()
    assert numpy.asarray(plane).sum() == 7 * 64 * 48
    del plane
    gc.collect()
    assert buffer.mini_object.refcount == before


def test_pygobject_runs_tenons_elements_in_python(gst):
    """tenonpython in a process of Python's runs in its interpreter."""
    if not gst.ElementFactory.find("tenonpython"):
        pytest.skip("GStreamer does not find Tenon's plugin: GST_PLUGIN_PATH")
    example = source_tree() / "examples" / "python_element" / "brightness.py"
    assert len(pull(gst, f"tenonpython_source module={example} ! tenonpython module={example}")) == 25


@pytest.mark.parametrize("order", ["tenon gst", "gst tenon", "numpy gst tenon", "tenon numpy gst"])
def test_errors_are_exceptions_in_any_order_of_imports(gst, python, monkeypatch, order):
    """PyGObject makes libunwind, which GStreamer brings, the unwinder of libraries that come later; mixed with libgcc's, an exception ends the process."""
    import gi
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(pathlib.Path(gi.__file__).parent.parent), os.environ.get("PYTHONPATH")])))
    lines = {"numpy": "import numpy", "tenon": "import tenon as tn", "gst": "import gi; gi.require_version('Gst', '1.0'); from gi.repository import Gst; Gst.init(None)"}
    imports = "\n    ".join(lines[each] for each in order.split())
    said = python(f"""
try:
    {imports}
except ImportError as error:
    assert "before GStreamer" in str(error), error
    print("refused")
else:
    for call in (lambda: tn.Core().available_devices and tn.compile_model("missing.onnx"), lambda: tn.Pipeline().add("file", path="missing.mp4").add("null").run()):
        try:
            call()
        except tn.Error as error:
            print(type(error).__name__)
""").split()
    assert said == ["refused"] and order.startswith("numpy") or len(said) == 2, said


def test_what_is_wrong_is_named(gst):
    from tenon.gstreamer import frame_of, tensor_of
    caps = gst.Caps.from_string("video/x-raw,format=RGB,width=64,height=48,framerate=1/1")
    short = gst.Buffer.new_allocate(None, 10, None)
    with pytest.raises(ValueError, match="10 bytes"):
        frame_of(short, caps)
    for wrong in (None, 5, b"bytes", caps):
        with pytest.raises(TypeError, match="Gst.Buffer"):
            tensor_of(wrong)
        with pytest.raises(TypeError, match="Gst"):
            frame_of(short, wrong if wrong is not caps else None)
    with pytest.raises(ValueError, match="raw video"):
        frame_of(short, gst.Caps.from_string("audio/x-raw"))
    with pytest.raises(ValueError, match="bits"):
        frame_of(gst.Buffer.new_allocate(None, 64 * 48 * 4, None), gst.Caps.from_string("video/x-raw,format=GRAY16_LE,width=64,height=48,framerate=1/1"))
    assert tensor_of(gst.Buffer.new()).size == 0
