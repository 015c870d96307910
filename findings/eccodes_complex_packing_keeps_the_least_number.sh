#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# eccodes 2.50.0: a GRIB2 message made from ECMWF's own sample, whose packing is set to grid_complex or grid_complex_spatial_differencing, stores
# the least number of a field in each of its places, without an error: a field of 241 to 311 K is 241 K all over. With the packings grid_simple,
# grid_ccsds and grid_jpeg the same calls take 24 bits, and are right to 4e-6. It takes bitsPerValue, set before, to have complex packing store
# anything; decimalPrecision, which grid_simple and grid_jpeg follow, does not.
# Guess before the run: a packing changes the size of a message and the last digits, and it has one default of bits or none.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check eccodes==2.50.0 eccodeslib==2.50.0.33 eckitlib==2.5.0.33 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import eccodes
import numpy as np

field = 280 + np.random.default_rng(0).normal(size=496) * 10

def pack(packing, numbers, **settings):
    message = eccodes.codes_grib_new_from_samples("regular_ll_sfc_grib2")
    eccodes.codes_set(message, "packingType", packing)
    for key, value in settings.items():
        eccodes.codes_set(message, key, value)
    try:
        eccodes.codes_set_values(message, numbers.copy())
        return eccodes.codes_get_values(message)
    finally:
        eccodes.codes_release(message)

for packing in ("grid_simple", "grid_ccsds", "grid_jpeg", "grid_complex", "grid_complex_spatial_differencing"):
    complex_one = packing.startswith("grid_complex")
    for settings in ({}, {"decimalPrecision": 3}, {"bitsPerValue": 16}):
        found = pack(packing, field, **settings)
        print(f"{packing}, {settings or 'defaults'}: {len(np.unique(found))} different numbers, off by {np.abs(found - field).max():.2g}")
        lost = complex_one and "bitsPerValue" not in settings
        assert np.allclose(found, field.min(), atol=1e-3) if lost else np.abs(found - field).max() < 2e-3
PYTHON
