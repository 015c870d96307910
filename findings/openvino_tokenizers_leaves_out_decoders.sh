#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# openvino-tokenizers 2026.4.1.0 of tokenizers 0.23.3 (Hugging Face): three detokenizers answer in other words. A Metaspace decoder is left out, so
# that the mark of a space, U+2581, stands in the text: "the quick fox" comes back with three of them and no space. A BPE model without a decoder,
# for which Hugging Face puts spaces between tokens, has nothing between them: "thequickfox". WordPiece(cleanup=False), which leaves the space before
# a full stop, is taken for WordPiece with the clean-up. WordPiece itself and the parts that Llama uses are right. Nothing is said.
# Guess before the run: the converter refuses a decoder that it does not know, as it refuses other parts of a tokenizer.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
  openvino==2026.4.1 openvino-tokenizers==2026.4.1.0 transformers==5.24.0 tokenizers==0.23.3 numpy==2.4.6
"$folder/venv/bin/python" - 2> "$folder/said" <<'PYTHON' || { cat "$folder/said"; exit 1; }
import numpy as np
import openvino as ov
from openvino_tokenizers import convert_tokenizer
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

mark = "\u2581"
llama = decoders.Sequence([decoders.Replace(mark, " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
marked, plain = [mark + "the", mark + "quick", mark + "fox"], ["the", "quick", "fox", "."]
cases = (("Metaspace", models.BPE, marked, decoders.Metaspace(), "the quick fox", mark + "the" + mark + "quick" + mark + "fox"),
         ("Replace, Fuse and Strip", models.BPE, marked, llama, "the quick fox", "the quick fox"),
         ("none", models.BPE, plain, None, "the quick fox .", "thequickfox."),
         ("WordPiece", models.WordPiece, plain, decoders.WordPiece(), "the quick fox.", "the quick fox."),
         ("WordPiece without cleanup", models.WordPiece, plain, decoders.WordPiece(cleanup=False), "the quick fox .", "the quick fox."))
for name, model, tokens, decoder, right, wrong in cases:
    vocabulary = {token: number for number, token in enumerate(["?"] + tokens)}
    tokenizer = Tokenizer(model(vocabulary, [], unk_token="?") if model is models.BPE else model(vocabulary, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    if decoder is not None:
        tokenizer.decoder = decoder
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="?")
    back = ov.Core().compile_model(convert_tokenizer(fast, with_detokenizer=True)[1], "CPU")
    ids = [vocabulary[token] for token in tokens]
    found = [fast.decode(ids, clean_up_tokenization_spaces=False), str(back(np.array([ids], np.int64))["string_output"][0])]
    print(f"decoder {name}: Hugging Face {found[0]!r}, OpenVINO {found[1]!r}")
    assert found == [right, wrong]
PYTHON
