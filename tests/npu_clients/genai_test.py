# SPDX-License-Identifier: Apache-2.0
"""OpenVINO GenAI's language model pipeline on the software NPU, with the client's defaults: through NPUW, which splits the model, turns
its states into arguments, and compiles a prompt model and a token model with its NPU parameters. On the software GPU it is one model with
states. The reference is the whole model on OpenVINO's CPU plugin."""
import importlib.util
import tempfile
import unittest
from pathlib import Path

import numpy as np
from client import DEVICE, EXACT, NpuTest, core

FEW = {"MAX_PROMPT_LEN": 32, "MIN_RESPONSE_LEN": 32} if DEVICE == "NPU" else EXACT  # Less to compile than the default's 1024.
# None of one token: NPUW takes a single token for the next one of the previous text, on every device.
PROMPTS = ("the light and the water on stone", "ab", "Is 1 + 2 = 3?")
TOKENS = 20
TIE = 0.1  # In deviations of the logits: differences that rounding may decide (seen: 0.03).


@unittest.skipUnless(importlib.util.find_spec("openvino_genai"), "no Python package openvino-genai")
class GenAi(NpuTest):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.judges = {}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def model(self, kind):
        import tiny_llama  # pylint: disable=import-outside-toplevel

        folder = Path(self.folder.name) / kind
        return folder if folder.exists() else tiny_llama.save(folder, kind)

    def pipeline(self, kind, settings=None):
        import openvino_genai  # pylint: disable=import-outside-toplevel

        return openvino_genai.LLMPipeline(self.model(kind), DEVICE, **(FEW | (settings or {})))

    def greedy(self):
        import openvino_genai  # pylint: disable=import-outside-toplevel

        config = openvino_genai.GenerationConfig()
        config.max_new_tokens, config.ignore_eos, config.do_sample = TOKENS, True, False
        return config

    def logits_on_cpu(self, kind, tokens):
        """The output of OpenVINO's CPU plugin after each of the tokens, with nothing rounded."""
        if kind not in self.judges:
            exact = {"INFERENCE_PRECISION_HINT": "f32", "KV_CACHE_PRECISION": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": "0"}
            self.judges[kind] = core().compile_model(self.model(kind) / "openvino_model.xml", "CPU", exact)
        ids = np.array([tokens], np.int64)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "position_ids": np.arange(len(tokens))[None],
                  "beam_idx": np.zeros(1, np.int32)}
        return self.judges[kind].create_infer_request().infer(inputs)["logits"][0]

    def assert_speaks_as_cpu(self, kind, settings=None):
        pipeline = self.pipeline(kind, settings)
        tokenizer = pipeline.get_tokenizer()
        same, spoken = 0, set()
        for prompt in PROMPTS:
            given = tokenizer.encode(prompt)
            self.assertEqual(tokenizer.decode(given.input_ids)[0], prompt)
            said = pipeline.generate(given, self.greedy()).tokens[0]
            self.assertEqual(len(said), TOKENS)
            spoken.update(said)
            asked = given.input_ids.data.tolist()[0]
            logits = self.logits_on_cpu(kind, asked + said)[len(asked) - 1:-1]
            missed = (logits.max(axis=1) - logits[np.arange(TOKENS), said]) / logits.std(axis=1)
            self.assertLess(missed.max(), TIE, f"{kind}: {prompt}: {said}")
            same += np.count_nonzero(missed == 0)
            self.assertEqual(pipeline.generate(prompt, self.greedy()), tokenizer.decode(said), f"{kind}: {prompt}")
        self.assertGreater(same, 0.9 * TOKENS * len(PROMPTS))
        self.assertGreater(len(spoken), 10, "a model that says one thing shows nothing")

    def test_speaks_as_on_the_cpu_in_f32(self):
        self.assert_speaks_as_cpu("f32")

    def test_speaks_as_on_the_cpu_with_weights_of_8_bits(self):
        self.assert_speaks_as_cpu("u8")

    def test_speaks_as_on_the_cpu_with_weights_of_4_bits(self):
        self.assert_speaks_as_cpu("i4")

    @unittest.skipUnless(DEVICE == "NPU", "a hint of NPUW")
    def test_speaks_as_on_the_cpu_by_best_performance(self):
        # The token model is then compiled with optimization-level=3.
        self.assert_speaks_as_cpu("i4", {"GENERATE_HINT": "BEST_PERF"})

    def test_forgets_what_was_said_before(self):
        pipeline = self.pipeline("f32")
        first = pipeline.generate(PROMPTS[0], self.greedy())
        pipeline.generate(PROMPTS[2], self.greedy())
        self.assertEqual(pipeline.generate(PROMPTS[0], self.greedy()), first)


if __name__ == "__main__":
    unittest.main()
