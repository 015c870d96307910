#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# FFmpeg 8 (PyAV 18.1.0) reads short Ogg Vorbis files, a second or two as of speech and effects, with another length than they have, by their
# content: a second of clicks at 48 kHz has 960 samples more, and at 16 kHz it lacks its last 256; a second of a rising tone at 8 kHz has 192
# more. The first frame's time is then 128 or 256 samples, not 0, though it holds the first sample, so that sound and picture are apart by up to
# 32 ms. What is handed out is right to 1e-6. soundfile 0.14.0, which wrote the files, reads each of them in full. Noise is right in this form,
# and so are three seconds of 48 kHz.
# Guess before the run: the count of samples is the one that the file's last page names, whatever they are.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check av==18.1.0 soundfile==0.14.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import os
import tempfile

import av
import numpy as np
import soundfile

path = os.path.join(tempfile.mkdtemp(), "sound.ogg")

def decode(sound, rate):
    soundfile.write(path, sound, rate, format="OGG", subtype="VORBIS")
    whole = soundfile.read(path)[0]
    with av.open(path) as container:
        frames = list(container.decode(audio=0))
        duration = container.streams.audio[0].duration
    found = np.concatenate([frame.to_ndarray()[0] for frame in frames])
    both = min(len(found), len(whole))
    assert len(whole) == len(sound) == duration and np.abs(found[:both] - whole[:both]).max() < 1e-5
    return len(found) - len(sound), frames[0].pts

for kind, rate, seconds, want in (
    ("clicks", 48000, 1, (960, 128)), ("clicks", 16000, 1, (-256, 256)), ("clicks", 48000, 3, (0, 0)), ("tone", 8000, 1, (192, 256)),
    ("tone", 44100, 1, (60, 128)), ("tone", 48000, 1, (-128, 128)), ("tone", 48000, 3, (0, 0)),
    ("noise", 48000, 1, (0, 0)), ("noise", 44100, 1, (0, 0)),
):
    count = rate * seconds
    time = np.arange(count) / rate
    sound = {
        "clicks": (np.arange(count) % (rate // 10) == 0) * 0.8, "tone": 0.5 * np.sin(2 * np.pi * (200 * time + 500 * time**2 / seconds)),
        "noise": np.random.default_rng(0).normal(size=count) * 0.1,
    }[kind]
    found = decode(sound, rate)
    print(f"{seconds} s of {kind} at {rate} Hz: {found[0]:+} samples, first time {found[1]} samples")
    assert (found[0] == 0) == (want[0] == 0) and (found[1] == 0) == (want[1] == 0)
    assert found == want
PYTHON
