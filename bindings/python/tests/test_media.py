# SPDX-License-Identifier: Apache-2.0
"""Videos, pipelines and elements in Python."""
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


class Late(tn.Source):
    """Pictures that come when `go` says so."""

    go, came = threading.Event(), []
    shared = True

    def frames(self):
        while True:
            Late.came.append(Late.go.wait(20))
            yield numpy.zeros((8, 8), numpy.uint8)


def test_late_videos_do_not_keep_coroutines_waiting(clip):
    """A wait for a frame takes no thread of the loop's, and ends with its task. The loop goes on while the pipeline ends."""
    from concurrent.futures import ThreadPoolExecutor

    late, taken = tn.Pipeline().add(Late()), []
    Late.go.clear()

    async def first():
        async for frame in late:
            taken.append(frame)

    async def both():
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        waiting = asyncio.ensure_future(first())
        await asyncio.sleep(0.05)
        count = 0
        async for _ in tn.Pipeline().add("file", path=clip):
            count += 1
        asyncio.get_running_loop().call_later(0.3, Late.go.set)  # The source's own wait, which the end waits for.
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        return count

    assert asyncio.run(both()) == 60 and not taken and all(Late.came)


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
    end = time.monotonic() + 60
    while (after := counted()) and (after[0] > before[0] + 2 or after[2] > before[2] + 4) and time.monotonic() < end:
        time.sleep(0.05)  # Threads end a moment later.
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
    with pytest.raises(ValueError, match="fast.*exact"):
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
    with pytest.raises(ValueError, match="no parameter 'pth'; did you mean 'path'"):
        tn.Pipeline().add("file", pth="x").add("null").run()
    with pytest.raises(TypeError, match="frame"):  # Where it is written, not where the pipeline runs.
        tn.Pipeline(frame=3)
    with pytest.raises(ValueError, match="no setting 'frame'"):
        tn.Pipeline({"nodes": [], "frame": 3})
    with pytest.raises(ValueError, match="on_error"):
        tn.Pipeline(on_error="ignore").add("file", path=clip).add("null").run()
    for wrong, says in (("rgb25", 'did you mean "rgb24"'), ("RGB24", 'did you mean "rgb24"'), ("rbg", '"bgr24"')):
        with pytest.raises(ValueError, match="no pixel format.*" + re.escape(says)):
            tn.open(clip, format=wrong)
    with pytest.raises(TypeError):
        tn.Pipeline().add("file", path=clip).add(5).run()
    with pytest.raises(LookupError, match="/dev/video97"):  # Cameras have numbers in OpenCV.
        next(tn.open(97))
    for wrong in (True, -1, None):
        with pytest.raises(TypeError):
            tn.open(wrong)


def test_files_that_are_no_pipelines(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing.json") as raised:
        tn.Pipeline(tmp_path / "missing.json")
    assert isinstance(raised.value, tn.Error)
    (tmp_path / "half.json").write_text('{"nodes": [')
    with pytest.raises(tn.errors.InvalidArgument, match="half.json.*line 1"):
        tn.Pipeline(tmp_path / "half.json")
    (tmp_path / "half.json").write_text("[1]")
    with pytest.raises(tn.errors.InvalidArgument, match="nodes"):
        tn.Pipeline(tmp_path / "half.json")


def test_functions_and_metadata(clip):
    def look(frame):
        frame.add_detection((1, 2, 30, 40), "cat", 3, 0.5, track_id=7)
        frame.add_classification("indoor", 1, 0.9)
        frame.add_json('{"a": 1}')
        frame.add_json({"b": [1, None]})
        for wrong, error in (("{", ValueError), ("NaN", ValueError), (float("nan"), ValueError), ({1}, TypeError)):
            with pytest.raises(error):
                frame.add_json(wrong)

    frames = list(tn.Pipeline(frames=5).add("file", path=clip).add(look))
    assert len(frames) == 5
    found = frames[4].detections
    assert len(found) == 1 and found[0].label == "cat" and found[0].box == (1, 2, 30, 40) and found[0].track_id == 7
    assert found.xyxy.shape == (1, 4) and found.scores.tolist() == [0.5] and found.labels == ["cat"] and found.track_ids.tolist() == [7]
    assert frames[0].classifications[0]["label"] == "indoor"
    assert ['{"a": 1}', '{"b": [1, null]}'] == [entry["text"] for entry in json.loads(frames[0].json())["metadata"] if entry["kind"] == "json"]
    assert tn.Frame(numpy.zeros((4, 4), numpy.uint8)).detections.xyxy.shape == (0, 4)
    assert "<table>" in found._repr_html_()


def test_masks_are_arrays(clip, tmp_path):
    tn.save_model(relu_model((1, 3, 24, 32)), tmp_path / "second.xml")
    # The mean makes the second channel the largest everywhere.
    frame, = tn.Pipeline(frames=1).add("file", path=clip).add("infer", model=str(tmp_path / "second.xml"), device="CPU", decode="Segmentation",
                                                              mean="0 -100 0", model_labels="a,b,c")
    found, = frame.masks
    assert found["parent"] == 0 and found["labels"] == ["a", "b", "c"] and found["box"] == (0, 0, frame.width, frame.height)
    mask = numpy.from_dlpack(found["mask"])
    assert mask.shape == (24, 32) and mask.dtype == numpy.uint8 and (mask == 1).all()
    assert tn.Frame(numpy.zeros((4, 4), numpy.uint8)).masks == [] and frame.tensors == []
    frame, = tn.Pipeline(frames=1).add("file", path=clip).add("infer", model=str(tmp_path / "second.xml"), device="CPU", decode="Segmentation",
                                                              mean="0 -100 0", decode_parameters="soft_predictions=true")
    soft, = frame.tensors
    scores = numpy.from_dlpack(soft["tensor"])
    assert soft["name"] == "soft_prediction" and soft["format"] == "class_scores" and soft["parent"] == 0
    assert scores.shape == (3, 24, 32) and (scores.argmax(0) == mask).all() and scores.min() >= 0


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


def find_one(frame):
    frame.add_detection((100, 50, 200, 150), "cat", 3, 0.5)


def test_arrays_of_elements_keep_what_was_found(clip):
    """An array shows the picture that it was made from: time, objects and texts go on with it, at its size. A Frame is what it is."""
    half = lambda frame: numpy.ascontiguousarray(frame.to("rgb").numpy()[::2, ::2])
    for change, box in ((lambda frame: frame.to("rgb").numpy(), (100, 50, 200, 150)), (half, (50, 25, 100, 75)),
                        (lambda frame: tn.Tensor(half(frame)), (50, 25, 100, 75)), (lambda frame: [half(frame)], (50, 25, 100, 75))):
        frames = list(tn.Pipeline(frames=3).add("file", path=clip).add(find_one).add(change))
        assert [frame.detections[0].box for frame in frames] == [box] * 3 and frames[1].time == pytest.approx(1 / 30, abs=1e-3)
    bare = list(tn.Pipeline(frames=2).add("file", path=clip).add(find_one).add(lambda frame: tn.Frame(half(frame))))
    assert [len(frame.detections) for frame in bare] == [0, 0] and bare[1].time > 0


def test_arrays_of_turned_pictures_keep_boxes(turned):
    path = turned(four_colours(), 90)
    find = lambda frame: frame.add_detection((32, 0, 64, 24), "green") and None
    frame = next(iter(tn.Pipeline().add("file", path=path).add(find).add(lambda frame: frame.to("rgb").numpy())))
    assert (frame.width, frame.height) == (64, 48) and frame.detections[0].box == (32, 0, 64, 24)


def test_elements_may_be_filters(clip):
    for keep in (lambda frame: frame.to("gray").numpy().mean() > 100, lambda frame: bool(frame.to("gray").numpy().mean() > 100)):
        assert len(list(tn.Pipeline().add("file", path=clip).add(keep))) == 34
    with pytest.raises(TypeError, match=r"process\(\) gives a Frame, an array, a list .* not 5"):
        tn.Pipeline().add("file", path=clip).add(lambda frame: 5).add("null").run()

    class Failing:
        def __iter__(self):
            raise ZeroDivisionError("no frames")

    with pytest.raises(ZeroDivisionError, match="no frames"):
        tn.Pipeline().add("file", path=clip).add(lambda frame: Failing()).add("null").run()


def test_objects_are_removed(clip):
    def only_cats(frame):
        for each in frame.detections:
            if each.label != "cat":
                frame.remove(each.id)

    two = lambda frame: frame.add_detection((0, 0, 9, 9), "dog") and None
    frames = list(tn.Pipeline(frames=2).add("file", path=clip).add(find_one).add(two).add(only_cats))
    assert [frame.detections.labels for frame in frames] == [["cat"]] * 2
    for empty in (frames[0], tn.Frame(numpy.zeros((4, 4), numpy.uint8))):
        with pytest.raises(LookupError, match="no object 77"):
            empty.remove(77)


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


def test_pipelines_run_again(clip):
    """From the beginning, once they are over: at their end, after a break, after a failure."""
    frames = tn.Pipeline(frames=3).add("file", path=clip)
    assert [len(list(frames)) for _ in range(3)] == [3, 3, 3]
    for frame in frames:
        break
    assert [round(frame.time * 30) for frame in frames] == [0, 1, 2]
    seen = []
    run = tn.Pipeline(frames=3).add("file", path=clip).add(lambda frame: seen.append(frame.time)).add("null")
    assert run.run().run().stats[0]["frames_out"] == 3 and len(seen) == 6 and run.wait()
    fails = tn.Pipeline().add("file", path=clip).add(lambda frame: 1 / 0).add("null")
    for again in (fails.run, fails.wait, fails.run):  # A failure is thrown as often as it is asked for.
        with pytest.raises(ZeroDivisionError):
            again()


def test_pipelines_are_run_or_iterated(clip):
    runs = tn.Pipeline().add("file", path=clip, loop=True).add("null").start()
    with pytest.raises(tn.errors.FailedPrecondition, match="runs by itself"):
        next(iter(runs))
    with pytest.raises(tn.errors.FailedPrecondition, match="runs already"):
        runs.add("null")
    runs.stop()
    with pytest.raises(ValueError, match="'null', is a sink.*run()"):
        list(runs)
    frames = tn.Pipeline().add("file", path=clip, loop=True)
    iterator = iter(frames)
    next(iterator)
    with pytest.raises(tn.errors.FailedPrecondition, match="taken by an iteration"):
        frames.run()
    assert next(iterator).width == 320


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


def test_parameters_may_be_numbers_of_numpy_and_paths_in_bytes(clip):
    class Takes(tn.Transform):
        """Takes parameters."""

        flag: bool = False
        number: int = 0
        ratio: float = 0.0

        def process(self, _):
            taken.append((self.flag, self.number, self.ratio))

    taken = []
    tn.Pipeline(frames=1).add("file", path=os.fsencode(clip)).add(
        Takes, flag=numpy.bool_(True), number=numpy.uint8(7), ratio=numpy.longdouble(1.5)).add("null").run()
    assert taken == [(True, 7, 1.5)]
    assert next(tn.open(clip, ahead=numpy.int64(2))).width == 320
