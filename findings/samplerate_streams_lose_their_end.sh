#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# samplerate 0.2.4 (libsamplerate), Resampler.process with end_of_input=True at the last block: what the sinc filters still hold is not handed out,
# and a further call with nothing hands out nothing. A second of 16 kHz in blocks of 10 ms, doubled, lacks the last 288 samples, 9 ms, with sinc_best,
# and 40 with sinc_fastest; the rest is that of resample to the last bit. The first block is shorter by as many, and the room for a result is
# counted by its block's own length. In one block, or in resample, nothing is lost; soxr's stream loses nothing in blocks of 10 ms either.
# Guess before the run: end_of_input, which exists to say so, brings the rest, in as many samples as it takes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check samplerate==0.2.4 soxr==1.1.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import samplerate
import soxr

sound = np.random.default_rng(0).normal(size=16000).astype(np.float32)
for converter, lost in (("sinc_best", 288), ("sinc_medium", 94), ("sinc_fastest", 40), ("linear", 0)):
    whole = samplerate.resample(sound, 2, converter)
    for block in (160, 1600, 16000):
        resampler = samplerate.Resampler(converter)
        parts = [resampler.process(sound[start:start + block], 2, end_of_input=start + block == 16000) for start in range(0, 16000, block)]
        rest = len(resampler.process(np.zeros(0, np.float32), 2, end_of_input=True))
        found = np.concatenate(parts)
        print(f"{converter}, blocks of {block}: {len(found)} samples of {len(whole)}, {rest} more on asking; first block {len(parts[0])}")
        assert len(whole) == 32000 and rest == 0 and len(found) == 32000 - (lost if block < 16000 else 0)
        assert np.array_equal(found, whole[:len(found)])
stream = soxr.ResampleStream(16000, 32000, 1)
found = np.concatenate([stream.resample_chunk(sound[start:start + 160], last=start + 160 == 16000) for start in range(0, 16000, 160)])
print("soxr, blocks of 160:", len(found))
assert len(found) == 32000
PYTHON
