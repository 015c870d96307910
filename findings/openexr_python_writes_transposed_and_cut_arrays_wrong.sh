#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OpenEXR 3.5.3: OpenEXR.File writes an array's memory as it lies from the first pixel on and never looks at its strides. A transposed or
# Fortran-ordered array, channels-first planes seen as RGB, a part cut out of a picture and every second pixel of one are all written
# without an error, with the numbers in other places. Contiguous arrays are right. A depth map that was cut or turned is such an array.
# Guess before the run: each view is written as it is seen, or refused.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check openexr==3.5.3 numpy==2.4.6
"$folder/venv/bin/python" - "$folder/picture.exr" <<'PYTHON'
import sys

import numpy as np
import OpenEXR


def stored(name, pixels):
    """The pixels that a file of one channel, or one group of channels, gives back."""
    header = {"compression": OpenEXR.ZIP_COMPRESSION, "type": OpenEXR.scanlineimage}
    with OpenEXR.File(header, {name: pixels}) as file:
        file.write(sys.argv[1])
    with OpenEXR.File(sys.argv[1]) as file:
        return file.channels()[name].pixels.copy()


depth = np.arange(48, dtype=np.float32).reshape(6, 8)
planes = np.arange(144, dtype=np.float32).reshape(3, 6, 8)
picture = np.arange(144, dtype=np.float32).reshape(6, 8, 3)
cases = {"contiguous": ("Z", depth), "transposed": ("Z", depth.T), "Fortran order": ("Z", np.asfortranarray(depth)),
         "cut out": ("Z", depth[:3, :4]), "every second": ("Z", depth[::2, ::2]), "contiguous RGB": ("RGB", picture),
         "planes as RGB": ("RGB", planes.transpose(1, 2, 0)), "RGB cut out": ("RGB", picture[:3, :4])}
for case, (name, pixels) in cases.items():
    found = stored(name, pixels)
    equal = np.array_equal(found, pixels)
    print(f"{case}: written {pixels.ravel()[:5]}..., read {found.ravel()[:5]}..., {'equal' if equal else 'other numbers'}")
    assert equal == pixels.flags.c_contiguous
    if not equal:
        memory = pixels.base if pixels.base is not None else pixels
        memory = memory.ravel(order="K") if memory.size >= pixels.size else memory
        assert np.array_equal(found.ravel(), memory[: found.size]), "the memory from the first pixel on"
PYTHON
