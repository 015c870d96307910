#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The slow tier's part: slow.sh BUILD. Each header alone, and what needs SYCL's headers, which take long.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
if cmake --build "$1" --target help | grep -q 'compat_dlstreamer_sycl_test'; then
  cmake --build "$1" --target compat_dlstreamer_sycl_test
  OCL_ICD_VENDORS=$(find -L "$here/../../build/venv-sycl" -name libintelocl.so | head -1) "$1/tests/compat_dlstreamer_sycl_test"
fi
python3 "$here/headers.py" "$1"
