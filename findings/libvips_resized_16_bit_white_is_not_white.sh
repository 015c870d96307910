#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# libvips 8.18 (pyvips-binary 8.18.7): resize of an even 16-bit picture to less than its size gives stripes of other levels: the white of 97 x 97
# pixels, 65535, becomes 65407 to 65503 at 0.37, 0.05 to 0.2 % too dark, and 40000 has 21 levels with the cubic kernel. int16 is the
# same. uint8 and float32 stay even, enlarging does, too, and so does "nearest". The sum of the filter's weights is not one in its integers.
# Guess before the run: an even picture stays even, up to the last step, whatever the type.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check pyvips==3.2.0 pyvips-binary==8.18.7 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import pyvips


def levels(level, dtype, scale, kernel):
    """The levels of an even picture of 97 x 97 pixels after a change of size."""
    return np.unique(pyvips.Image.new_from_array(np.full((97, 97), level, dtype)).resize(scale, kernel=kernel).numpy()).tolist()


print("libvips", ".".join(str(pyvips.version(each)) for each in range(3)))
for scale in (0.37, 0.9, 0.1, 2.3):
    for kernel in ("lanczos3", "linear", "cubic", "nearest"):
        found = {np.dtype(dtype).name: levels(level, dtype, scale, kernel)
                 for level, dtype in ((255, np.uint8), (65535, np.uint16), (30000, np.int16), (1, np.float32))}
        print(f"{kernel} by {scale}: {found}")
        assert found["uint8"] == [255] and np.allclose(found["float32"], 1, atol=1e-6)
        reduced = scale < 1 and kernel != "nearest"
        assert (found["uint16"] != [65535]) == (found["int16"] != [30000]) == reduced
assert levels(65535, np.uint16, 0.37, "lanczos3")[-1] < 65535 and levels(65535, np.uint16, 0.1, "lanczos3")[0] < 65400
assert len(levels(40000, np.uint16, 0.37, "cubic")) > 10
PYTHON
