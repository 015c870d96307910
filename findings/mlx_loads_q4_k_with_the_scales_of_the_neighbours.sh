#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# MLX 0.32.4 (mlx-cpu), load of a GGUF file that gguf 0.19.0 wrote: of the eight groups of 32 weights in a block of Q4_K, the commonest type, each
# second one is multiplied by the scale and lowered by the minimum of the group before it. Scales 1 to 8 are read as 1, 1, 3, 3, 5, 5, 7, 7. No
# error. Q6_K and Q2_K are right up to float16.
# Guess before the run: weights are those of gguf's own dequantize, or the type is refused, as Q5_K is.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check mlx==0.32.4 mlx-cpu==0.32.4 gguf==0.19.0 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - "$folder" <<'PYTHON'
import sys

import gguf
import mlx.core as mx
import numpy as np
from gguf.quants import dequantize

mx.set_default_device(mx.cpu)
types = gguf.GGMLQuantizationType


def loaded(blocks, kind):
    """Weights of blocks of a type as gguf has them, and as MLX loads them from a file, in groups of 32."""
    path = f"{sys.argv[1]}/weights.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tensor("x", blocks, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return dequantize(blocks, kind).reshape(-1, 32), np.array(mx.load(path)["x"].astype(mx.float32)).reshape(-1, 32)


def halves(*numbers):
    return np.frombuffer(np.float16(numbers).tobytes(), np.uint8)


block = np.zeros((1, 144), np.uint8)
block[0, :4], block[0, 16:] = halves(1, 0), 0x11
block[0, 4:8], block[0, 12:16] = [1, 2, 3, 4], [5, 6, 7, 8]
right, found = loaded(block, types.Q4_K)
print("groups of ones with the scales", right[:, 0].tolist(), "are to MLX", found[:, 0].tolist())
assert right[:, 0].tolist() == [1, 2, 3, 4, 5, 6, 7, 8] and found[:, 0].tolist() == [1, 1, 3, 3, 5, 5, 7, 7]
random = np.random.default_rng(0)
for kind, size, place, numbers in ((types.Q4_K, 144, 0, (0.01, 0.02)), (types.Q6_K, 210, 208, (0.01,)), (types.Q2_K, 84, 80, (0.01, 0.02))):
    blocks = random.integers(0, 256, (8, size), dtype=np.uint8)
    blocks[:, place : place + 2 * len(numbers)] = halves(*numbers)
    right, found = loaded(blocks, kind)
    off = np.abs(found - right).max(axis=1).reshape(8, 8).max(axis=0)
    print(f"{kind.name}: weights up to {np.abs(right).max():.2f}, each group of a block off by up to {off.round(3).tolist()}")
    assert (off[::2] < 0.02).all() and ((off[1::2] > 0.3).all() if kind == types.Q4_K else (off < 0.02).all())
PYTHON
