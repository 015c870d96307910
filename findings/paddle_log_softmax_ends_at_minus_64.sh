#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PaddlePaddle 3.3.1 on a CPU: softmax, log_softmax and cross_entropy take no score for lower than 64 below the largest. log_softmax of [0, -100] is
# [0, -64], in float64 as in float32; a masked score, minus infinity, has the log-probability -64 and the probability 1.6e-28, not 0; cross_entropy
# never exceeds 64, so that a label that is all but impossible costs no more than an unlikely one. Down to -63 all is right, and so is logsumexp.
# scaled_dot_product_attention hands out the same: with a causal mask the first query takes 1.6e-28 of what comes later.
# Guess before the run: log_softmax is the score less the logarithm of the sum, however low, and a masked position has the probability 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-cache-dir paddlepaddle==3.3.1 numpy==2.4.6
"$folder/venv/bin/python" -W ignore - 2> "$folder/said" <<'PYTHON' || { cat "$folder/said"; exit 1; }
import numpy as np
import paddle
import paddle.nn.functional as F

paddle.set_device("cpu")
for dtype in ("float32", "float64"):
    for score in (-50, -63, -65, -100, -1000, -np.inf):
        scores = paddle.to_tensor([0, score], dtype)
        logarithms, shares = F.log_softmax(scores).numpy(), F.softmax(scores).numpy()
        cost = F.cross_entropy(scores.reshape([1, 2]), paddle.to_tensor([1], "int64")).item()
        print(f"{dtype} [0, {score}]: log_softmax {logarithms.tolist()}, softmax {shares.tolist()}, cross_entropy of the second {cost}")
        lowest = max(score, -64)
        assert logarithms[0] == 0 and np.isclose(logarithms[1], lowest) and np.isclose(cost, -lowest)
        assert np.isclose(shares[1], np.exp(float(lowest)), rtol=1e-5, atol=0)
        assert np.isclose((scores - paddle.logsumexp(scores)).numpy()[1], score)
keys = paddle.ones([1, 3, 1, 4])
values = paddle.to_tensor(np.array([0, 0, 1], np.float32).repeat(4).reshape(1, 3, 1, 4))
first = F.scaled_dot_product_attention(keys, keys, values, is_causal=True).numpy()[0, 0, 0, 0]
print("what the first query takes of the third key under a causal mask:", first)
assert 1e-28 < first < 1e-27
PYTHON
