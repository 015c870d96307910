#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# soundfile 0.14.0 (libsndfile) on x86-64: a NaN among float32 or float64 samples is written as the lowest number of the file's integers, full
# scale below zero, in WAV of 8, 16, 24 and 32 bits and in AIFF, without an error: one NaN of a model's output is the loudest click there can be.
# FLAC of the same samples is an AssertionError. Infinity is clipped, as it should be. pedalboard 0.9.26 writes NaN as 0, and files of floats keep
# it.
# Guess before the run: NaN is silence, or refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check soundfile==0.14.0 pedalboard==0.9.26 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import io

import numpy as np
import soundfile
from pedalboard.io import AudioFile

samples = np.array([0.0, 0.25, np.nan, -0.25, np.inf, -np.inf, 0.0] + [0.0] * 57)
for kind, subtypes in {"WAV": ("PCM_U8", "PCM_16", "PCM_24", "PCM_32", "FLOAT"), "AIFF": ("PCM_16", "PCM_24")}.items():
    for subtype in subtypes:
        for dtype in (np.float32, np.float64):
            file = io.BytesIO()
            soundfile.write(file, samples.astype(dtype), 16000, format=kind, subtype=subtype)
            file.seek(0)
            found = soundfile.read(file)[0]
            print(f"{kind}, {subtype}, {np.dtype(dtype)}: {found[:7].tolist()}")
            if subtype == "FLOAT":
                assert np.isnan(found[2]) and found[4] == np.inf
                continue
            assert found[2] == -1 and found[5] == -1 and 0.99 < found[4] <= 1 and np.allclose(found[[0, 1, 3, 6]], [0, 0.25, -0.25, 0])
for number in (np.nan, np.inf):
    try:
        soundfile.write(io.BytesIO(), np.where(samples == samples, 0.1, number), 16000, format="FLAC", subtype="PCM_16")
        taken = True
    except AssertionError:
        taken = False
    print(f"FLAC with {number}: {'written' if taken else 'AssertionError'}")
    assert taken == (number == np.inf)
for bits in (8, 16, 24):
    file = io.BytesIO()
    file.name = "sound.wav"
    with AudioFile(file, "w", 16000, num_channels=1, bit_depth=bits) as output:
        output.write(samples.astype(np.float32))
    found = soundfile.read(io.BytesIO(file.getvalue()))[0]
    print(f"pedalboard, {bits} bits: {found[:7].tolist()}")
    assert found[2] == 0 and found[4] > 0.99
PYTHON
