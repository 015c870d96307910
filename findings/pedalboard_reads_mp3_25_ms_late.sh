#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pedalboard 0.9.26 (Spotify's audio library): MP3 read by AudioFile begins with 1105 samples that were not in the sound, 25 ms at 44100 Hz and 46
# at 24000, and has more behind it: a second comes back as 46080 samples. It is so with the files that pedalboard writes itself. soundfile 0.14.0,
# miniaudio 1.71 and PyAV 18.1.0 read the count of the encoder's delay from the same files, and hand out 44100 samples in their places. So labels
# and tracks made by one library are off in the other. FLAC is in its place in all of them.
# Guess before the run: the readers agree on the first sample, as the files say where it is.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pedalboard==0.9.26 soundfile==0.14.0 miniaudio==1.71 av==18.1.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import os
import tempfile

import av
import miniaudio
import numpy as np
import soundfile
from pedalboard.io import AudioFile

folder = tempfile.mkdtemp()

def by_pedalboard(path, rate):
    with AudioFile(path) as file:
        return file.read(file.frames)[0]

def by_av(path, rate):
    with av.open(path) as container:
        sound = np.concatenate([frame.to_ndarray()[0] for frame in container.decode(audio=0)])
    return sound / 32768 if sound.dtype == np.int16 else sound

def by_miniaudio(path, rate):
    return np.frombuffer(miniaudio.decode_file(path, miniaudio.SampleFormat.FLOAT32, 1, rate).samples, np.float32)

def store(path, sound, rate, writer):
    if writer == "soundfile":
        soundfile.write(path, sound, rate)
        return
    with AudioFile(path, "w", rate, num_channels=1) as file:
        file.write(sound)

def late(found, sound):
    size = 2**18
    return int(np.argmax(np.fft.irfft(np.fft.rfft(found, size) * np.conj(np.fft.rfft(sound, size)))))

readers = {"pedalboard": by_pedalboard, "soundfile": lambda path, rate: soundfile.read(path)[0], "miniaudio": by_miniaudio, "PyAV": by_av}
for rate in (44100, 24000):
    time = np.arange(rate) / rate
    sound = (0.5 * np.sin(2 * np.pi * (300 * time + 2000 * time**2))).astype(np.float32)
    for suffix in ("mp3", "flac") if rate == 44100 else ("mp3",):
        for writer in ("soundfile", "pedalboard"):
            path = os.path.join(folder, f"{writer}{rate}.{suffix}")
            store(path, sound, rate, writer)
            found = {name: reader(path, rate) for name, reader in readers.items()}
            seen = {name: (len(one), late(one, sound)) for name, one in found.items()}
            print(f"{suffix} of {rate} Hz, written by {writer}: samples and lateness {seen}")
            for name, (count, delay) in seen.items():
                assert (delay, count > rate) == ((1105, True) if name == "pedalboard" and suffix == "mp3" else (0, False))
PYTHON
