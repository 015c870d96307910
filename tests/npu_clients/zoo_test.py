# SPDX-License-Identifier: Apache-2.0
"""Every model of the zoo: OpenVINO's NPU plugin on the software NPU beside OpenVINO's CPU plugin. TENON_ZOO is the folder; with
TENON_ZOO_FULL=1 the full-size models too. Prints what each model's agreement is."""
import os
import pathlib
import time
import unittest

import numpy as np

from client import NpuTest, core, disagreement, random_inputs

FULL = os.environ.get("TENON_ZOO_FULL") == "1"


def files():
    folder = pathlib.Path(os.environ["TENON_ZOO"])
    stems = sorted(path.stem for path in folder.glob("*.onnx"))
    for stem in stems:
        tiny = stem.endswith("_tiny") or stem == "relu1"
        if not FULL and not tiny:
            continue
        for suffix in (".onnx", ".xml"):
            path = folder / (stem + suffix)
            # The IR of a full model is the same graph with weights in f16: one of the two is enough.
            if path.exists() and (tiny or suffix == ".onnx"):
                yield path


def judge_settings(path):
    """f32. In 8-bit models the CPU plugin as a rule rewrites what stands between QuantizeLinear and DequantizeLinear, and its results
    then differ from the graph's own meaning (of resnet50_int8_tiny: cosine 0.9998 beside ONNX Runtime and beside itself without
    that, where the software NPU and ONNX Runtime agree to 1e-6). It judges without it."""
    return {"INFERENCE_PRECISION_HINT": "f32"} | ({"LP_TRANSFORMS_MODE": "NO"} if "int8" in path.stem else {})


def steps_of(compiled, inputs_of_steps):
    request = compiled.create_infer_request()
    return [[np.array(v) for v in request.infer(inputs).to_tuple()] for inputs in inputs_of_steps]


class Zoo(NpuTest):
    def test_agrees_with_the_cpu_plugin(self):
        found = list(files())
        self.assertGreaterEqual(len(found), 10, "generate the zoo first: models/zoo/generate.py")
        for path in found:
            with self.subTest(path.name):
                model = core().read_model(path)
                # A model that keeps a state runs several steps.
                stateful = any(op.get_type_name() == "Assign" for op in model.get_ops())
                inputs = [random_inputs(model, seed) for seed in range(3 if stateful else 1)]
                begin = time.perf_counter()
                compiled = core().compile_model(model, "NPU")
                compile_s = time.perf_counter() - begin
                ours = steps_of(compiled, inputs)
                judged = steps_of(core().compile_model(model, "CPU", judge_settings(path)), inputs)
                worst = 0.0
                for a, b in zip(ours, judged):
                    for k, (x, y) in enumerate(zip(a, b)):
                        self.assertEqual(disagreement(x, y), "", f"output {k}")
                        span = np.ptp(y) if y.size > 1 else 1
                        worst = max(worst, float(np.abs(x.astype(np.float64) - y).max() / span) if span > 0 else 0)
                print(f"{path.name}: compiled in {compile_s:.2f} s, largest error {100 * worst:.4f} % of the range", flush=True)


if __name__ == "__main__":
    unittest.main()
