#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs libva-utils' test_va_api on the software VA-API driver of build/release. TENON_LIBVA_UTILS names a checkout of libva-utils
# 2.17.1: no package of Debian's has that program. It is compiled with Debian's googletest into build/va_utils. Exits with 77 where
# the checkout is not given, with 1 if a case fails or the number of cases is not the one that this version has.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
VERSION=2.17.1 CASES=17415
work=build/va_utils

if [ -z "${TENON_LIBVA_UTILS:-}" ]; then
  echo "va_utils: unavailable: no package has test_va_api; clone Intel's libva-utils at tag $VERSION, and name that folder by TENON_LIBVA_UTILS"
  exit 77
fi
sources="$TENON_LIBVA_UTILS/test"
[ -f "$sources/test_va_api_fixture.cpp" ] ||
  { echo "va_utils: TENON_LIBVA_UTILS is '$TENON_LIBVA_UTILS', which has no test/test_va_api_fixture.cpp: name a checkout of libva-utils $VERSION" >&2; exit 1; }
found=$(sed -n "s/.*version *: *'\([0-9.]*\)'.*/\1/p" "$TENON_LIBVA_UTILS/meson.build" | head -1)
[ "$found" = "$VERSION" ] ||
  { echo "va_utils: $TENON_LIBVA_UTILS is libva-utils ${found:-of no known version}, and the number of cases is known for $VERSION: git checkout $VERSION there" >&2; exit 1; }
[ -e build/release/lib/va/tenon_drv_video.so ] || { echo "va_utils: no driver in build/release: ./dev build release tenon_va_driver tenon_render_node" >&2; exit 1; }

mkdir -p "$work"
compile() {  # SOURCE OBJECT
  [ "$2" -nt "$1" ] && return
  # shellcheck disable=SC2046  # Flags are words.
  "${CXX:-g++}" -std=c++17 -O1 $(pkg-config --cflags libva libva-drm gtest) -c "$1" -o "$2"
}
export -f compile
for source in "$sources"/*.cpp; do printf '%s\0%s\0' "$source" "$work/$(basename "$source" .cpp).o"; done |
  xargs -0 -P "$(nproc)" -n 2 bash -c 'compile "$@"' compile
# shellcheck disable=SC2046
"${CXX:-g++}" "$work"/*.o -o "$work/test_va_api" $(pkg-config --libs libva libva-drm gtest)

preload=""
[ -e /dev/dri/renderD128 ] || preload="$PWD/build/release/lib/va/libtenon_render_node.so"
code=0
LD_PRELOAD="$preload" LIBVA_DRIVERS_PATH="$PWD/build/release/lib/va" LIBVA_DRIVER_NAME=tenon LIBVA_MESSAGING_LEVEL=0 \
  timeout 600 "$work/test_va_api" >"$work/test_va_api.log" 2>&1 || code=$?
passed=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests*\.$/\1/p' "$work/test_va_api.log" | tail -1)
echo "libva-utils $VERSION: test_va_api passes ${passed:-0} of $CASES cases"
if [ "$code" != 0 ] || [ "${passed:-0}" != "$CASES" ]; then
  grep -E '^\[  FAILED  \]|Failure' "$work/test_va_api.log" | head -20 || true
  echo "va_utils: test_va_api ended with $code; the log is $work/test_va_api.log" >&2
  exit 1
fi
