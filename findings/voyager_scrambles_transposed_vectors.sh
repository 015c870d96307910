#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# voyager 2.2.3 (Spotify's index of nearest neighbours), Index.add_items, add_item and query: an array's memory is read as it lies from its first
# number on, whatever its strides. So the columns of a matrix, every second number of longer vectors, and a part cut out of wider rows are stored
# as other vectors without an error, in float32 and float64; asked for a vector of the same view, the index gives another one as the nearest. A
# single vector of float32 with strides is stored wrongly, too, one of float64 rightly. Contiguous arrays are right. hnswlib 0.8.0 and faiss-cpu
# 1.15.1, with the same calls, are right for each.
# Guess before the run: a view is copied or refused, as in hnswlib, of which the index is made.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check voyager==2.2.3 hnswlib==0.8.0 faiss-cpu==1.15.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import faiss
import hnswlib
import numpy as np
from voyager import Index, Space

rng = np.random.default_rng(0)
wide = rng.normal(size=(12, 8)).astype(np.float32)
views = {
    "contiguous": wide[:6, :4].copy(),
    "transposed": rng.normal(size=(4, 6)).astype(np.float32).T,
    "transposed float64": rng.normal(size=(4, 6)).T,
    "every second number": wide[:6, ::2],
    "cut out": wide[::2, :4],
}
for name, view in views.items():
    index = Index(Space.Euclidean, 4)
    stored = index.get_vectors(index.add_items(view))
    single = Index(Space.Euclidean, 4)
    for row in view:
        single.add_item(row)
    alone = single.get_vectors(list(range(6)))
    plain = Index(Space.Euclidean, 4)
    plain.add_items(np.ascontiguousarray(view))
    nearest = [int(plain.query(row, 1)[0][0]) for row in view]
    hnsw = hnswlib.Index("l2", 4)
    hnsw.init_index(6)
    hnsw.add_items(view)
    flat = faiss.IndexFlatL2(4)
    flat.add(view)
    same = [bool(np.array_equal(found, view.astype(np.float32))) for found in (stored, alone, hnsw.get_items(list(range(6)), return_type="numpy"))]
    same.append(bool(np.array_equal(flat.reconstruct_n(0, 6), view.astype(np.float32))))
    print(f"{name}: add_items {same[0]}, add_item {same[1]}, hnswlib {same[2]}, faiss {same[3]}; nearest of each row {nearest}")
    assert same[0] == (name == "contiguous") and same[2] and same[3]
    assert same[1] == (name in ("contiguous", "transposed float64", "cut out"))
    assert (nearest == list(range(6))) == (name in ("contiguous", "transposed float64", "cut out"))
PYTHON
