# SPDX-License-Identifier: Apache-2.0
"""Shared by the tests of OpenVINO's NPU plugin on the software NPU: small models, the reference, fresh processes. Some of them run on the
software GPU, too, by TENON_CLIENT_DEVICE=GPU."""
import json
import os
import subprocess
import sys
import textwrap
import unittest

import numpy as np
import openvino as ov

try:
    import openvino.opset13 as ops
except ImportError:  # Up to 2024.
    import openvino.runtime.opset13 as ops

COSINE = 0.9999
MAX_ERROR = 0.02  # Relative to the range of the reference output.
DEADLINE_S = 120

DEVICE = os.environ.get("TENON_CLIENT_DEVICE", "NPU")
# A GPU computes in f16 unless it is told otherwise.
EXACT = {"INFERENCE_PRECISION_HINT": "f32"} if DEVICE == "GPU" else {}

_core = None


def core():
    """One for the process: plugins load once."""
    global _core
    if _core is None:
        _core = ov.Core()
    return _core


def named(node, name):
    node.set_friendly_name(name)
    node.output(0).set_names({name})
    return node


def relu_model(shape=(1, 16), element_type=np.float32):
    x = named(ops.parameter(list(shape), element_type), "x")
    return ov.Model([ops.result(named(ops.relu(x), "y"))], [x], "relu")


def conv_model(seed=3, size=16, batch=1):
    """Convolutions, an addition, pooling and a product, with an output in the middle: more than one step, more than one output."""
    random = np.random.default_rng(seed)

    def weights(*shape):
        return ops.constant(random.normal(0, 1 / np.sqrt(np.prod(shape[1:])), shape).astype(np.float32))

    x = named(ops.parameter([batch, 3, size, size], np.float32), "image")
    first = ops.relu(ops.convolution(x, weights(8, 3, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1]))
    second = named(ops.add(ops.convolution(first, weights(8, 8, 3, 3), [1, 1], [1, 1], [1, 1], [1, 1]), first), "features")
    pooled = ops.reduce_mean(second, ops.constant(np.array([2, 3])), False)
    scores = named(ops.softmax(ops.matmul(pooled, weights(10, 8), False, True), 1), "scores")
    return ov.Model([ops.result(second), ops.result(scores)], [x], "conv")


def counter_model():
    """y = x + the sum of all x before: a state that an inference reads and writes."""
    x = named(ops.parameter([1, 4], np.float32), "x")
    before = ops.read_value(ops.constant(np.zeros((1, 4), np.float32)), "sum", np.float32, [1, 4])
    after = named(ops.add(x, before), "y")
    keep = ops.assign(after, "sum")
    return ov.Model([ops.result(after)], [keep], [x], "counter")


def random_inputs(model, seed=11):
    random = np.random.default_rng(seed)
    values = []
    for port in model.inputs:
        shape, kind = list(port.shape), port.element_type
        if kind.is_real():
            values.append(random.normal(0, 1, shape).astype(kind.to_dtype()))
        else:
            top = 2 if "mask" in port.any_name or kind == ov.Type.boolean else 400 if kind.bitwidth > 8 else 120
            values.append(random.integers(0, top, shape).astype(kind.to_dtype()))
    return values


def on_cpu(model, inputs):
    """The reference: OpenVINO's CPU plugin in f32."""
    compiled = core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return [np.array(value) for value in compiled(inputs).to_tuple()]


def disagreement(ours, judged, needed_cosine=COSINE, max_error=MAX_ERROR):
    """Why two outputs differ by more than rounding allows; empty if they agree."""
    ours, judged = np.asarray(ours), np.asarray(judged)
    if ours.shape != judged.shape or ours.dtype != judged.dtype:
        return f"{ours.dtype}{ours.shape} instead of {judged.dtype}{judged.shape}"
    a, b = ours.astype(np.float64).ravel(), judged.astype(np.float64).ravel()
    if not np.isfinite(a).all():
        return "not all numbers are finite"
    error, span = np.abs(a - b).max(initial=0), np.ptp(b) if b.size > 1 else abs(b).max(initial=0)
    norms = np.linalg.norm(a) * np.linalg.norm(b)
    cosine = a @ b / norms if norms > 0 else float(np.array_equal(a, b))
    if error <= 1e-6 * max(1.0, abs(b).max(initial=0)):
        return ""
    if cosine < needed_cosine or error > max_error * span:
        return f"cosine {cosine:.6f}, largest error {error:.3g} at a range of {span:.3g}"
    return ""


class NpuTest(unittest.TestCase):
    """A test with an NPU, which must exist if the driver is in place."""

    maxDiff = None

    def compile(self, model, settings=None):
        return core().compile_model(model, "NPU", settings or {})

    def assert_agrees(self, ours, judged, what=""):
        self.assertEqual(len(ours), len(judged), what)
        for k, (a, b) in enumerate(zip(ours, judged)):
            self.assertEqual(disagreement(a, b), "", f"{what} output {k}")

    def assert_agrees_with_cpu(self, model, settings=None, seed=11):
        inputs = random_inputs(model, seed)
        ours = [np.array(value) for value in self.compile(model, settings)(inputs).to_tuple()]
        self.assert_agrees(ours, on_cpu(model, inputs), model.get_friendly_name())

    def in_fresh_process(self, body, environment=None, expect_failure=False):
        """Runs Python that has `client`, `core`, `np` and `ov`; returns the value of `answer`, through JSON. `self.output` is
        its other output."""
        code = "import json, sys\nimport client\nimport numpy as np\nimport openvino as ov\ncore = client.core()\nanswer = None\n" + \
            textwrap.dedent(body) + "\nprint('ANSWER ' + json.dumps(answer))\n"
        done = subprocess.run([sys.executable, "-c", code], env=os.environ | (environment or {}), capture_output=True, text=True,
                              cwd=os.path.dirname(os.path.abspath(__file__)), timeout=DEADLINE_S)
        if expect_failure:
            self.assertGreater(done.returncode, 0, f"ended by a signal, or did not fail:\n{done.stdout}{done.stderr}")
            return done.stderr
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr[-4000:])
        self.output = done.stdout + done.stderr
        lines = [line for line in done.stdout.splitlines() if line.startswith("ANSWER ")]
        return json.loads(lines[-1][len("ANSWER "):])
