#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# torch 2.15.0: a view that PyTorch negates only when it is read, such as the imaginary part of a conjugated tensor, is exported by DLPack
# without its sign: NumPy, and PyTorch itself by torch.from_dlpack, see the numbers before they are negated. numpy() and np.asarray refuse
# the same view, and DLPack refuses a conjugated one. The inverse transforms of spectra and the backward passes of complex
# numbers make such views. Installs torch, 3 GB with CUDA's libraries.
# Guess before the run: the export resolves the sign, or is refused as that of a conjugated view is.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check --no-cache-dir torch==2.15.0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import torch

spectrum = torch.tensor([1 + 2j, 3 - 4j])
view = spectrum.conj().imag
assert view.is_neg() and view.tolist() == [-2, 4]
readers = {"numpy.from_dlpack": lambda x: np.from_dlpack(x).tolist(), "torch.from_dlpack": lambda x: torch.from_dlpack(x).tolist(),
           "numpy()": lambda x: x.numpy().tolist(), "numpy.asarray": lambda x: np.asarray(x).tolist()}
tensors = {"imaginary part of a conjugated tensor": view, "the same resolved": view.resolve_neg(), "conjugated tensor": spectrum.conj()}
forgets = {"numpy.from_dlpack", "torch.from_dlpack"}
for tensor, x in tensors.items():
    for reader, read in readers.items():
        try:
            found = read(x)
        except (BufferError, RuntimeError) as error:
            found = "refused: " + str(error)[:60]
        print(f"{tensor}, PyTorch {x.tolist()}, by {reader}: {found}")
        if x.is_neg() and reader in forgets:
            assert found == [2, -4]
        elif x.is_neg() or x.is_conj():
            assert str(found).startswith("refused")
        else:
            assert found == [-2, 4]
PYTHON
