#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyAV 18.1.0: add_stream without a format takes the first one of the encoder's list, whatever frames come, and frames are converted without a
# word. For WavPack and TTA, codecs without loss, this is 8 bits: sound of 16 bits comes back with its low byte gone, off by up to 255 steps, and
# sound of floats or 32 bits likewise. WavPack's file is read as 16 bits, which hides it. FLAC takes 16 bits and ALAC 32. With format="s16p" of
# WavPack and "s16" of TTA each sample comes back. Streams of video are yuv420p by default, in FFV1, too: RGB loses half of its colours, and
# 16-bit grey all but 8.
# Guess before the run: an encoder without loss keeps what it is given, as its first frame says what that is.
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
rng = np.random.default_rng(0)
sound = rng.integers(-3000, 3000, 4000).astype(np.int16)

def through(suffix, codec, **settings):
    path = os.path.join(folder, "sound." + suffix)
    with av.open(path, "w") as output:
        stream = output.add_stream(codec, rate=48000, layout="mono", **settings)
        frame = av.AudioFrame.from_ndarray(sound[None], "s16", "mono")
        frame.sample_rate, frame.pts, frame.time_base = 48000, 0, Fraction(1, 48000)
        for packet in stream.encode(frame) + stream.encode(None):
            output.mux(packet)
        inside = stream.codec_context.format.name
    with av.open(path) as source:
        frames = list(source.decode(audio=0))
    found = np.concatenate([one.to_ndarray()[0] for one in frames]).astype(np.int64)
    name = frames[0].format.name.rstrip("p")
    found = {"u8": (found - 128) * 256, "s16": found, "s32": found / 65536}[name]
    return inside, frames[0].format.name, float(np.abs(found - sound).max())

for suffix, codec, settings, want in (
    ("wv", "wavpack", {}, ("u8p", "s16p", 255.0)), ("tta", "tta", {}, ("u8", "u8", 255.0)), ("flac", "flac", {}, ("s16", "s16", 0.0)),
    ("m4a", "alac", {}, ("s32p", "s32p", 0.0)), ("wv", "wavpack", {"format": "s16p"}, ("s16p", "s16p", 0.0)),
    ("tta", "tta", {"format": "s16"}, ("s16", "s16", 0.0)),
):
    found = through(suffix, codec, **settings)
    print(f"{codec} {settings}: encoded as {found[0]}, decoded as {found[1]}, off by up to {found[2]:.0f} steps of 16 bits")
    assert found == want
pictures = {"rgb24": rng.integers(0, 256, (48, 64, 3)).astype(np.uint8), "gray16le": rng.integers(0, 65536, (48, 64)).astype(np.uint16)}
for name, picture in pictures.items():
    for settings in ({}, {"pix_fmt": "gray16le" if picture.ndim == 2 else "bgr0"}):
        path = os.path.join(folder, "video.mkv")
        with av.open(path, "w") as output:
            stream = output.add_stream("ffv1", rate=24, width=64, height=48, **settings)
            frame = av.VideoFrame.from_ndarray(picture, name)
            for packet in stream.encode(frame) + stream.encode(None):
                output.mux(packet)
        with av.open(path) as source:
            back = next(source.decode(video=0))
        off = int(np.abs(back.to_ndarray(format=name).astype(int) - picture).max())
        print(f"ffv1 of {name} {settings}: stored as {back.format.name}, off by up to {off}")
        assert (off == 0) == bool(settings) and (settings or back.format.name == "yuv420p")
PYTHON
