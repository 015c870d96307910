# SPDX-License-Identifier: Apache-2.0
"""Steps of tenon.ray and what it knows of sources, without Ray."""
import json
import os
import stat

import numpy
import pytest

import tenon as tn
import tenon.ray as tr
from tenon._media_steps import Tracker, overlap, row_of
from tenon.ray import file_of, state_of


def mean_model(tmp_path):
    """The mean of the picture's values as one number."""
    x = tn.Parameter("f32", [1, 3, 8, 8])
    x.output(0).set_names({"x"})
    axes = tn.Constant(numpy.array([1, 2, 3], numpy.int64))
    mean = tn.make_node("ReduceMean", [x, axes], {"keep_dims": False}, name="mean")
    mean.output(0).set_names({"mean"})
    tn.save_model(tn.Model([mean], [x], "mean"), tmp_path / "mean.xml")
    return tmp_path / "mean.xml"


def box_of_mean(outputs, width, height):
    return [tr.Box("mean", float(outputs[0].reshape(-1)[0]), 0, 0, width, height)]


def test_a_model_over_frames_keeps_their_order(tmp_path):
    frames = numpy.arange(40, dtype=numpy.uint8)[:, None, None, None] * numpy.ones((1, 16, 24, 3), numpy.uint8)
    numpy.save(tmp_path / "clip.npy", frames)
    step = tr.ModelStep(mean_model(tmp_path), box_of_mean, requests=3)
    step.start()
    for _ in range(2):  # One model for all sources of a worker.
        rows = list(step.run(str(tmp_path / "clip.npy")))
        assert [row.index for row in rows] == list(range(40))
        assert [round(row.objects[0].score) for row in rows] == list(range(40))
        assert (rows[0].width, rows[0].height) == (24, 16) and {row.objects[0].track_id for row in rows} == {1}
    few = tr.ModelStep(mean_model(tmp_path), box_of_mean, frames=5)
    few.start()
    assert len(list(few.run(str(tmp_path / "clip.npy")))) == 5


def test_a_step_goes_on_after_a_source_that_failed(tmp_path):
    numpy.save(tmp_path / "clip.npy", numpy.zeros((4, 8, 8, 3), numpy.uint8))
    numpy.save(tmp_path / "grey.npy", numpy.zeros((4, 8, 8), numpy.uint8))
    step = tr.ModelStep(mean_model(tmp_path), box_of_mean)
    step.start()
    with pytest.raises(ValueError, match="grey.npy"):
        list(step.run(str(tmp_path / "grey.npy")))
    assert len(list(step.run(str(tmp_path / "clip.npy")))) == 4
    half = step.run(str(tmp_path / "clip.npy"))
    next(half)
    half.close()
    assert len(list(step.run(str(tmp_path / "clip.npy")))) == 4


def fake_tool(tmp_path, monkeypatch, script):
    path = tmp_path / "tool"
    path.write_text("#!/bin/sh\n" + script)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("TENON_TOOL", str(path))
    (tmp_path / "m.onnx").write_bytes(b"")
    return tr.PipelineStep(tmp_path / "m.onnx", frames=3)


def test_lines_of_the_tool_become_rows(tmp_path, monkeypatch):
    line = {"stream": 0, "timestamp_ns": 5, "width": 4, "height": 3, "metadata": [
        {"kind": "detection", "box": [1, 2, 3, 4], "label": "star", "label_id": 3, "score": 0.5, "track_id": 9}, {"kind": "source", "uri": "a"}]}
    step = fake_tool(tmp_path, monkeypatch, f"cat > {tmp_path}/spec; echo \"$@\" > {tmp_path}/arguments; echo '{json.dumps(line)}'; echo '{{}}'")
    step.start()
    rows = list(step.run("clip.mp4"))
    assert rows[0].objects == [tr.Box("star", 0.5, 1, 2, 3, 4, 3, 9)] and rows[0].timestamp_ns == 5 and rows[1].index == 1
    spec = json.loads((tmp_path / "spec").read_text())
    assert [node["element"] for node in spec["nodes"]] == ["file", "infer", "track", "json"] and spec["nodes"][0]["parameters"]["path"] == "clip.mp4"
    assert (tmp_path / "arguments").read_text().split() == ["pipeline", "-", "--quiet", "--frames", "3"]


def test_a_tool_that_fails_says_why(tmp_path, monkeypatch):
    step = fake_tool(tmp_path, monkeypatch, "echo '{}'; echo 'tenon: no such file' >&2; exit 3")
    rows = step.run("clip.mp4")
    assert next(rows).index == 0
    with pytest.raises(RuntimeError, match="no such file"):
        next(rows)
    monkeypatch.setenv("TENON_TOOL", str(tmp_path / "nothing"))
    with pytest.raises(FileNotFoundError, match="TENON_TOOL"):
        step.start()


def test_sources(tmp_path):
    for name in ("b.mp4", "a.MKV", "notes.txt"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "empty").mkdir()
    assert [os.path.basename(each) for each in tr.sources_of(tmp_path)] == ["a.MKV", "b.mp4"]
    assert tr.sources_of([f"{tmp_path}/*.mp4", "rtsp://camera/1"]) == [str(tmp_path / "b.mp4"), "rtsp://camera/1"]
    for wrong, says in ((tmp_path / "empty", "no media"), (f"{tmp_path}/*.webm", "nothing matches"), (tmp_path / "c.mp4", "no file or folder")):
        with pytest.raises(FileNotFoundError, match=says):
            tr.sources_of(wrong)
    with pytest.raises(ValueError, match="twice"):
        tr.sources_of([tmp_path, tmp_path / "b.mp4"])
    names = {file_of(each) for each in ("/a/door.mp4", "/b/door.mp4", "rtsp://camera/1?key=ü", "/", "/a/door.mkv")}
    assert len(names) == 5 and all(name.endswith(".parquet") and "/" not in name for name in names)


def test_resources():
    assert tr.resources_for("CPU", 2) == {"num_cpus": 2} == tr.resources_for("AUTO:CPU,GPU", 2)
    assert tr.resources_for("GPU.1") == {"num_cpus": 1, "num_gpus": 1} == tr.resources_for("HETERO:GPU,CPU")
    assert tr.resources_for("NPU") == {"num_cpus": 1, "resources": {"NPU": 1}}
    with pytest.raises(ValueError):
        tr.resources_for("CPU", 0)


def test_the_state_of_a_source_changes_with_what_it_is_made_of(tmp_path):
    (tmp_path / "a.mp4").write_bytes(b"1")
    (tmp_path / "m.onnx").write_bytes(b"1")
    step = lambda **more: tr.PipelineStep(tmp_path / "m.onnx", **more)
    before = state_of(str(tmp_path / "a.mp4"), step())
    assert before == state_of(str(tmp_path / "a.mp4"), step())
    assert before != state_of(str(tmp_path / "a.mp4"), step(track=False))
    (tmp_path / "a.mp4").write_bytes(b"12")
    assert before != state_of(str(tmp_path / "a.mp4"), step())
    with pytest.raises(ValueError):
        step(frames=-1)


def test_tracks():
    tracker = Tracker(keep=2)
    first, second = [tr.Box("a", 1, 0, 0, 10, 10), tr.Box("a", 1, 100, 0, 110, 10)], [tr.Box("a", 1, 101, 0, 111, 10), tr.Box("a", 1, 1, 0, 11, 10)]
    tracker.update(first)
    tracker.update(second)
    assert [each.track_id for each in first] == [1, 2] and [each.track_id for each in second] == [2, 1]
    other = [tr.Box("b", 1, 1, 0, 11, 10)]
    tracker.update(other)
    assert other[0].track_id == 3
    for _ in range(3):
        tracker.update([])
    again = [tr.Box("a", 1, 1, 0, 11, 10)]
    tracker.update(again)
    assert again[0].track_id == 4
    assert overlap(tr.Box("", 0, 0, 0, 2, 2), tr.Box("", 0, 1, 0, 3, 2)) == pytest.approx(1 / 3)
    assert overlap(tr.Box("", 0, 0, 0, 0, 0), tr.Box("", 0, 0, 0, 0, 0)) == 0
    assert row_of("s", 1, {}).objects == []
