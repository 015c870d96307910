# SPDX-License-Identifier: Apache-2.0
"""Where frames come from: several sources, folders of pictures, files that are missing, streams that do not answer."""
import errno
import re
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
