# SPDX-License-Identifier: Apache-2.0
"""Frames of other processes, and what those found in them."""
import os
import subprocess
import sys
import time

import pytest

import tenon as tn

pytestmark = pytest.mark.skipif("elements ffmpeg" in tn.absent() or "elements ipc" in tn.absent(), reason="FFmpeg's elements or those between processes do not work here")


def test_videos_come_from_other_processes(clip, tmp_path):
    socket = str(tmp_path / "frames.sock")
    serving = tn.Pipeline().add("file", path=clip).add("ipc_sink", socket=socket, subscribers=1, patience_ms=60_000).start()
    means = [int(frame.to("rgb24").numpy().mean()) for frame in tn.open("ipc:" + socket)]
    assert means == [i * 4 for i in range(60)]
    assert serving.wait(60) and not serving.failures and not os.path.exists(socket)


def test_what_another_process_found_comes_with_its_frames(clip, tmp_path):
    socket = str(tmp_path / "frames.sock")
    program = f"""if True:
        import tenon as tn
        def look(frame):
            frame.add_detection((1, 2, 30, 40), "cat", 3, 0.5, track_id=7)
            frame.add_classification("indoor", 1, 0.9)
        tn.Pipeline(frames=5).add("file", path={str(clip)!r}).add(look).add("ipc_sink", socket={socket!r}, subscribers=1, patience_ms=60_000).run()
    """
    with subprocess.Popen([sys.executable, "-c", program]) as serving:
        try:
            end = time.monotonic() + 60
            while not os.path.exists(socket) and serving.poll() is None and time.monotonic() < end:
                time.sleep(0.005)
            # Frames that are kept would be waited for.
            seen = [(frame.detections, frame.classifications) for frame in tn.open("ipc:" + socket)]
            assert serving.wait(60) == 0
        finally:
            serving.kill()  # Without a reader it would wait for ever.
    assert len(seen) == 5
    for detections, classifications in seen:
        (found,) = detections
        assert (found.label, found.box, found.track_id) == ("cat", (1, 2, 30, 40), 7)
        assert classifications[0]["label"] == "indoor"
