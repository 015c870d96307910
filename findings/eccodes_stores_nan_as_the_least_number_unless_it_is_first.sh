#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# eccodes 2.50.0: a field with a NaN is refused ("Encoding invalid") if the NaN is its first number. Anywhere else it is stored as the least
# number of the field, without an error: a missing sea temperature is the coldest one of the map. It is so with grid_simple, grid_ccsds and
# grid_jpeg. Infinity is refused in each place. grid_ieee keeps NaN. GRIB has a bitmap for missing numbers, which eccodes fills by missingValue,
# not by NaN.
# Guess before the run: NaN is refused wherever it stands, as infinity is.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check eccodes==2.50.0 eccodeslib==2.50.0.33 eckitlib==2.5.0.33 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import eccodes
import numpy as np

field = 280 + np.random.default_rng(0).normal(size=496) * 10

def pack(packing, place, value):
    numbers = field.copy()
    numbers[place] = value
    message = eccodes.codes_grib_new_from_samples("regular_ll_sfc_grib2")
    eccodes.codes_set(message, "packingType", packing)
    try:
        eccodes.codes_set_values(message, numbers)
        found = eccodes.codes_get_values(message)
    except eccodes.EncodingError:
        return None
    finally:
        eccodes.codes_release(message)
    assert np.abs(np.delete(found - field, place)).max() < 1e-4
    return found[place]

for packing in ("grid_simple", "grid_ccsds", "grid_jpeg", "grid_ieee"):
    for place in (0, 1, 7, 495):
        found = pack(packing, place, np.nan)
        print(f"{packing}, NaN at {place}: {'refused' if found is None else found}; the least of the others {np.delete(field, place).min():.3f}")
        if packing == "grid_ieee":
            assert np.isnan(found)
            continue
        assert found is None if place == 0 else abs(found - np.delete(field, place).min()) < 1e-4
        assert pack(packing, place, np.inf) is None
PYTHON
