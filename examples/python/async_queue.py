#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several inferences at once on the frames of a video, their results in the order of the frames: async_queue.py VIDEO MODEL [DEVICE]."""
import sys
import time

import numpy as np

import tenon as tn


def main(video: str, model: str, device: str = "CPU") -> int:
    compiled = tn.compile_model(model, device, {"PERFORMANCE_HINT": "THROUGHPUT"})
    queue = tn.AsyncInferQueue(compiled)
    best: dict[int, float] = {}

    def done(request: tn.InferRequest, number: int) -> None:
        # The next inference of this request overwrites its tensors: take what you need here, or copy.
        best[number] = float(np.max(request.get_output_tensor(0).data))

    queue.set_callback(done)
    begin = time.perf_counter()
    with tn.open(video, model=compiled) as frames:   # Decoded into memory that the model reads in place.
        for number, frame in enumerate(frames):
            queue.start_async(frame, number)         # Waits for a free request. The frame lives until its inference is over.
    queue.wait_all()
    seconds = time.perf_counter() - begin
    print(f"{len(best)} frames by {len(queue)} requests, {len(best) / seconds:.0f} frames/s")
    print("in order:", [round(best[number], 2) for number in range(min(5, len(best)))])
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4]) if len(sys.argv) > 2 else "usage: async_queue.py VIDEO MODEL [DEVICE]")
