# SPDX-License-Identifier: Apache-2.0
# ./dev test: the release build and all its tests. check_ci: the further steps of CI. Each step prints its time; the last line
# counts all steps.

PASSED=0 FAILED=0 SUMMARY=()

step() {
  local title="$1" started=$SECONDS
  shift
  say "$title"
  if "$@"; then
    PASSED=$((PASSED + 1)); SUMMARY+=("ok      $((SECONDS - started)) s  $title")
  else
    FAILED=$((FAILED + 1)); SUMMARY+=("FAILED  $((SECONDS - started)) s  $title")
  fi
}

summarise() {
  say "summary"
  printf '%s\n' "${SUMMARY[@]}"
  echo "$PASSED passed, $FAILED failed"
  [ "$FAILED" = 0 ]
}

# Counts ctest's own tests instead of the step itself.
run_ctest() {
  local folder="$1" log="$1.ctest.log"
  shift
  ctest --test-dir "$folder" --output-on-failure -j "$(nproc)" "$@" >"$log" 2>&1 || true
  grep -E 'tests passed|Failed|\*\*\*|Errors while' "$log" || tail -20 "$log"
  local total failed
  total=$(grep -oE 'out of [0-9]+' "$log" | tail -1 | grep -oE '[0-9]+' || echo 0)
  failed=$(grep -oE '[0-9]+ tests failed' "$log" | tail -1 | grep -oE '[0-9]+' || echo 0)
  if [ "$failed" != 0 ]; then grep -E -A40 '\[  FAILED  \]|Failure|ERROR:|Error' "$log" | head -120; fi
  PASSED=$((PASSED + total - failed)); FAILED=$((FAILED + failed))
  [ "$total" != 0 ] && [ "$failed" = 0 ]
}

ctest_step() {
  local title="$1" started=$SECONDS
  shift
  say "$title"
  if run_ctest "$@"; then SUMMARY+=("ok      $((SECONDS - started)) s  $title")
  else FAILED=$((FAILED + 1)); SUMMARY+=("FAILED  $((SECONDS - started)) s  $title"); fi
}

build_step() { configure "$1" && build "$@"; }

# Configures as on a machine with the demo's packages only: nothing may depend on packages of the tests.
configure_demo() {
  cmake --fresh --preset demo -B build/demo -DTENON_WITH_OPENVINO=OFF >build/demo.configure.log 2>&1 || { grep -A8 'CMake Error' build/demo.configure.log; return 1; }
}

# Real dma-bufs, if the kernel and the emulator are available. The whole suite runs there in ./dev check vm.
vm_step() {
  local title="real dma-bufs in a VM" code=0
  source scripts/vm.sh
  vm_build || code=$?
  if [ "$code" = "$VM_UNAVAILABLE" ]; then SUMMARY+=("skipped      $title: the packages cannot be had, see above")
  elif [ "$code" != 0 ]; then FAILED=$((FAILED + 1)); SUMMARY+=("FAILED       $title: it cannot be built")
  else step "$title" vm_suite 450 '*dmabuf*:*v4l2*:Allocation.*'; fi
}

test_all() {
  local filter=()
  [ $# -gt 0 ] && filter=(-R "$1")
  setup test
  step "build (release, g++)" build_step release
  if [ "$FAILED" != 0 ]; then
    summarise
    return 1
  fi
  ctest_step "tests (release)" build/release "${filter[@]}"
  # A test that skipped shows nothing. Elsewhere than in CI optional parts may be missing.
  if [ $# = 0 ] && [ -n "${CI:-}" ]; then
    step "every row's test ran" python3 scripts/rows.py --ran build/release/Testing/Temporary/LastTest.log
  fi
  summarise
}

# The rest of the fast tier: lint, headers one by one, dma-bufs in a VM, the sanitizers, the core alone, the install tree.
ci_steps() {
  step "lint" scripts/lint.sh
  step "configure as ./dev demo does, without tests" configure_demo
  step "build (release, g++)" build_step release
  step "every public header alone" build release all_verify_interface_header_sets
  vm_step
  step "build (address and undefined-behaviour sanitizers)" build_step asan tenon_sanitized_tests
  # Tests ask for absurd sizes on purpose: the allocator must answer null, as malloc does, instead of ending the process.
  ASAN_OPTIONS=allocator_may_return_null=1 \
    ctest_step "tests (sanitized: core, frameworks, parsers)" build/asan -L '^(core|frameworks|parsers)$'
  step "build (minimal: core alone)" build_step minimal
  ctest_step "tests (minimal)" build/minimal
  step "install tree, consumers by CMake and pkg-config" tests/install/run.sh build/release
}
