# SPDX-License-Identifier: Apache-2.0
"""Every model of the zoo: OpenVINO's NPU plugin on the software NPU, or its GPU plugin on the software GPU, beside OpenVINO's CPU plugin. TENON_ZOO is the folder; with
TENON_ZOO_FULL=1 the full-size models too. Prints the agreement of each model.

In models quantised to 8 bits a rounding difference grows from layer to layer: for resnet50_int8 with its random weights, the CPU
plugin with and without its own 8-bit transformations, and ONNX Runtime with and without optimisations, all have cosines of 0.99985
to 0.99988 to each other, for mobilenetv2_int8 of 0.9966 to 0.9988. There the software NPU must be as near to one of the plugin's two
forms as these are to each other: 1.25 times in cosine, 1.5 times in the largest error."""
import os
import pathlib
import time
import unittest

import numpy as np

from client import COSINE, DEVICE, EXACT, MAX_ERROR, NpuTest, core, disagreement, random_inputs

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


def steps_of(compiled, inputs_of_steps):
    request = compiled.create_infer_request()
    return [[np.array(v) for v in request.infer(inputs).to_tuple()] for inputs in inputs_of_steps]


def on_cpu(model, inputs, settings=None):
    return steps_of(core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"} | (settings or {})), inputs)


def distance(a, b):
    a, b = a.astype(np.float64).ravel(), b.astype(np.float64).ravel()
    return 1 - a @ b / (np.linalg.norm(a) * np.linalg.norm(b))


def largest_error(a, b):
    """In spans of b."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    span = np.ptp(b) if b.size > 1 else np.abs(b).max(initial=0)
    return np.abs(a - b).max(initial=0) / span if span > 0 else 0


def disagreement_in_8_bits(ours, plugin, unrounded):
    """With both forms of the plugin: with its 8-bit transformations, and without."""
    cosine = min(COSINE, 1 - 1.25 * distance(plugin, unrounded))
    error = max(MAX_ERROR, 1.5 * largest_error(plugin, unrounded))
    return min((disagreement(ours, form, cosine, error) for form in (plugin, unrounded)), key=len)


class Zoo(NpuTest):
    def test_agrees_with_the_cpu_plugin(self):
        found = list(files())
        self.assertGreaterEqual(len(found), 10, "generate the zoo first: models/zoo/generate.py")
        for path in found:
            with self.subTest(path.name):
                model = core().read_model(path)
                # A model with state runs several steps.
                stateful = any(op.get_type_name() == "Assign" for op in model.get_ops())
                inputs = [random_inputs(model, seed) for seed in range(3 if stateful else 1)]
                begin = time.perf_counter()
                compiled = core().compile_model(model, DEVICE, EXACT)
                compile_s = time.perf_counter() - begin
                ours = steps_of(compiled, inputs)
                judged = on_cpu(model, inputs)
                is_8_bit = "int8" in path.stem
                others = on_cpu(model, inputs, {"LP_TRANSFORMS_MODE": "NO"}) if is_8_bit else judged
                worst = 0.0
                for a, b, c in zip(ours, judged, others):
                    for k, (x, y, z) in enumerate(zip(a, b, c)):
                        wrong = disagreement_in_8_bits(x, y, z) if is_8_bit else disagreement(x, y)
                        self.assertEqual(wrong, "", f"output {k}")
                        worst = max(worst, largest_error(x, y))
                print(f"{path.name}: compiled in {compile_s:.2f} s, largest error {100 * worst:.4f} % of the range", flush=True)


if __name__ == "__main__":
    unittest.main()
