#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# onnxruntime-extensions 0.15.2: AudioDecoder gives stereo as one row of numbers in turn, left and right, with the shape of one channel, so
# that a model of mono hears it an octave lower and twice as long; stereo_to_mono=1 mixes. Down to a lower rate it filters little: of a tone
# of 10 kHz at 48 kHz, three tenths come back as 6 kHz at 16 kHz, where no sound was, and of 7 kHz, which belongs there, 0.88.
# Guess before the run: stereo is two rows or mono, and tones above half of the new rate are gone, below -40 dB.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check onnxruntime-extensions==0.15.2 onnxruntime==1.32.0 onnx==1.23.2 soundfile==0.14.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import io

import numpy as np
import onnxruntime
import onnxruntime_extensions
import soundfile
from onnx import TensorProto, helper


def decoded(sound, rate, **attributes):
    """What AudioDecoder makes of a WAV file of 16 bits."""
    file = io.BytesIO()
    soundfile.write(file, sound, rate, format="WAV", subtype="PCM_16")
    data = np.frombuffer(file.getvalue(), np.uint8)
    node = helper.make_node("AudioDecoder", ["x"], ["y"], domain="ai.onnx.contrib", **attributes)
    graph = helper.make_graph([node], "graph", [helper.make_tensor_value_info("x", TensorProto.UINT8, data.shape)],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)])
    versions = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.contrib", 1)]
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(onnxruntime_extensions.get_library_path())
    model = helper.make_model(graph, opset_imports=versions, ir_version=9)
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, {"x": data})[0]


def tone(frequency, rate):
    """A second of a sine of half the full scale."""
    return 0.5 * np.sin(2 * np.pi * frequency * np.arange(rate) / rate)


left, right = tone(440, 16000), tone(1000, 16000)
found, mixed = decoded(np.stack([left, right], 1), 16000), decoded(np.stack([left, right], 1), 16000, stereo_to_mono=1)
print("stereo:", found.shape, "with stereo_to_mono:", mixed.shape)
assert found.shape == (1, 32000) and np.allclose(found[0, 0::2], left, atol=1e-4) and np.allclose(found[0, 1::2], right, atol=1e-4)
assert mixed.shape == (1, 16000) and np.allclose(mixed[0], (left + right) / 2, atol=1e-4)
for frequency, heard, part in ((1000, 1000, 1), (7000, 7000, 0.88), (10000, 6000, 0.3), (12000, 4000, 0.11)):
    sound = decoded(tone(frequency, 48000), 48000, downsampling_rate=16000)[0]
    spectrum = np.abs(np.fft.rfft(sound)) / len(sound) * 4
    print(f"{frequency} Hz from 48 to 16 kHz: {spectrum.max():.2f} of it at {spectrum.argmax()} Hz")
    assert len(sound) == 16000 and spectrum.argmax() == heard and abs(spectrum.max() - part) < 0.03
PYTHON
