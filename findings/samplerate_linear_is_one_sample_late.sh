#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# samplerate 0.2.4 (libsamplerate): the converters "linear" and "zero_order_hold" hand out their sound one input sample late; the three of sinc do
# not. At a ratio of 1, 1 2 3 4 comes back as 1 1 2 3: the first sample twice and the last one never; at 2 the delay is two samples of the result.
# So tracks that go through different converters no longer fit together, and a click at the end is gone. soxr 1.1.0 has no delay with any quality.
# Guess before the run: a ratio of 1 changes nothing with converters as simple as these, and the place of a sound does not depend on the converter.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check samplerate==0.2.4 soxr==1.1.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import samplerate
import soxr

count = np.arange(1, 9, dtype=np.float32)
for converter in ("linear", "zero_order_hold"):
    found = samplerate.resample(count, 1, converter).tolist()
    print(converter, "at 1:", found)
    assert found == [1, 1, 2, 3, 4, 5, 6, 7]
time = np.arange(16000) / 16000
bump = np.exp(-((time - 0.5) / 0.01) ** 2).astype(np.float32)
for ratio in (1, 2, 3, 0.5):
    middles = {}
    ways = {name: lambda sound, name=name: samplerate.resample(sound, ratio, name)
            for name in ("linear", "zero_order_hold", "sinc_fastest", "sinc_medium", "sinc_best")}
    ways |= {"soxr " + name: lambda sound, name=name: soxr.resample(sound, 1000, 1000 * ratio, name) for name in ("QQ", "HQ")}
    for name, resample in ways.items():
        found = resample(bump).astype(np.float64)
        middles[name] = float(np.sum(found * np.arange(len(found))) / np.sum(found)) / ratio - 8000
    print(f"ratio {ratio}, samples of the input that a bump is late:", {name: round(late, 2) for name, late in middles.items()})
    assert abs(middles.pop("linear") - 1) < 0.01
    assert abs(middles.pop("zero_order_hold") - 1 - max(0, (ratio - 1) / 2 / ratio)) < 0.02
    assert all(abs(late) < 0.01 for late in middles.values())
PYTHON
