#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyAV 18.1.0 (libswresample 6.3.102): stereo to mono is half the sum of both channels if the result is s16 or s32, but 0.707 of it if it is
# flt or dbl. So the same sound is 3 dB louder in floats, which models of speech take, and two full channels become 1.414, beyond full
# scale. The source's type does not matter. Mono to stereo is 0.707 in all types: there and back is right in floats alone.
# Guess before the run: the mean in each, so that the same sound has the same level in integers and in floats.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check av==18.1.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import av
import numpy as np

types = {"s16": (np.int16, 2**15), "s32": (np.int32, 2**31), "flt": (np.float32, 1), "dbl": (np.float64, 1)}
assert av.library_versions["libswresample"] == (6, 3, 102), av.library_versions


def resampled(source, levels, source_layout, target, target_layout):
    """Levels of one moment, as parts of the full scale, through AudioResampler."""
    dtype, full = types[source]
    frame = av.AudioFrame.from_ndarray((np.array([levels * 8]) * full).astype(dtype), format=source, layout=source_layout)
    frame.sample_rate = 16000
    resampler = av.AudioResampler(format=target, layout=target_layout, rate=16000)
    out = np.concatenate([out.to_ndarray() for out in resampler.resample(frame) + resampler.resample(None)], axis=1)
    return [round(float(level) / types[target][1], 3) for level in out[0, : 2 if target_layout == "stereo" else 1]]


for source in types:
    for target in types:
        both, left = resampled(source, [0.5, 0.5], "stereo", target, "mono"), resampled(source, [0.5, 0], "stereo", target, "mono")
        wide = resampled(source, [0.5], "mono", target, "stereo")
        print(f"{source} to {target}: both at 0.5 are {both} in mono, the left alone {left}; mono 0.5 is {wide} in stereo")
        assert (both, left) == (([0.5], [0.25]) if target.startswith("s") else ([0.707], [0.354])) and wide == [0.354, 0.354]
full = resampled("flt", [1, 1], "stereo", "flt", "mono")
print("two full channels in floats:", full)
assert full == [1.414]
PYTHON
