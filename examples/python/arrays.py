#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Arrays of several libraries go into a model and come out of it where they lie: arrays.py MODEL. Prints which of them share memory."""
import importlib
import sys

import numpy as np

import tenon as tn


def main(model: str) -> int:
    compiled = tn.compile_model(model, "CPU")
    request = compiled.create_infer_request()
    picture = np.zeros(tuple(compiled.input(0).shape), np.float32)

    with tn.ledger(request) as moved:
        results = request.infer({0: picture}, share_inputs=True, share_outputs=True)
    print("NumPy in and out:", moved.copied, "bytes copied")
    assert moved.copied == 0
    output = request.get_output_tensor(0)
    assert np.shares_memory(results[0], output.data)

    # DLPack, as torch, JAX and CuPy have it: no copy either way.
    tensor = tn.from_dlpack(picture)
    back = np.from_dlpack(tensor)
    print("DLPack there and back:", "the same memory" if np.shares_memory(back, picture) else "a copy")

    try:
        torch = importlib.import_module("torch")
    except ImportError:
        print("torch is not installed")
    else:
        theirs = torch.ones(tuple(compiled.input(0).shape))
        request.infer({0: theirs}, share_inputs=True)
        assert request.get_tensor(compiled.input(0)).data.ctypes.data == theirs.data_ptr()
        ours = torch.from_dlpack(output)
        print("torch in and out:", tuple(ours.shape), "at the output's address" if ours.data_ptr() == output.data.ctypes.data else "copied")

    # What cannot be shared says why, and how it can.
    try:
        tn.Tensor(picture[..., ::-1], shared_memory=True)
    except BufferError as error:
        print("refused:", error)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]) if len(sys.argv) > 1 else "usage: arrays.py MODEL")
