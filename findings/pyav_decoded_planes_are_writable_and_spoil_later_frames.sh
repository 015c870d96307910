#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyAV 18.1.0: planes of a decoded frame can be written through Python's buffers (np.frombuffer, memoryview), though the decoder still
# predicts later frames from that memory. A plane of VP9, AV1 or H.264 that is blackened in place, for a mask or a caption, spoils frames
# that come after it. np.from_dlpack of the same plane is read-only. frame.make_writable() copies first, and all is well.
# Guess before the run: the buffer of a decoded frame is read-only, as by DLPack, or a copy.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check av==18.1.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import io

import av
import numpy as np


def encoded(codec):
    """A short video that gets brighter from frame to frame."""
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream(codec, rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for index in range(8):
            frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), (200, index * 4, 60), np.uint8), format="rgb24")
            frame.pts = index
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return file.getvalue()


def brightness(video, blacken, copy_first=False):
    """The brightness of each frame as it came, where each frame is blackened after it was read."""
    found = []
    with av.open(io.BytesIO(video)) as container:
        container.streams.video[0].thread_count = 1
        for frame in container.decode(video=0):
            found.append(int(frame.to_ndarray()[20, 20]))
            assert not np.from_dlpack(frame.planes[0]).flags.writeable
            if copy_first:
                frame.make_writable()
            if blacken:
                np.frombuffer(frame.planes[0], np.uint8)[:] = 0
    return found


av.logging.set_level(None)
for codec in ("libvpx-vp9", "libsvtav1", "libx264"):
    video = encoded(codec)
    clean, spoilt, copied = brightness(video, False), brightness(video, True), brightness(video, True, copy_first=True)
    print(f"{codec}: clean {clean}, planes blackened {spoilt}, after make_writable {copied}")
    assert copied == clean and min(clean) > 60
    assert spoilt[0] == clean[0] and min(spoilt) < 50
PYTHON
