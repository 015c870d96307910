#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pyloudnorm 0.2.0 (loudness by BS.1770): a NaN or an infinity in a sound is filtered into all that follows, and the blocks that are NaN drop out
# of the mean without a word. So a sound that is loud after a NaN has the loudness of what is before it, -26 in place of -6, and with a NaN at its
# beginning it is -infinity, silence; normalize.loudness to -14 then makes each sample infinite or NaN. A NaN in the last block changes nothing.
# The result is a number like any other in two of three cases.
# Guess before the run: NaN gives NaN, or is refused, as int16 and too many channels are.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pyloudnorm==0.2.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import numpy as np
import pyloudnorm

warnings.simplefilter("ignore")
meter = pyloudnorm.Meter(48000)
sound = np.sin(2 * np.pi * 997 * np.arange(240000) / 48000) * 10 ** (-23 / 20)
sound[120000:] *= 10
whole, first_half = meter.integrated_loudness(sound), meter.integrated_loudness(sound[:120000])
print(f"whole sound {whole:.2f} LUFS, its first half {first_half:.2f}")
for name, place in (("near the beginning", 100), ("in the middle", 120000), ("at the end", 239999)):
    for value in (np.nan, np.inf):
        broken = sound.copy()
        broken[place] = value
        found = meter.integrated_loudness(broken)
        print(f"{value} {name}: {found:.2f}")
        if place == 100:
            assert found == -np.inf and not np.isfinite(pyloudnorm.normalize.loudness(broken, found, -14.0)).any()
        elif place == 120000:
            assert abs(found - first_half) < 0.3 and whole - found > 10
        elif np.isnan(value):
            assert abs(found - whole) < 0.1
PYTHON
