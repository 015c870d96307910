# SPDX-License-Identifier: Apache-2.0
"""A program as others have it: OpenVINO on "NPU", and no word of Tenon. It repeats an inference that failed, since devices can be reset."""
import argparse
import sys
import time

import numpy as np
import openvino as ov
import openvino.opset13 as ops


def model():
    x = ops.parameter([1, 64], np.float32, name="x")
    return ov.Model([ops.relu(ops.add(x, np.float32(-0.5)))], [x], "small")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inferences", type=int, default=8)
    parser.add_argument("--retries", type=int, default=2, help="of one inference")
    parser.add_argument("--deadline-ms", type=float, help="an inference that takes longer counts as late")
    given = parser.parse_args()
    request = ov.Core().compile_model(model(), "NPU").create_infer_request()
    failed = late = 0
    for number in range(given.inferences):
        x = np.full((1, 64), number / 8, np.float32)
        for attempt in range(given.retries + 1):
            begin = time.perf_counter()
            try:
                y = request.infer([x])[0]
                break
            except RuntimeError as error:
                failed += 1
                print(f"inference {number}: {str(error).strip().splitlines()[-1]}", file=sys.stderr)
        else:
            sys.exit(f"inference {number} failed {given.retries + 1} times")
        late += given.deadline_ms is not None and 1000 * (time.perf_counter() - begin) > given.deadline_ms
        np.testing.assert_allclose(y, np.maximum(x - 0.5, 0), atol=1e-3)
    print(f"{given.inferences} results are right, {failed} attempts failed, {late} were late")


if __name__ == "__main__":
    main()
