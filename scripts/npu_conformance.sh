#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds Level Zero's own conformance tests of the core API, with the loader that they need, and runs them on the software NPU built here:
# npu_conformance.sh [what tests/npu_conformance/run.py takes]. Neither is in this repository. TENON_LEVEL_ZERO_TESTS and TENON_LEVEL_ZERO
# name checkouts of oneapi-src/level-zero-tests and oneapi-src/level-zero; without them they are cloned into build/npu_conformance. Exits 77
# where that is not possible. About 15 minutes of processor time, once.
set -euo pipefail
top=$(git -C "$(dirname "$(readlink -f "$0")")" rev-parse --show-toplevel)
cd "$top"
work=build/npu_conformance
driver=build/release/lib/libze_tenon_npu.so
# The revisions that docs/reference/npu_conformance.md counts.
tests_revision=4e778064 loader_revision=v1.32.0
programs=(test_driver test_device test_context test_fence test_cmdqueue test_event test_memory test_barrier test_cmdlist test_copy test_ipc
  test_ipc_memory test_residency test_multithread test_fabric)
helpers=(test_affinity_helper test_pci_device_order_helper test_device_hierarchy_helper test_import_helper test_ipc_event_helper test_ipc_memory_helper
  test_fabric_helper)
mkdir -p "$work"

checkout() {  # FOLDER REPOSITORY REVISION: prints where its sources are
  local given="$1" name="$2" revision="$3"
  [ -z "$given" ] || { echo "$given"; return; }
  if [ ! -e "$work/$name/.git" ]; then
    timeout 600 git clone -q "https://github.com/oneapi-src/$name" "$work/$name" 2>"$work/$name.log" &&
      git -C "$work/$name" checkout -q "$revision" 2>>"$work/$name.log" ||
      { rm -rf "${work:?}/$name"; echo "npu_conformance: no sources of $name: $(tail -1 "$work/$name.log")" >&2; exit 77; }
  fi
  echo "$work/$name"
}

[ -f "$driver" ] || { echo "npu_conformance.sh: no $driver: ./dev build release tenon_npu_driver makes it" >&2; exit 1; }
for header in boost/log/core.hpp boost/process.hpp png.h gtest/gtest.h; do
  [ -e "/usr/include/$header" ] ||
    { echo "npu_conformance: no $header: install libboost-all-dev (1.79 or later), libpng-dev, libgtest-dev, googletest" >&2; exit 77; }
done
tests=$(checkout "${TENON_LEVEL_ZERO_TESTS:-}" level-zero-tests "$tests_revision")
loader=$(checkout "${TENON_LEVEL_ZERO:-}" level-zero "$loader_revision")

# Unoptimised: they wait for the driver, not for themselves.
quick=(-G Ninja -DCMAKE_BUILD_TYPE= "-DCMAKE_CXX_FLAGS=-O0 -w")
cmake -S "$loader" -B "$work/loader" "${quick[@]}" >"$work/loader.log" && cmake --build "$work/loader" --target ze_loader >>"$work/loader.log" ||
  { tail -20 "$work/loader.log"; exit 1; }
mkdir -p "$work/include" && ln -sfn "$(readlink -f "$loader/include")" "$work/include/level_zero"
cmake -S "$tests" -B "$work/tests" "${quick[@]}" -DGROUP=/conformance_tests/core \
  -DGTEST_ROOT=/usr/src/googletest -DLevelZero_INCLUDE_DIR="$PWD/$work/include" -DLevelZero_LIBRARY="$PWD/$work/loader/lib/libze_loader.so" \
  >"$work/tests.log" && cmake --build "$work/tests" --target "${programs[@]}" "${helpers[@]}" >>"$work/tests.log" ||
  { tail -20 "$work/tests.log"; exit 1; }

python3 tests/npu_conformance/run.py --tests "$work/tests/conformance_tests" --loader "$work/loader/lib" --driver "$driver" \
  --guide docs/reference/npu_conformance.md --logs "$work/logs" "$@"
