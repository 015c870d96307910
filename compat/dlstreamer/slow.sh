#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The slow tier's part: slow.sh BUILD. The document's lines for CMake in a project of their own, against the build tree (CI runs them against
# an installation); what needs SYCL's headers, which take long; each header alone.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
part() { printf '%5d s  %s\n' $SECONDS "$*"; }
openvino=$(find -L "$here/../../build/venv" -name OpenVINOConfig.cmake | head -1)
part "a project with the document's lines"
sh "$here/consumer/build.sh" cmake "$(readlink -f "$1")/cmake/compat/dlstreamer/pkgconfig" ${openvino:+"$(dirname "$openvino")"}
# Not -q, which ends at the first line: what still prints then fails, and with it the condition.
if cmake --build "$1" --target help | grep 'compat_dlstreamer_sycl_test' >/dev/null; then
  part "what needs SYCL"
  cmake --build "$1" --target compat_dlstreamer_sycl_test
  OCL_ICD_VENDORS=$(find -L "$here/../../build/venv-sycl" -name libintelocl.so | head -1) "$1/tests/compat_dlstreamer_sycl_test"
else
  echo "skipped: what needs SYCL, which this build does not have"
fi
part "each header alone"
python3 "$here/headers.py" "$1"
part "compat/dlstreamer: all as expected"
