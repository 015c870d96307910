#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# FFmpeg 8 (PyAV 18.1.0): sound stored without loss by ALAC in CAF, Apple's container, is read without its end, though the file holds it: of a
# second of 48 kHz the last 1152 samples are gone, of 44.1 kHz 956. The file says by how much the last packet of 4096 is not filled, and FFmpeg
# takes that off the packet's own samples, which lack it already, as long as that leaves any. The same packets in M4A, MOV and Matroska are read
# in full, and each sample that is read is right.
# Guess before the run: a codec without loss hands back each sample, whatever the container.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check av==18.1.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import os
import tempfile
from fractions import Fraction

import av
import numpy as np

folder = tempfile.mkdtemp()

def through(container, count, rate):
    sound = np.random.default_rng(0).integers(-3000, 3000, count).astype(np.int32) << 16
    path = os.path.join(folder, "sound." + container)
    with av.open(path, "w") as output:
        stream = output.add_stream("alac", rate=rate, layout="mono", format="s32p")
        frame = av.AudioFrame.from_ndarray(sound[None], "s32p", "mono")
        frame.sample_rate, frame.pts, frame.time_base = rate, 0, Fraction(1, rate)
        packets = [(packet, bytes(packet)) for packet in stream.encode(frame) + stream.encode(None)]
        for packet, _ in packets:
            output.mux(packet)
    with av.open(path) as source:
        stored = [bytes(packet) for packet in source.demux(audio=0) if packet.size]
    with av.open(path) as source:
        found = np.concatenate([one.to_ndarray()[0] for one in source.decode(audio=0)])
    assert stored == [data for _, data in packets] and np.array_equal(found, sound[: len(found)])
    return count - len(found)

for count, rate, lost in ((48000, 48000, 1152), (44100, 44100, 956), (24000, 24000, 576), (7096, 48000, 1096), (45056, 48000, 0), (5248, 48000, 0)):
    seen = {container: through(container, count, rate) for container in ("caf", "m4a", "mov", "mka")}
    last = (count - 1) % 4096 + 1
    print(f"{count} samples, {last} in the last packet: lost {seen}")
    assert seen == {"caf": lost, "m4a": 0, "mov": 0, "mka": 0}
    assert lost == (4096 - last if 4096 - last < last else 0)
PYTHON
