# SPDX-License-Identifier: Apache-2.0
"""Where frames come from: several sources, folders of pictures, files that are missing, streams that do not answer."""
import errno
import os
import re
import socket
import subprocess
import time
from collections import Counter

import pytest

import tenon as tn

pytestmark = pytest.mark.skipif("elements ffmpeg" in tn.absent(), reason="FFmpeg's elements do not work here")


def test_frames_of_several_sources_name_theirs(clip):
    def both():
        return tn.Pipeline().add("file", id="one", path=clip).add("file", id="two", path=clip)

    assert Counter(frame.source for frame in both().add("identity", after=["one", "two"])) == {"one": 60, "two": 60}
    seen = []
    both().add(lambda frame: seen.append(frame.source), after=["one", "two"]).add("null").run()
    assert Counter(seen) == {"one": 60, "two": 60}

    class Kept(tn.Sink):
        shared = True

        def write(self, frame):
            seen.append(frame.source)

    seen.clear()
    both().add(Kept, after=["one", "two"]).run()
    assert Counter(seen) == {"one": 60, "two": 60}
    assert next(tn.open(clip)).source is None


def test_videos_that_are_closed_early_are_not_called_damaged(tmp_path, capfd):
    """A read that was cut off looked to FFmpeg like a damaged file, and it said so."""
    path = str(tmp_path / "long.mp4")
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=320x240:rate=30:duration=4,noise=alls=30:allf=t", "-c:v", "libx264", "-preset",
                    "veryfast", path], check=True)
    for _ in range(20):
        assert tn.open(path).frame_count == 120
        with tn.Pipeline().add("file", path=path) as pipeline:
            next(iter(pipeline))
    assert capfd.readouterr().err == ""


def test_missing_files_of_elements(clip, tmp_path):
    nowhere = str(tmp_path / "nowhere" / "x")
    cases = [tn.Pipeline().add("file", path=nowhere + ".mp4").add("null"), tn.Pipeline().add("camera", device="/dev/video97").add("null")]
    ends = [("write", {"path": nowhere + ".mkv"}), ("json", {"path": nowhere + ".jsonl"})]
    for element, parameters in (("infer", {"model": nowhere + ".onnx"}), ("infer", {"model": str(clip), "labels_file": nowhere}),
                                ("analytics", {"config": nowhere})):
        ends.append((element, parameters))
    known = {each["name"] for each in tn.elements()}
    for element, parameters in ends:
        if element in known:
            cases.append(tn.Pipeline().add("file", path=clip).add(element, **parameters))
            if element in ("infer", "analytics"):
                cases[-1].add("null")
    for pipeline in cases:
        with pytest.raises(FileNotFoundError) as raised:
            pipeline.run()
        assert isinstance(raised.value, tn.errors.NotFound) and raised.value.errno == errno.ENOENT and re.search("nowhere|video97", str(raised.value)), pipeline


def test_sources_that_do_not_answer():
    waited = []
    with socket.create_server(("127.0.0.1", 0)) as server:  # It takes connections, and says nothing.
        address = f"127.0.0.1:{server.getsockname()[1]}"
        while len(waited) < 5 and min(waited, default=9) >= 9:  # Without patience each takes 10 seconds.
            begin = time.monotonic()
            with pytest.raises(TimeoutError, match=address):
                next(tn.open(f"rtsp://{address}/x", patience=0.2))
            waited.append(time.monotonic() - begin)
    assert min(waited) < 9
    with pytest.raises(tn.errors.Unavailable, match="are host, port and path right"):
        next(tn.open(f"rtsp://{address}/x"))


def test_folders_of_pictures(tmp_path):
    """Each frame says which file it is; a file that is damaged ends the folder, or is left out."""
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=64x48:rate=5:duration=1", str(tmp_path / "p%d.png")], check=True)
    with tn.open(tmp_path, format="gray") as pictures:
        assert pictures.frame_count == 5
        assert [os.path.basename(frame.source) for frame in pictures] == [f"p{number}.png" for number in range(1, 6)]
    whole = (tmp_path / "p3.png").read_bytes()
    for number, bytes_ in ((1, b""), (3, b"this is no picture"), (5, whole[:len(whole) // 2])):
        (tmp_path / f"p{number}.png").write_bytes(bytes_)
    with pytest.raises(tn.Error, match="p1.png"):
        list(tn.open(tmp_path))
    assert [os.path.basename(frame.source) for frame in tn.open(tmp_path, skip_damaged=True)] == ["p2.png", "p4.png"]
    for number in (2, 4):
        (tmp_path / f"p{number}.png").write_bytes(b"")
    with pytest.raises(tn.Error, match="p5.png"):  # None is left.
        list(tn.open(tmp_path, skip_damaged=True))
    (tmp_path / "p1.png").write_bytes(whole)
    again = tn.open(tmp_path, skip_damaged=True, loop=True)
    next(again), next(again)
    (tmp_path / "p1.png").write_bytes(b"")
    with pytest.raises(tn.Error, match="p1.png"):
        for _ in again:
            pass
