#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compares the C API's ABI with tests/abi/tenon_c.abi by abidiff: removed functions and enumerators, and changed
# signatures, structs and numbers, fail; additions do not. scripts/abi.sh --update makes the present ABI the reference.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
reference=tests/abi/tenon_c.abi
work=build/abi
rm -rf "$work/include"  # A link to the tree, where an older version of this script ran.
mkdir -p "$work"

# The build and its tests keep headers, exports and definitions equal; so the ABI is that of the headers, and no C++
# library need be built to check it.
python3 bindings/c/generate.py --check
python3 bindings/c/generate.py --headers "$work/include/tenon/bindings/c"
python3 bindings/c/generate.py --stub "$work/stub.c"
"${CC:-cc}" -std=c99 -g -O0 -fPIC -shared -Wl,-soname,libtenon_c.so -I"$work/include" "$work/stub.c" -o "$work/libtenon_c.so"
abidw --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --out-file "$work/now.abi" "$work/libtenon_c.so"

if [ "${1:-}" = --update ]; then
  cp "$work/now.abi" "$reference"
  echo "the reference is now this tree's ABI: $reference"
  exit 0
fi
if abidiff --no-added-syms --suppressions tests/abi/growth.abignore "$reference" "$work/now.abi"; then
  echo "the C API's ABI holds: $(grep -c '<elf-symbol' "$reference") symbols"
else
  echo "abi: programs built against the reference would break. Keep the old form beside the new one, or, before a release that"
  echo "     may break them: scripts/abi.sh --update"
  exit 1
fi
