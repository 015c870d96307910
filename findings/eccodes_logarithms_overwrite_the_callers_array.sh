#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# eccodes 2.50.0 (ECMWF's GRIB library, with its Python module): codes_set_values of a float64 array, where the message's packing is
# grid_simple_log_preprocessing, replaces the caller's numbers by their logarithms: 280 K are 5.6 afterwards. Where a number is not above 0, all
# are moved up first, so that what is left cannot be undone without the least one. The message itself decodes to what was given. The five other
# packings, and arrays of float32, leave the caller's numbers as they are. So what is computed after the file is written is wrong.
# Guess before the run: what is written to a message is read only.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check eccodes==2.50.0 eccodeslib==2.50.0.33 eckitlib==2.5.0.33 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import eccodes
import numpy as np

rng = np.random.default_rng(0)
fields = {"temperature": 280 + rng.normal(size=496) * 10, "rain": rng.exponential(size=496) * (rng.random(496) > 0.5), "0 to 495": np.arange(496.0)}
packings = ["grid_simple", "grid_ccsds", "grid_jpeg", "grid_complex", "grid_ieee", "grid_simple_log_preprocessing"]
for packing in packings:
    for name, numbers in fields.items():
        for dtype in (np.float64, np.float32):
            given = numbers.astype(dtype)
            message = eccodes.codes_grib_new_from_samples("regular_ll_sfc_grib2")
            eccodes.codes_set(message, "packingType", packing)
            if packing != "grid_ieee":
                eccodes.codes_set(message, "bitsPerValue", 24)
            eccodes.codes_set_values(message, given)
            decoded = eccodes.codes_get_values(message)
            eccodes.codes_release(message)
            changed = int((given != numbers.astype(dtype)).sum())
            assert np.abs(decoded - numbers).max() < 1e-3
            assert (changed > 490) == (packing == packings[-1] and dtype == np.float64) and (changed > 490 or changed == 0)
            if changed:
                print(f"{packing}, {name}: {changed} of 496 numbers of the caller changed; {numbers[:2].round(3)} are {given[:2].round(3)}")
PYTHON
