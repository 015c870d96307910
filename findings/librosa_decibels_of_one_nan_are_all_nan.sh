#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# librosa 0.11.0: power_to_db and amplitude_to_db limit a spectrogram to 80 dB below its greatest number, their default. If one number is NaN, so
# is that limit, and each number of the result; if one is infinite, all are infinite. With top_db=None only that one is. buf_to_float takes
# samples of one byte for signed ones, though WAV's of 8 bits are unsigned: 128, silence, is -1, and 0, the lowest, is 0.
# Guess before the run: decibels are taken one by one, so that NaN stays where it is, and bytes are WAV's, for which the function is made.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check librosa==0.11.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import librosa
import numpy as np

warnings.simplefilter("ignore")
for function in (librosa.power_to_db, librosa.amplitude_to_db):
    for value in (np.nan, np.inf):
        spectrum = np.ones((4, 5))
        spectrum[2, 3] = value
        found, free = function(spectrum), function(spectrum, top_db=None)
        counts = [int((~np.isfinite(one)).sum()) for one in (found, free)]
        print(f"{function.__name__}, one {value} of 20: {counts[0]} are not finite; {counts[1]} with top_db=None")
        assert np.array_equal(found, np.full((4, 5), value), equal_nan=True) and counts == [20, 1]
bytes_ = np.array([0, 64, 128, 192, 255], np.uint8)
found = librosa.util.buf_to_float(bytes_, n_bytes=1)
print("buf_to_float of", bytes_.tolist(), found.tolist(), "and WAV's", ((bytes_ - 128.0) / 128).tolist())
assert found[2] == -1 and found[0] == 0 and found[1] == 0.5
PYTHON
