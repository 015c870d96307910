# SPDX-License-Identifier: Apache-2.0
"""tenon.ray over local workers, some of which are killed: each frame is there, once."""
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy
import pytest

import tenon.ray as tr
from slow_fixtures import environment, root, tool  # noqa: F401

ray = pytest.importorskip("ray", reason="PyPI package ray[data] is missing")
pytest.importorskip("ray.data", reason="PyPI package ray[data] is missing")
import pyarrow.parquet as pq  # noqa: E402

from ray_steps import SlowStep, start  # noqa: E402

HERE = str(Path(__file__).resolve().parent)


@pytest.fixture(scope="module", autouse=True)
def cluster(root):
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["PYTHONPATH"] = os.pathsep.join([HERE, str(root / "examples/ray_folder"), str(Path(tr.__file__).parent.parent), os.environ.get("PYTHONPATH", "")])
    start(4, 200 << 20)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@pytest.fixture
def media(tmp_path):
    folder = tmp_path / "media"
    folder.mkdir()
    for name in "abcdef":
        (folder / f"{name}.mp4").write_bytes(name.encode())
    return folder


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


def kill_one(notes, killed):
    """Kills the first worker that is in the middle of a source."""
    def work():
        deadline = time.time() + 60
        while time.time() < deadline:
            for each in sorted(notes.glob("middle-*")):
                killed.append(int(each.name.rsplit("-", 1)[1]))
                os.kill(killed[-1], signal.SIGKILL)
                return
            time.sleep(0.002)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def indices(folder):
    """Numbers of the frames in all files, by source."""
    found = {}
    for path in Path(folder).glob("*.parquet"):
        for row in pq.read_table(path).select(["source", "index"]).to_pylist():
            found.setdefault(Path(row["source"]).stem, []).append(row["index"])
    return found


def test_a_killed_worker_loses_nothing_and_repeats_nothing(media, notes, tmp_path):
    killed = []
    killer = kill_one(notes, killed)
    report = tr.to_parquet(media, tmp_path / "out", SlowStep(notes), workers=2, rows_per_block=7)
    killer.join()
    assert killed and report.frames == 6 * 40 and not report.failed
    assert indices(tmp_path / "out") == {name: list(range(40)) for name in "abcdef"}
    assert killed[0] not in {row["worker"] for row in report.sources} or len({row["worker"] for row in report.sources}) >= 2
    started = {int(each.name.split("-")[1]) for each in notes.glob("started-*")}
    assert len(started) == 3, "two workers, and one in the place of the killed one"
    again = tr.to_parquet(media, tmp_path / "out", SlowStep(notes), workers=2)
    assert all(row["kept"] for row in again.sources) and again.frames == 240
    assert not list((tmp_path / "out").glob(".*.part")), "what the killed one left is gone"


def test_a_killed_worker_of_a_dataset(media, notes):
    killed = []
    killer = kill_one(notes, killed)
    rows = tr.map_media(media, SlowStep(notes), workers=2, rows_per_block=7).take_all()
    killer.join()
    assert killed
    found = {}
    for row in rows:
        found.setdefault(Path(row["source"]).stem, []).append(row["index"])
    assert {name: sorted(each) for name, each in found.items()} == {name: list(range(40)) for name in "abcdef"}


def test_a_killed_program_goes_on_where_it_was(media, notes, tmp_path, environment):
    program = tmp_path / "program.py"
    program.write_text("""
import sys, tenon.ray as tr
from ray_steps import SlowStep, start
start(2, 100 << 20)
tr.to_parquet(sys.argv[1], sys.argv[2], SlowStep(sys.argv[3], seconds=0.02), workers=1)
""")
    out = tmp_path / "out"
    process = subprocess.Popen([sys.executable, str(program), str(media), str(out), str(notes)], start_new_session=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env=dict(environment, PYTHONPATH=os.environ["PYTHONPATH"], RAY_ADDRESS=""))
    deadline = time.time() + 900  # Two clusters begin; on a busy machine that takes minutes.
    while len(list(notes.glob("middle-*"))) < 3 and time.time() < deadline and process.poll() is None:
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(1)
    before = len(list(out.glob("*.parquet")))
    assert 2 <= before < 6
    report = tr.to_parquet(media, out, SlowStep(notes), workers=2)
    assert sum(row["kept"] for row in report.sources) >= before
    assert indices(out) == {name: list(range(40)) for name in "abcdef"}


def test_a_source_that_fails_leaves_the_others_alone(media, notes, tmp_path):
    (media / "broken.mp4").write_bytes(b"")
    step = SlowStep(notes, frames=4)
    report = tr.to_parquet(media, tmp_path / "out", step, workers=2)
    assert list(report.failed) == [str(media / "broken.mp4")] and "it is damaged" in str(report)
    assert set(indices(tmp_path / "out")) == set("abcdef")
    rows = tr.map_media(media, step, workers=2, errors="row").take_all()
    assert len(rows) == 6 * 4 + 1 and [row["error"] for row in rows if row["error"]] == ["ValueError: it is damaged"]
    with pytest.raises(Exception, match="broken.mp4: ValueError: it is damaged"):
        tr.map_media(media, step).take_all()


def test_what_changed_is_made_again(media, notes, tmp_path):
    tr.to_parquet(media, tmp_path / "out", SlowStep(notes, frames=4))
    (media / "a.mp4").write_bytes(b"another")
    report = tr.to_parquet(media, tmp_path / "out", SlowStep(notes, frames=4))
    assert [row["kept"] for row in report.sources] == [False] + [True] * 5
    assert not any(row["kept"] for row in tr.to_parquet(media, tmp_path / "out", SlowStep(notes, frames=5)).sources)


def test_streams_get_a_file_for_so_many_frames(notes, tmp_path):
    for count in (4, 8):
        report = tr.to_parquet("rtsp://camera/1", tmp_path / "out", SlowStep(notes, frames=20), rows_per_block=2, rows_per_file=6)
        assert report.frames == 20
        sizes = [pq.read_metadata(each).num_rows for each in sorted((tmp_path / "out").glob("*.parquet"))]
        assert sizes == [6, 6, 6, 2] * (count // 4), "a second run goes on behind the first"


def test_resources_that_are_not_there(media, notes):
    step = SlowStep(notes)
    with pytest.raises(ValueError, match="5 workers on CPU need 5 of Ray's resource CPU"):
        tr.map_media(media, step, workers=5)
    step.device = "NPU"
    with pytest.raises(ValueError, match="resource NPU, and the cluster has 0"):
        tr.map_media(media, step)
    for wrong in ({"workers": 0}, {"errors": "no"}, {"rows_per_block": 0}):
        with pytest.raises(ValueError):
            tr.map_media(media, SlowStep(notes), **wrong)


def test_videos_through_the_tool_and_through_python(root, tool, tmp_path):
    clips = [str(tmp_path / f"part{i}.mp4") for i in range(3)]
    for i, clip in enumerate(clips):
        subprocess.run(["ffmpeg", "-v", "error", "-ss", str(5 * i), "-i", str(root / "models/demo.mp4"), "-frames:v", "30", "-c:v", "libx264", clip], check=True)
    step = tr.PipelineStep(root / "models/demo.onnx")
    step.start()
    expected = {clip: [row.as_dict() for row in step.run(clip)] for clip in clips}
    assert sum(map(len, expected.values())) == 90
    report = tr.to_parquet(clips, tmp_path / "out", step, workers=2)
    assert report.frames == 90 and not report.failed
    for row in report.sources:
        found = pq.read_table(tmp_path / "out" / row["file"]).to_pylist()
        want = expected[row["source"]]
        assert [each["timestamp_ns"] for each in found] == [each["timestamp_ns"] for each in want]
        assert [[box["track_id"] for box in each["objects"]] for each in found] == [[box["track_id"] for box in each["objects"]] for each in want]
        assert sum(len(each["objects"]) for each in found) > 100
    sys.path.insert(0, str(root / "examples/ray_folder"))
    from shapes import boxes_of, prepare

    by_python = tr.ModelStep(root / "models/demo.onnx", boxes_of, prepare=prepare)
    rows = tr.map_media(clips[:1], by_python).take_all()
    pairs = 0
    for mine, theirs in zip(sorted(rows, key=lambda row: row["index"]), expected[clips[0]]):
        for box in theirs["objects"]:
            best = max((tr_overlap(box, other) for other in mine["objects"] if other["label"] == box["label"]), default=0)
            pairs += best > 0.7
    assert pairs > 0.8 * sum(len(row["objects"]) for row in expected[clips[0]])


def tr_overlap(a, b):
    from tenon._media_steps import overlap

    return overlap(tr.Box("", 0, a["x0"], a["y0"], a["x1"], a["y1"]), tr.Box("", 0, b["x0"], b["y0"], b["x1"], b["y1"]))
