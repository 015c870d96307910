#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs what others wrote to test NPU drivers on the software NPU built here: npu_conformance.sh [--write]. Neither is in this repository.
# Level Zero's own conformance tests of the core API are built with the loader that they need, about 15 minutes of processor time, once:
# TENON_LEVEL_ZERO_TESTS and TENON_LEVEL_ZERO name checkouts of oneapi-src/level-zero-tests and oneapi-src/level-zero; without them they are
# cloned into build/npu_conformance. TENON_UMD_TEST names a build of umd-test, the driver vendor's own validation (intel/linux-npu-driver, whose
# docs/umd-testing.md says how it is built), and TENON_UMD_LOADER, if wanted, the folder of the libze_loader.so.1 that it is to use. What cannot be
# had is left out with the reason; exits 77 where nothing is left.
set -euo pipefail
top=$(git -C "$(dirname "$(readlink -f "$0")")" rev-parse --show-toplevel)
cd "$top"
source scripts/lib.sh
work=build/npu_conformance
driver=build/release/lib/libze_tenon_npu.so
guide=docs/reference/npu_conformance.md
# The revisions that docs/reference/npu_conformance.md counts.
tests_revision=4e778064 loader_revision=v1.32.0
programs=(test_driver test_device test_context test_fence test_cmdqueue test_event test_memory test_barrier test_cmdlist test_copy test_ipc
  test_ipc_memory test_residency test_multithread test_fabric)
helpers=(test_affinity_helper test_pci_device_order_helper test_device_hierarchy_helper test_import_helper test_ipc_event_helper
  test_ipc_memory_helper test_fabric_helper)
mkdir -p "$work"

checkout() {  # FOLDER REPOSITORY REVISION: prints where its sources are
  local given="$1" name="$2" revision="$3"
  [ -z "$given" ] || { echo "$given"; return; }
  if [ ! -e "$work/$name/.git" ]; then
    timeout 600 git clone -q "https://github.com/oneapi-src/$name" "$work/$name" 2>"$work/$name.log" &&
      git -C "$work/$name" checkout -q "$revision" 2>>"$work/$name.log" ||
      { rm -rf "${work:?}/$name"; echo "npu_conformance: no sources of $name: $(tail -1 "$work/$name.log")" >&2; return 77; }
  fi
  echo "$work/$name"
}

level_zero() {
  local tests loader header quick
  for header in boost/log/core.hpp boost/process.hpp png.h gtest/gtest.h; do
    [ -e "/usr/include/$header" ] ||
      { echo "npu_conformance: no $header: install libboost-all-dev (1.79 or later), libpng-dev, libgtest-dev, googletest" >&2; return 77; }
  done
  tests=$(checkout "${TENON_LEVEL_ZERO_TESTS:-}" level-zero-tests "$tests_revision") || return
  loader=$(checkout "${TENON_LEVEL_ZERO:-}" level-zero "$loader_revision") || return
  # Unoptimised: they wait for the driver, not for themselves.
  quick=(-G Ninja -DCMAKE_BUILD_TYPE= "-DCMAKE_CXX_FLAGS=-O0 -w")
  cmake -S "$loader" -B "$work/loader" "${quick[@]}" >"$work/loader.log" && cmake --build "$work/loader" --target ze_loader >>"$work/loader.log" ||
    { tail -20 "$work/loader.log"; return 1; }
  mkdir -p "$work/include" && ln -sfn "$(readlink -f "$loader/include")" "$work/include/level_zero"
  cmake -S "$tests" -B "$work/tests" "${quick[@]}" -DGROUP=/conformance_tests/core \
    -DGTEST_ROOT=/usr/src/googletest -DLevelZero_INCLUDE_DIR="$PWD/$work/include" -DLevelZero_LIBRARY="$PWD/$work/loader/lib/libze_loader.so" \
    >"$work/tests.log" && cmake --build "$work/tests" --target "${programs[@]}" "${helpers[@]}" >>"$work/tests.log" ||
    { tail -20 "$work/tests.log"; return 1; }
  python3 tests/npu_conformance/run.py --tests "$work/tests/conformance_tests" --loader "$work/loader/lib" --driver "$driver" \
    --guide "$guide" --logs "$work/logs" "$@"
}

umd_test() {
  local config
  [ -n "${TENON_UMD_TEST:-}" ] || { echo "npu_conformance: TENON_UMD_TEST names no build of umd-test" >&2; return 77; }
  [ -x "$TENON_UMD_TEST" ] || { echo "npu_conformance: TENON_UMD_TEST: no program $TENON_UMD_TEST" >&2; return 1; }
  config=$("$(venv_python)" tests/npu_conformance/umd_config.py "$work/umd") || return 1
  python3 tests/npu_conformance/run.py --umd "$TENON_UMD_TEST" --umd-config "$config" --as-it-is --driver "$driver" \
    ${TENON_UMD_LOADER:+--loader "$TENON_UMD_LOADER"} --guide "$guide" --logs "$work/logs" "$@"
}

[ -f "$driver" ] || { echo "npu_conformance.sh: no $driver: ./dev build release tenon_npu_driver makes it" >&2; exit 1; }
codes=()
for suite in umd_test level_zero; do
  code=0
  "$suite" "$@" || code=$?
  codes+=("$code")
done
for code in "${codes[@]}"; do [ "$code" = 0 ] || [ "$code" = 77 ] || exit "$code"; done
for code in "${codes[@]}"; do [ "$code" = 77 ] || exit 0; done
exit 77
