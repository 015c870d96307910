# SPDX-License-Identifier: Apache-2.0
# The tiers of tests and what each promises on two idle cores: CONTRIBUTING.md. ./dev test is what a user waits for; ci_steps is what .ci/run does
# besides. Each step prints its wall time and its processor time; a tier fails for its time only where the processor time is over twice
# what its promise allows, since machines are shared and wall time is noise there.

PASSED=0 FAILED=0 SUMMARY=()
PROMISE_TEST=900 PROMISE_CI=1800  # Seconds of wall time, cold, on two idle cores.
TIER_STARTED=$SECONDS

# Processor time of a process and of the children that it has waited for, in seconds.
process_seconds() {
  local fields
  read -r -a fields <"/proc/$1/stat"
  echo $(((fields[13] + fields[14] + fields[15] + fields[16]) / $(getconf CLK_TCK)))
}

# Processor time of this shell and its steps, without what runs beside them: the shell waits for that at any time.
rm -f build/beside.*.times
beside_seconds() { { cat build/beside.*.times 2>/dev/null || true; } | awk '{sum += $2} END {print sum + 0}'; }
cpu_seconds() { echo $(($(process_seconds $$) - $(beside_seconds))); }

# noted ok|FAILED STARTED CPU TITLE: a line of the summary for a step that began at these times.
noted() { SUMMARY+=("$(printf '%-7s %5d s wall %5d s processor  %s' "$1" $((SECONDS - $2)) $(($(cpu_seconds) - $3)) "$4")"); }

step() {
  local title="$1" started=$SECONDS cpu
  cpu=$(cpu_seconds)
  shift
  say "$title"
  if "$@"; then
    PASSED=$((PASSED + 1)); noted ok "$started" "$cpu" "$title"
  else
    FAILED=$((FAILED + 1)); noted FAILED "$started" "$cpu" "$title"
  fi
}

# begin_beside TITLE COMMAND...: a step that runs beside those that follow, until finish_beside prints and counts it.
declare -A BESIDE=()
BESIDE_COUNT=0
begin_beside() {
  local title="$1" log="build/beside.$((BESIDE_COUNT += 1))"
  shift
  say "$title: begun, beside what follows"
  {
    local code=0 me=$BASHPID started=$SECONDS
    "$@" || code=$?
    echo "$((SECONDS - started)) $(process_seconds "$me")" >"$log.times"
    exit "$code"
  } >"$log.log" 2>&1 &
  BESIDE[$title]="$! $log"
}

# finish_beside TITLE...: false if one of them failed. Exit code 77 is that of a step that found what it needs missing.
finish_beside() {
  local title pid log code wall cpu result all=0
  for title in "$@"; do
    [ -n "${BESIDE[$title]:-}" ] || continue
    read -r pid log <<<"${BESIDE[$title]}"
    unset "BESIDE[$title]"
    code=0 result=ok
    wait "$pid" || code=$?
    wall=0 cpu=0
    read -r wall cpu <"$log.times" || true
    say "$title"
    cat "$log.log"
    case "$code" in
      0) PASSED=$((PASSED + 1)) ;;
      77) result=skipped all=1 ;;
      *) result=FAILED all=1 FAILED=$((FAILED + 1)) ;;
    esac
    SUMMARY+=("$(printf '%-7s %5d s wall %5d s processor  %s (beside others)' "$result" "$wall" "$cpu" "$title")")
  done
  return "$all"
}

# summarise [PROMISE]: the steps, and whether they took more than twice the processor time of the promise (seconds on two cores).
summarise() {
  local promise="${1:-}" cpu
  cpu=$(($(cpu_seconds) + $(beside_seconds)))
  if [ -n "$promise" ] && [ "$cpu" -gt $((4 * promise)) ]; then
    FAILED=$((FAILED + 1))
    SUMMARY+=("FAILED  took $cpu s of processor time; promised are $((2 * promise)) s, allowed twice that (CONTRIBUTING.md)")
  fi
  say "summary"
  printf '%s\n' "${SUMMARY[@]}"
  echo "$((SECONDS - TIER_STARTED)) s wall, $cpu s of processor time${promise:+; promised: $promise s wall on two idle cores}"
  echo "$PASSED passed, $FAILED failed"
  [ "$FAILED" = 0 ]
}

# Where nothing else is said, PoCL compiles the kernels of tests without optimising them: these tests ask whether results are right, and
# compiling is most of their time (gpu_lowering_test: half). ./dev check --all takes the driver's defaults. So do sanitized tests: PoCL 3.1
# leaks the options that it joins with these.
kernel_options() { [ "${TENON_VARIANTS:-}" = all ] || [[ "$1" == *asan* ]] || echo "POCL_EXTRA_BUILD_FLAGS=${POCL_EXTRA_BUILD_FLAGS--cl-opt-disable}"; }

# One test more than there are processors: some of them wait most of the time, for streams and browsers.
# Counts ctest's own tests instead of the step itself. Up to two tests that fail run once more, alone: one that passes then wants an idle
# machine or fails by chance. That is a fault to mend, which the summary names, but not the change's. A sanitizer's report is a fault of the
# code even if it comes once.
run_ctest() {
  local folder="$1" log="$1.ctest.log" total failed passed again
  shift
  ctest_log "$folder" "$log" -j $(($(nproc) + 1)) "$@"
  total=$(grep -oE 'out of [0-9]+' "$log" | tail -1 | grep -oE '[0-9]+' || echo 0)
  failed=$(failed_tests "$log")
  if [ "$failed" != 0 ] && [ "$failed" -le 2 ] && ! grep -qE 'Sanitizer: |runtime error: ' "$log"; then
    local report="$folder/Testing/Temporary/LastTest.log"  # scripts/rows.py reads there which tests ran.
    cp "$report" "$log.report"
    # By name: behind -E, ctest's numbers are others than those that --rerun-failed goes by.
    again=$(sed -nE 's/^[0-9]+://p' "$folder/Testing/Temporary/LastTestsFailed.log" | sed 's/[.+*]/\\&/g' | paste -sd '|')
    ctest_log "$folder" "$log.again" -R "^($again)\$"
    cat "$log.report" >>"$report"
    # What they need to have run passes there, too.
    passed=$(sed -nE "s/.*Test +#[0-9]+: ($again) .*Passed.*/\1/p" "$log.again" | tr '\n' ' ')
    if [ "$(wc -w <<<"$passed")" = "$failed" ]; then
      failed=0
      SUMMARY+=("UNSTEADY ${passed}failed beside others and passed alone: mend it")
    fi
  fi
  PASSED=$((PASSED + total - failed)); FAILED=$((FAILED + failed))
  [ "$total" != 0 ] && [ "$failed" = 0 ]
}

# ctest_log FOLDER LOG OPTIONS...: runs tests, and prints what failed.
ctest_log() {
  local folder="$1" log="$2"
  shift 2
  env $(kernel_options "$folder") ctest --test-dir "$folder" --output-on-failure "$@" >"$log" 2>&1 || true
  grep -E 'tests passed|Failed|\*\*\*|Errors while' "$log" || tail -20 "$log"
  [ "$(failed_tests "$log")" != 0 ] || return 0
  # Names of tests that passed or skipped tell of failures, too.
  grep -vE '^\[ +(RUN|OK|SKIPPED) +\]' "$log" | grep -E -A40 '\[  FAILED  \]|: Failure$|ERROR:|Error' | head -120
  grep -E '^\[  FAILED  \] .*[/.]' "$log" | sort -u | head -20
}
failed_tests() { grep -oE '[0-9]+ tests failed' "$1" | tail -1 | grep -oE '[0-9]+' || echo 0; }

ctest_step() {
  local title="$1" started=$SECONDS cpu
  cpu=$(cpu_seconds)
  shift
  say "$title"
  if "$@"; then noted ok "$started" "$cpu" "$title"
  else FAILED=$((FAILED + 1)); noted FAILED "$started" "$cpu" "$title"; fi
}

build_step() { configure "$1" && build "$@"; }

# As on a machine that only has the demo's packages: nothing may depend on what the tests install.
configure_demo() {
  cmake --fresh --preset demo -B build/demo -DTENON_WITH_OPENVINO=OFF >build/demo.configure.log 2>&1 || { grep -A8 'CMake Error' build/demo.configure.log; return 1; }
}

# What CI does in shares does this one of 0..7 or its quarter of 0..3, or "all": it moves on each day, and TENON_VARIANTS names it.
share_of_today() { echo "${TENON_VARIANTS:-$(($(date +%s) / 86400 % 8))}"; }
quarter_of_today() { if [ "${TENON_VARIANTS:-}" = all ]; then echo all; else echo $(($(share_of_today) % 4)); fi; }

# Suites that run again under another setting have the label `variant`. ./dev test runs none of them, CI an eighth that moves on each day
# (TENON_VARIANTS=0..7 names it), ./dev check --all each (TENON_VARIANTS=all).
variants_to_skip() {
  [ "${TENON_VARIANTS:-}" = all ] && return 0
  local folder="$1" share skipped
  share=$(share_of_today)
  [ -n "${CI:-}" ] || [ -n "${TENON_VARIANTS:-}" ] || share=none
  skipped=$(ctest --test-dir "$folder" -N -FA . -L '^variant$' | sed -nE 's/^ *Test +#[0-9]+: //p' |
    awk -v share="$share" 'share == "none" || NR % 8 != share {printf "%s%s", sep, $1; sep = "|"}')
  [ -z "$skipped" ] || printf '^(%s)$' "$skipped"
}

# release_tests [REGEX]: a test that is named runs, variant or not, and whole. Otherwise programs that go through tables of cases run today's
# eighth of them (tests/support/eighth.cpp).
release_tests() {
  local skipped eighth
  if [ $# -gt 0 ]; then run_ctest build/release -R "$1"; return; fi
  skipped=$(variants_to_skip build/release) eighth=$(share_of_today)
  TENON_EIGHTH="${eighth/all/}" run_ctest build/release ${skipped:+-E "$skipped"}
}

# Builds and tests; false if it does not build.
test_all() {
  setup test
  step "build (release, g++)" build_step release
  if [ "$FAILED" = 0 ]; then
    ctest_step "tests (release)" release_tests "$@"
    # A test that skipped shows nothing. Elsewhere than in CI optional parts may be missing.
    if [ $# = 0 ] && [ -n "${CI:-}" ]; then
      step "every row's test ran" python3 scripts/rows.py --ran build/release/Testing/Temporary/LastTest.log
    fi
    return 0
  fi
  return 1
}

# The test programs that the change reaches, of those with the given labels. scripts/reach.py says what a change is.
reached_programs() {
  local folder="$1" labels="$2" tests programs
  tests=$(ctest --test-dir "$folder" -N -FA . -L "$labels" | sed -nE 's/^ *Test +#[0-9]+: //p')
  programs=$(grep -oE '^build [a-z0-9_]+: phony' "$folder/build.ninja" | sed -E 's/^build (.*): phony/\1/' | grep -xF "$tests")
  python3 scripts/reach.py "$folder" $programs
}

# programs_tests FOLDER LABELS PROGRAM...: the tests of the given labels that run one of these programs, joined for ctest.
programs_tests() {
  ctest --test-dir "$1" -FA . -L "$2" --show-only=json-v1 | python3 -c 'import json, os, sys
print("|".join(test["name"] for test in json.load(sys.stdin)["tests"] if os.path.basename(test.get("command", [""])[0]) in sys.argv[1:]))' "${@:3}"
}

# Reads names of programs, one a line. Prints them all if they are few; of more, core's and today's eighth: a change of a header of core
# reaches every program, and eight days or ./dev check asan sanitize each. Neighbours are in one eighth, since they link the same libraries.
sanitized_share() { awk -v share="$(share_of_today)" '{names[NR] = $0}
  END {for (i = 1; i <= NR; ++i) if (NR <= 8 || share == "all" || int((i - 1) * 8 / NR) == share || names[i] == "core_test") print names[i]}'; }

# sanitized_step PRESET LABELS: builds and runs them. The allocator must answer null where a test asks for an absurd size, as malloc does.
sanitized_step() {
  local preset="$1" labels="$2" reached programs
  configure "$preset" || return
  reached=$(reached_programs "build/$preset" "$labels") || return
  [ -n "$reached" ] || { echo "the change reaches none of these tests"; return 0; }
  programs=$(sanitized_share <<<"$reached")
  echo "sanitized of the $(wc -w <<<"$reached") programs that the change reaches:" $programs
  build "$preset" $programs || return
  # PoCL's compiler leaks. A first run without the leak check leaves its kernels in the cache, so that the second compiles none.
  ASAN_OPTIONS=allocator_may_return_null=1:detect_leaks=0 ctest --test-dir "build/$preset" -R '^(opencl|opencv_opencl|ffmpeg_opencl)_test$' \
    >"build/$preset.kernels.log" 2>&1 || true
  ASAN_OPTIONS=allocator_may_return_null=1 run_ctest "build/$preset" -R "^($(programs_tests "build/$preset" "$labels" $programs))$"
}

# The core alone is built, as a part of a program that uses it, by fetch_content_test of the release build, which runs core's own tests, too. Here
# both are in ./dev check --all, and otherwise only what CMake says of it.
minimal_step() {
  configure minimal || return
  [ "${TENON_VARIANTS:-}" != all ] || { build minimal && run_ctest build/minimal; }
}

# What needs nothing that is built runs beside the build, where configuring, linking and downloads leave processors idle.
VM_TITLE="kernel and emulator for dma-bufs"
ci_begin() {
  setup test
  apt_install "${PACKAGES_DOCS[@]}" || true  # Now, since apt-get serves one at a time.
  apt_install "${PACKAGES_VM[@]}" || true
  begin_beside "lint" scripts/lint.sh
  begin_beside "documentation as a site" make_site
  local reached=0
  python3 scripts/reach.py build/release --paths dmabuf v4l2 level_zero || reached=$?
  case $reached in
    0) begin_beside "$VM_TITLE" vm_prepare ;;
    3) SUMMARY+=("skipped real dma-bufs in a VM: the change reaches nothing of dmabuf, v4l2 or Level Zero") ;;
    *) FAILED=$((FAILED + 1)); SUMMARY+=("FAILED       $VM_TITLE: scripts/reach.py ended with $reached") ;;
  esac
}
vm_prepare() { source scripts/vm.sh; vm_build; }

# Real dma-bufs, if the kernel and the emulator are available. The whole suite runs there in ./dev check vm. The emulated machine has one
# processor, so it runs beside what follows, and its deadline allows for that.
vm_step() {
  source scripts/vm.sh
  VM_SHARE=$(quarter_of_today) begin_beside "real dma-bufs in a VM" vm_suite 900 '*dmabuf*:*v4l2*:Allocation.*'
}

# The rest of the CI tier: dma-bufs in a VM, and beside it headers, the sanitizer, the core alone, the install tree.
ci_steps() {
  finish_beside "lint" "documentation as a site" || true
  [ -z "${BESIDE[$VM_TITLE]:-}" ] || ! finish_beside "$VM_TITLE" || vm_step
  step "configure as ./dev demo does, without tests" configure_demo
  step "public headers alone" python3 scripts/check_headers.py build/release
  ctest_step "tests (sanitized: core, frameworks, parsers)" sanitized_step asan '^(core|frameworks|parsers)$'
  step "configure the core alone" minimal_step
  step "install tree, consumers by CMake and pkg-config" tests/install/run.sh build/release
}

# What CI runs; what runs beside it is waited for, also where something failed.
ci() {
  export TENON_QUICK=ON
  ci_begin
  ! test_all || ci_steps
  finish_beside "${!BESIDE[@]}"
}
