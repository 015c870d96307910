#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# openvino-tokenizers 2026.4.1.0 of tokenizers 0.23.3 (Hugging Face): a plain text in Replace, as a normalizer or a decoder, and in Split is converted
# as if it were a regular expression. Replace(".", "!") turns each character into "!", so that all sentences of one length are the same tokens, and a
# decoder of it answers in exclamation marks; "$1" as the new text changes nothing; Split(".", "removed") leaves no token at all. Hugging Face's own
# library takes the text for itself, and has Regex(".") for the other meaning. Nothing is said.
# Guess before the run: the converter writes a plain text so that it stays one.
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
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

letters = {letter: number for number, letter in enumerate("?!.$abcdehlorw01")}


def both(text, **parts):
    """The tokens of a text by Hugging Face's tokenizer of single letters with these parts, and by the converted one."""
    tokenizer = Tokenizer(models.BPE(letters, [], unk_token="?"))
    for name, part in parts.items():
        setattr(tokenizer, name, part)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="?")
    converted = ov.Core().compile_model(convert_tokenizer(fast), "CPU")
    return ["".join(fast.convert_ids_to_tokens(ids)) for ids in (fast(text)["input_ids"], converted([text])["input_ids"][0].tolist())]


def decoded(text, decoder):
    """What becomes of the tokens of a text by the decoder of both."""
    tokenizer = Tokenizer(models.BPE(letters, [], unk_token="?"))
    tokenizer.decoder = decoder
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="?")
    back = ov.Core().compile_model(convert_tokenizer(fast, with_detokenizer=True)[1], "CPU")
    ids = fast(text)["input_ids"]
    return [fast.decode(ids, clean_up_tokenization_spaces=False), str(back(np.array([ids], np.int64))["string_output"][0])]


for name, parts, text, right, wrong in (
        ("Replace('.', '!')", {"normalizer": normalizers.Replace(".", "!")}, "hello.world", "hello!world", "!!!!!!!!!!!"),
        ("Replace('.', '!')", {"normalizer": normalizers.Replace(".", "!")}, "abc", "abc", "!!!"),
        ("Replace(Regex('.'), '!')", {"normalizer": normalizers.Replace(Regex("."), "!")}, "abc", "!!!", "!!!"),
        ("Replace('l', '.')", {"normalizer": normalizers.Replace("l", ".")}, "hello", "he..o", "he..o"),
        ("Replace('0', '$1')", {"normalizer": normalizers.Replace("0", "$1")}, "a0b", "a$1b", "a0b"),
        ("Split('.', 'removed')", {"pre_tokenizer": pre_tokenizers.Split(".", "removed")}, "hello.world", "helloworld", "")):
    found = both(text, **parts)
    print(f"{name} of {text!r}: Hugging Face {found[0]!r}, OpenVINO {found[1]!r}")
    assert found == [right, wrong]
found = decoded("a.b", decoders.Sequence([decoders.Replace(".", "!"), decoders.Fuse()]))
print(f"decoder Replace('.', '!') of 'a.b': Hugging Face {found[0]!r}, OpenVINO {found[1]!r}")
assert found == ["a!b", "!!!"]
PYTHON
