#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# openvino-tokenizers 2026.4.1.0 of tokenizers 0.23.3 (Hugging Face): WhitespaceSplit, which cuts a text at white space and nowhere else, is converted
# to the splitter of BERT, which cuts at punctuation, too. So words of a vocabulary such as "3.14", "it's" or "100%" are never found: "pi is 3.14"
# becomes pi, is, 3, ., 14, and "100%" two unknown words. Whitespace, which does cut at punctuation, and a Split at spaces are right.
# Guess before the run: what is converted without an error gives the same tokens for plain English text.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check \
  openvino==2026.4.1 openvino-tokenizers==2026.4.1.0 transformers==5.24.0 tokenizers==0.23.3 numpy==2.4.6
"$folder/venv/bin/python" - 2> "$folder/said" <<'PYTHON' || { cat "$folder/said"; exit 1; }
import openvino as ov
from openvino_tokenizers import convert_tokenizer
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

vocabulary = {word: number for number, word in enumerate(["?", "pi", "is", "3.14", "3", ".", "14", "it's", "it", "'", "s", "100%", "x_1"])}
for name, splitter in (("WhitespaceSplit", pre_tokenizers.WhitespaceSplit()), ("Split", pre_tokenizers.Split(" ", "removed")),
                       ("Whitespace", pre_tokenizers.Whitespace())):
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="?"))
    tokenizer.pre_tokenizer = splitter
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="?")
    converted = ov.Core().compile_model(convert_tokenizer(fast), "CPU")
    for text, right, wrong in (("pi is 3.14", ["pi", "is", "3.14"], ["pi", "is", "3", ".", "14"]),
                               ("it's pi", ["it's", "pi"], ["it", "'", "s", "pi"]),
                               ("100% is x_1", ["100%", "is", "x_1"], ["?", "?", "is", "x_1"]),
                               ("pi is pi", ["pi", "is", "pi"], ["pi", "is", "pi"])):
        found = [fast.convert_ids_to_tokens(ids) for ids in (fast(text)["input_ids"], converted([text])["input_ids"][0].tolist())]
        print(f"{name}, {text!r}: Hugging Face {found[0]}, OpenVINO {found[1]}")
        if name == "WhitespaceSplit":
            assert found == [right, wrong]
        else:
            assert found[0] == found[1] and (name != "Split" or found[0] == right)
PYTHON
