#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# numcodecs 0.16.6 and zfpy 1.0.1.post0, its optional codec ZFPY and the newest one on PyPI: numcodecs makes integers of the parts of
# zfpy's version, "post0" among them, and raises ValueError as it is imported. So "pip install zfpy" breaks zarr 3.1.6, which imports
# numcodecs, for arrays of any codec. zfpy by itself works. Uninstalling it mends zarr.
# Guess before the run: with zfpy installed there is one codec more.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --disable-pip-version-check numcodecs==0.16.6 zarr==3.1.6 numpy==2.4.6
cat > "$folder/roundtrip.py" <<'PYTHON'
import numpy as np
import zarr

rows = zarr.create_array(zarr.storage.MemoryStore(), shape=(10,), chunks=(4,), dtype="f4")
rows[:] = np.arange(10)
assert rows[:].tolist() == list(range(10))
print("zarr", zarr.__version__, "wrote and read an array")
PYTHON
"$folder/venv/bin/python" "$folder/roundtrip.py"
"$folder/venv/bin/pip" install -q --disable-pip-version-check zfpy==1.0.1.post0 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import zfpy

numbers = np.linspace(0, 1, 64)
assert np.array_equal(zfpy.decompress_numpy(zfpy.compress_numpy(numbers)), numbers)
print("zfpy by itself works")
for name in ("numcodecs", "zarr"):
    try:
        __import__(name)
        raise SystemExit(f"{name} could not be imported")
    except ValueError as error:
        print(f"import {name}: {error}")
        assert "post0" in str(error)
PYTHON
"$folder/venv/bin/pip" uninstall -q -y zfpy
"$folder/venv/bin/python" "$folder/roundtrip.py"
