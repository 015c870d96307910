#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyAV 18.1.0: a filter draws into the NumPy array that a frame was made of by from_numpy_buffer, even if the array is read-only, once no
# other reference to the frame is left: graph.push(VideoFrame.from_numpy_buffer(x)) of drawbox, negate or lutrgb changes x. While a variable
# still holds the frame, the filter copies first. So the same code changes its input or not by the name of a frame.
# Guess before the run: memory that belongs to NumPy is copied before a filter writes, or a read-only array is refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check av==18.1.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
from fractions import Fraction

import av
import numpy as np


def filtered(picture, keep, name, arguments):
    """The frame that a filter makes of a picture, while the frame of the picture is kept or not."""
    graph = av.filter.Graph()
    source = graph.add_buffer(width=picture.shape[1], height=picture.shape[0], format="rgb24", time_base=Fraction(1, 25))
    step, sink = graph.add(name, arguments), graph.add("buffersink")
    source.link_to(step)
    step.link_to(sink)
    graph.configure()
    frame = av.VideoFrame.from_numpy_buffer(picture, format="rgb24")
    frame.pts = 0
    graph.push(frame)
    if not keep:
        del frame
    return graph.pull()


for name, arguments in (("drawbox", "x=0:y=0:w=8:h=8:color=black:t=fill"), ("negate", ""), ("lutrgb", "r=0")):
    for keep in (True, False):
        picture = np.full((48, 64, 3), 200, np.uint8)
        picture.flags.writeable = False
        result = filtered(picture, keep, name, arguments).to_ndarray()
        state = "kept" if keep else "dropped"
        print(f"{name}, frame {state}: the read-only array holds {np.unique(picture)}, the result {np.unique(result)}")
        assert (picture == 200).all() == keep and not (result == 200).all()
PYTHON
