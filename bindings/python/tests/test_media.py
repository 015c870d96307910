# SPDX-License-Identifier: Apache-2.0
"""Frames, videos, pipelines and elements in Python."""
import asyncio
import base64
import gc
import json
import os
import re
import struct
import subprocess
import sys
import threading
import time
import types

import numpy
import pytest

import tenon as tn
from conftest import relu_model

pytestmark = pytest.mark.skipif("elements ffmpeg" in tn.absent(), reason="FFmpeg's elements do not work here")


def test_frames_over_arrays():
    array = numpy.arange(48 * 64 * 3, dtype=numpy.uint8).reshape(48, 64, 3)
    frame = tn.Frame(array, time=1.5)
    assert (frame.width, frame.height, frame.format, frame.time) == (64, 48, "rgb", 1.5)
    assert frame.numpy().__array_interface__["data"][0] == array.__array_interface__["data"][0]
    assert tn.Frame(array, "bgr24").to("rgb").numpy()[0, 0].tolist() == array[0, 0, ::-1].tolist()
    assert frame.to("rgb24") .numpy().__array_interface__["data"][0] == array.__array_interface__["data"][0]
    nv12 = frame.to("nv12")
    assert [plane.shape for plane in nv12.planes] == [(48, 64), (24, 32, 2)]
    with pytest.raises(ValueError, match="planes"):
        nv12.numpy()
    small = frame.to("gray", width=32, height=24)
    assert small.numpy().shape == (24, 32) and small.time == 1.5
    part = frame.crop(8, 4, 16, 10)
    assert (numpy.asarray(part) == array[4:14, 8:24]).all()
    with pytest.raises(IndexError):
        frame.crop(60, 0, 16, 16)
    assert tn.Frame(numpy.zeros((4, 6), numpy.uint8)).format == "gray8"
    with pytest.raises(ValueError, match='did you mean "rgb"'):
        frame.to("rgbz")
    for wrong in (numpy.zeros((4, 4, 5), numpy.uint8), numpy.zeros((4, 4, 3), numpy.float32), numpy.zeros(4, numpy.uint8)):
        with pytest.raises(ValueError, match="uint8"):
            tn.Frame(wrong)


def test_pixels_that_lie_apart_are_refused_with_the_remedy():
    picture = numpy.zeros((48, 64, 4), numpy.uint8)
    for strided in (picture[:, ::2], picture[..., :3], picture.transpose(1, 0, 2), picture[..., 0]):
        with pytest.raises(BufferError, match="ascontiguousarray"):
            tn.Frame(strided)
    assert tn.Frame(picture[:, :32]).width == 32, "rows may lie apart"


# What the track headers of MP4 files say of pictures that players turn clockwise by so many degrees, or mirror: a, b, c, d of ISO/IEC 14496-12.
TURNS = {0: (1, 0, 0, 1), 90: (0, 1, -1, 0), 180: (-1, 0, 0, -1), 270: (0, -1, 1, 0), "mirrored": (-1, 0, 0, 1)}


@pytest.fixture
def turned(tmp_path):
    """Writes an upright picture [48, 64, 3] as a video of two frames that is stored sideways, in 4:2:0 or as `pixels` says."""
    def write(picture, turn, pixels="yuv420p"):
        stored = numpy.fliplr(picture) if turn == "mirrored" else numpy.rot90(picture, turn // 90)
        lying, path = tmp_path / "lying.mp4", tmp_path / f"turned_{turn}_{pixels}.mp4"
        subprocess.run(["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{stored.shape[1]}x{stored.shape[0]}", "-r", "1", "-i", "-",
                        "-c:v", "libx264", "-qp", "0", "-pix_fmt", pixels, str(lying)], input=2 * numpy.ascontiguousarray(stored).tobytes(), check=True)
        data = lying.read_bytes()
        a, b, c, d = (value << 16 for value in TURNS[turn])
        as_it_lies, said = struct.pack(">9i", 1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30), struct.pack(">9i", a, b, 0, c, d, 0, 0, 0, 1 << 30)
        at = data.index(as_it_lies, data.index(b"tkhd"))
        path.write_bytes(data[:at] + said + data[at + len(said):])
        return path

    return write


def four_colours():
    """A picture whose quarters are red, green, blue and grey."""
    picture = numpy.full((48, 64, 3), 128, numpy.uint8)
    picture[:24, :32], picture[:24, 32:], picture[24:, :32] = (255, 0, 0), (0, 255, 0), (0, 0, 255)
    return picture


def differ(a, b):
    """The greatest difference; chroma that two pixels share differs by 21 where colours meet."""
    return int(numpy.abs(a.astype(int) - b.astype(int)).max())


@pytest.mark.parametrize("turn", TURNS)
def test_arrays_of_turned_videos_are_upright(turned, turn):
    """As FFmpeg's tool shows them, which turns pictures by filters of its own."""
    picture = four_colours()
    path = turned(picture, turn)
    shown = subprocess.run(["ffmpeg", "-v", "error", "-i", str(path), "-frames:v", "1", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"], capture_output=True, check=True).stdout
    shown = numpy.frombuffer(shown, numpy.uint8).reshape(48, 64, 3)
    assert differ(shown, picture) < 30
    with tn.open(path, format="rgb24") as video:
        assert (video.width, video.height) == (64, 48)
        frames = list(video)
    assert [frame.time for frame in frames] == [0, 1]
    for frame in frames:
        assert (frame.width, frame.height, frame.rotation, frame.mirrored) == (64, 48, 0, False)
        assert differ(frame.numpy(), shown) <= 3
    small = next(tn.open(path, format="rgb24", width=32))
    assert (small.width, small.height) == (32, 24) and differ(small.numpy()[2:10, 2:14], picture[4:20:2, 4:28:2]) < 30
    upright = next(tn.open(path, upright=True))
    assert (upright.width, upright.height, upright.rotation, upright.format) == (64, 48, 0, "i420") and differ(upright.to("rgb24").numpy(), shown) <= 3
    tall = next(tn.open(path, format="rgb24", width=64, height=64))
    assert tall.numpy().shape == (64, 64, 3)


@pytest.mark.parametrize("turn", TURNS)
def test_turned_videos_may_be_had_as_they_lie(turned, turn):
    picture = four_colours()
    path = turned(picture, turn)
    stored = numpy.fliplr(picture) if turn == "mirrored" else numpy.rot90(picture, turn // 90)
    for frame in (next(tn.open(path)), next(tn.open(path, upright=False))):
        assert (frame.height, frame.width) == stored.shape[:2] and frame.rotation == (0 if turn == "mirrored" else turn) and frame.mirrored == (turn == "mirrored")
        assert differ(frame.to("rgb24", upright=False).numpy(), stored) < 30
        with tn.ledger() as moved:
            assert differ(frame.to("rgb24").numpy(), picture) < 30
        assert moved.copied == (0 if turn == 0 else picture.nbytes)
        assert frame.to("gray", width=32).numpy().shape == (24, 32)
        assert frame.to().rotation == 0 and (turn != 0 or numpy.shares_memory(frame.to().planes[0].data, frame.planes[0].data))
    lying = next(tn.open(path, format="rgb24", upright=False))
    assert lying.numpy().shape == stored.shape and differ(lying.numpy(), stored) < 30


def test_upright_pictures_are_not_copied_to_be_upright(turned):
    with tn.open(turned(four_colours(), 0), upright=True) as video:
        assert len(list(video)) == 2 and sum(each["copied"] + each["converted"] for each in video.stats) == 0


def test_boxes_fit_upright_arrays(turned):
    def find(frame):
        frame.add_detection((32, 0, 64, 24), "green")

    for turn in TURNS:
        path = turned(four_colours(), turn)
        for frame in (next(iter(tn.Pipeline().add("file", path=path).add(find).add("convert", format="rgb", upright=True))),
                      next(iter(tn.Pipeline().add("file", path=path).add(find))).to("rgb24")):
            x1, y1, x2, y2 = (int(value) for value in frame.detections[0].box)
            assert differ(frame.numpy()[y1 + 2:y2 - 2, x1 + 2:x2 - 2], numpy.array([0, 255, 0])) < 30
        half = next(iter(tn.Pipeline().add("file", path=path).add(find))).to("rgb24", width=32)
        assert half.detections[0].box == (16, 0, 32, 12)


def test_what_cannot_be_turned_says_so(turned):
    path = turned(four_colours(), 90, "yuv422p")
    assert differ(next(tn.open(path, format="rgb24")).numpy(), four_colours()) < 30
    with pytest.raises(NotImplementedError, match="convert to another format"):
        next(tn.open(path, upright=True))
    for wrong in ("yes", 2, []):
        with pytest.raises(TypeError, match="upright"):
            tn.open(path, upright=wrong)


def test_parts_of_turned_pictures_are_where_boxes_say(turned):
    picture = numpy.zeros((48, 64, 3), numpy.uint8)
    picture[8:16, 40:60] = 255
    frame = next(tn.open(turned(picture, 90)))
    assert (frame.width, frame.height, frame.rotation) == (48, 64, 90)
    part = frame.crop(40, 8, 20, 8, upright=True)
    assert (part.width, part.height, part.rotation) == (8, 20, 90)
    assert part.to("rgb24").numpy().shape == (8, 20, 3) and part.to("rgb24").numpy().min() > 200
    with pytest.raises(tn.errors.OutOfRange, match="upright picture of 64x48"):
        frame.crop(40, 8, 25, 8, upright=True)


def test_a_frame_feeds_a_model():
    model = relu_model((1, 3, 24, 32))
    steps = tn.preprocess.PrePostProcessor(model)
    steps.input().model().set_layout("NCHW")
    compiled = tn.compile_model(steps.build(), "CPU")
    frame = tn.Frame(numpy.full((24, 32, 3), 7, numpy.uint8))
    assert (compiled.create_infer_request().infer(frame)[0] == 7).all()


def test_videos_are_iterators(clip):
    means = [int(frame.numpy().mean()) for frame in tn.open(clip, format="rgb24")]
    assert means == [i * 4 for i in range(60)]
    with tn.open(clip) as video:
        first = next(video)
        assert first.time == 0 and first.width == 320
    kept = list(tn.open(str(clip), format="rgb24", width=160))
    gc.collect()
    assert [int(frame.numpy().mean()) for frame in kept] == means and kept[0].width == 160 and kept[0].height == 120


def test_videos_come_from_other_processes(clip, tmp_path):
    socket = str(tmp_path / "frames.sock")
    serving = tn.Pipeline().add("file", path=clip).add("ipc_sink", socket=socket, subscribers=1).start()
    means = [int(frame.to("rgb24").numpy().mean()) for frame in tn.open("ipc:" + socket)]
    assert means == [i * 4 for i in range(60)]
    assert serving.wait(10) and not serving.failures and not os.path.exists(socket)


def test_videos_say_what_they_are(clip):
    video = tn.open(clip, width=160)
    assert (video.width, video.height, video.fps, video.live, video.frame_count) == (160, 120, 30, False, 60)
    assert len(list(video)) == 60 and video.width == 160
    video.close()
    for use in (lambda video: video.width, lambda video: list(video)):
        closed = tn.open(clip, loop=True)
        closed.close()
        assert not use(closed)
    assert tn.open(clip, realtime=True).live
    with pytest.raises(LookupError, match="no file matches"):
        print(tn.open("no_such_*.png").width)
    pipeline = tn.Pipeline().add("file", path=clip, loop=True).add("null")
    assert not pipeline.start().wait(0.05)
    pipeline.stop()
    assert pipeline.wait(5)


def test_videos_in_coroutines(clip):
    async def count():
        return [int(frame.numpy().mean()) async for frame in tn.open(clip, format="rgb24")]

    assert len(asyncio.run(count())) == 60


def test_many_openings_leave_nothing(clip):
    def counted():
        gc.collect()
        return len(os.listdir("/proc/self/fd")), threading.active_count(), len(os.listdir("/proc/self/task"))

    for _ in range(3):
        next(tn.open(clip))
    time.sleep(0.2)
    before = counted()
    for _ in range(20):
        next(tn.open(clip))
        list(tn.open(clip))
    time.sleep(0.2)
    after = counted()
    assert after[0] <= before[0] + 2 and after[2] <= before[2] + 4


def test_rgb_is_fast_or_exact(tmp_path):
    """A picture of one colour is within two levels of what ITU-T H.273 says, exact within one; NV12 as I420."""
    luma, u, v = 120, 90, 170
    expected = [1.164384 * (luma - 16) + 1.792741 * (v - 128), 1.164384 * (luma - 16) - 0.213249 * (u - 128) - 0.532909 * (v - 128),
                1.164384 * (luma - 16) + 2.112402 * (u - 128)]
    path = tmp_path / "colour.mkv"
    pixels = bytes([luma]) * (1280 * 720) + bytes([u]) * (640 * 360) + bytes([v]) * (640 * 360)
    subprocess.run(["ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", "yuv420p", "-s", "1280x720", "-i", "-", "-c:v", "ffv1", "-color_range", "tv", "-colorspace", "bt709", str(path)],
                   input=pixels, check=True)
    for quality, tolerance in (("fast", 2), ("exact", 1)):
        picture = next(tn.open(path, format="rgb24", quality=quality)).numpy()
        assert numpy.abs(picture.astype(float) - expected).max() <= tolerance, quality
        for other in ("nv12", "i420"):
            picture = next(tn.open(path, format=other)).to("bgr24", quality=quality).numpy()
            assert numpy.abs(picture[..., ::-1].astype(float) - expected).max() <= tolerance, (quality, other)
    with pytest.raises(ValueError, match="fast, exact"):
        tn.open(path, format="rgb24", quality="best")


def test_frames_may_be_kept(clip):
    kept = list(tn.Pipeline(frames=120).add("file", path=clip, loop=True).add("convert", format="rgb", limit=1000))
    assert len(kept) == 120
    frames = list(tn.open(clip, format="rgb24")) + list(tn.open(clip, format="rgb24"))
    assert [int(frame.numpy().mean()) for frame in frames] == [i * 4 for i in range(60)] * 2


def test_progress_bars(clip, monkeypatch):
    shown = []

    class Bar:
        def __init__(self, **kwargs):
            self.total, self.n = None, 0
            shown.append(self)

        def update(self):
            self.n += 1

        def refresh(self):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Bar))
    with tn.open(clip, progress=True) as video:
        assert len(list(video)) == 60 and video.frame_count == 60
    tn.Pipeline(frames=40).add("file", path=clip).add("null").run(progress=True)
    assert [(bar.total, bar.n) for bar in shown] == [(60, 60), (40, 40)]
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with pytest.raises(ImportError, match="pip install tqdm"):
        tn.open(clip, progress=True)


def test_encoders_are_quiet(clip, tmp_path, capfd):
    tn.Pipeline(frames=3).add("file", path=clip).add("write", path=tmp_path / "out.mp4").run()
    assert capfd.readouterr().err == "" and len(list(tn.open(tmp_path / "out.mp4"))) == 3


def test_a_picture_in_notebooks(clip):
    frame = next(tn.open(clip, width=160)).to("rgb")
    frame.numpy()[3, 5] = (1, 2, 3)
    found = re.fullmatch(r'<img src="data:image/png;base64,([^"]+)"/><br/>&lt;Frame: .*&gt;', frame._repr_html_())
    back = subprocess.run(["ffmpeg", "-v", "error", "-f", "png_pipe", "-i", "-", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
                          input=base64.b64decode(found.group(1)), capture_output=True, check=True).stdout
    assert back == frame.numpy().tobytes()
    assert "base64" in next(tn.open(clip))._repr_html_()


def test_missing_files_and_wrong_names(clip):
    with pytest.raises(FileNotFoundError, match="missing.mp4") as raised:
        tn.open("missing.mp4")
    assert isinstance(raised.value, LookupError) and isinstance(raised.value, tn.Error) and raised.value.filename == "missing.mp4"
    for read in (tn.read_model, tn.compile_model):
        with pytest.raises(FileNotFoundError, match="missing.onnx"):
            read("missing.onnx")
    with pytest.raises(LookupError, match="no_such"):
        next(tn.open("no_such_*.png"))
    with pytest.raises(LookupError, match="did you mean 'file'"):
        tn.Pipeline().add("fil", path="x").add("null").run()
    with pytest.raises(ValueError, match="path"):
        tn.Pipeline().add("file", pth="x").add("null").run()
    with pytest.raises(ValueError, match="on_error"):
        tn.Pipeline(on_error="ignore").add("file", path=clip).add("null").run()
    with pytest.raises(ValueError, match="no pixel format"):
        tn.open(clip, format="rbg")
    with pytest.raises(TypeError):
        tn.Pipeline().add("file", path=clip).add(5).run()


def test_functions_and_metadata(clip):
    def look(frame):
        frame.add_detection((1, 2, 30, 40), "cat", 3, 0.5, track_id=7)
        frame.add_classification("indoor", 1, 0.9)
        frame.add_json('{"a": 1}')

    frames = list(tn.Pipeline(frames=5).add("file", path=clip).add(look))
    assert len(frames) == 5
    found = frames[4].detections
    assert len(found) == 1 and found[0].label == "cat" and found[0].box == (1, 2, 30, 40) and found[0].track_id == 7
    assert found.xyxy.shape == (1, 4) and found.scores.tolist() == [0.5] and found.labels == ["cat"] and found.track_ids.tolist() == [7]
    assert frames[0].classifications[0]["label"] == "indoor"
    assert '{"a": 1}' in [entry.get("text") for entry in json.loads(frames[0].json())["metadata"]]
    assert tn.Frame(numpy.zeros((4, 4), numpy.uint8)).detections.xyxy.shape == (0, 4)
    assert "<table>" in found._repr_html_()


class Bars(tn.Source):
    """Pictures of one grey.

    count: how many"""

    count: int = 3

    def open(self):
        return {"width": 64, "height": 48, "format": "rgb", "fps": 10.0}

    def frames(self):
        for i in range(self.count):
            yield numpy.full((48, 64, 3), i, numpy.uint8)


class Every(tn.Transform):
    """Keeps one frame in so many."""

    number: int = 2

    def open(self, info):
        self.seen = 0
        assert info["width"] in (0, 64, 320)

    def process(self, frame):
        self.seen += 1
        return None if self.seen % self.number == 0 else []

    def end(self):
        return [numpy.full((48, 64, 3), 255, numpy.uint8)]


class Collect(tn.Sink):
    """Keeps what comes."""

    shared = True
    all = []
    finished = 0

    def write(self, frame):
        Collect.all.append(int(frame.numpy().mean()))

    def finish(self):
        Collect.finished += 1


def test_elements_in_python():
    Collect.all, Collect.finished = [], 0
    tn.Pipeline().add(Bars, count=6).add(Every).add(Collect).run()
    assert Collect.all == [1, 3, 5, 255] and Collect.finished == 1
    assert [int(frame.numpy().mean()) for frame in tn.Pipeline().add(Bars)] == [0, 1, 2]
    with pytest.raises(ValueError, match="number"):
        tn.Pipeline().add(Bars).add(Every, number="many").add("null").run()


def test_elements_in_files(tmp_path):
    tn.register_element(Bars)
    assert "Bars" in [element["name"] for element in tn.elements()]
    spec = {"nodes": [{"element": "Bars", "parameters": {"count": 4}}, {"element": "json", "parameters": {"path": str(tmp_path / "out.jsonl")}}]}
    (tmp_path / "bars.json").write_text(json.dumps(spec))
    pipeline = tn.Pipeline(tmp_path / "bars.json").run()
    assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 4
    assert pipeline.stats[0]["frames_out"] == 4 and "Bars" in pipeline._repr_html_()
    with pytest.raises(tn.errors.AlreadyExists):
        tn.register_element(Bars)


def test_exceptions_in_elements_have_their_lines(clip):
    def fails(frame):
        raise ZeroDivisionError("in the element")

    pipeline = tn.Pipeline().add("file", path=clip).add(fails).add("null")
    with pytest.raises(ZeroDivisionError, match="in the element") as info:
        pipeline.run()
    assert any(entry.name == "fails" for entry in info.traceback)
    assert "test_media.py" in pipeline.failures[0]["message"]


def test_several_streams_and_queues(clip):
    pipeline = tn.Pipeline(on_error="end")
    pipeline.add("file", id="one", path=clip).add("file", id="two", path=clip)
    pipeline.add("convert", id="small", after=["one", "two"], width=64, format="rgb", queue={"size": 2})
    assert len(list(pipeline)) == 120
    with pytest.raises(ValueError, match="when_full"):
        tn.Pipeline().add("file", path=clip).add("null", queue={"when_full": "never"}).run()


def test_stopping_early_ends_all_threads(clip):
    for _ in range(5):
        for index, frame in enumerate(tn.Pipeline().add("file", path=clip, loop=True)):
            if index == 3:
                break
    with tn.Pipeline().add("file", path=clip, loop=True).add("null") as pipeline:
        pipeline.start()
        assert not pipeline.wait(0.1)


def test_waits_release_the_interpreter(clip, python):
    assert python(f"""
import os, signal, threading, time
import tenon as tn
threading.Timer(0.4, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
try:
    for frame in tn.open({str(clip)!r}, loop=True, realtime=True): pass
except KeyboardInterrupt:
    print("interrupted")
""") == "interrupted\n"


def test_a_pipeline_at_exit(clip, python):
    python(f"""
import tenon as tn
pipeline = tn.Pipeline().add("file", path={str(clip)!r}, loop=True).add(lambda frame: frame.add_json("1")).add("null").start()
video = tn.open({str(clip)!r}, loop=True)
kept = [next(video) for _ in range(3)]
""")
