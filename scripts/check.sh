# SPDX-License-Identifier: Apache-2.0
# ./dev check: the slow tier, in parts that can run alone.

PARTS=(variants clang asan tsan frameworks-off deletable tidy abi fuzz failing-calls graphs special-values mutants zoo models decoders metrics npu npu-clients npu-conformance gpu-clients va media soak gpu vm windows package python compat
  chroot12-full chroot12 chroot13 npu13)

check() {
  source scripts/test.sh
  case "${1:-list}" in
    --all) setup all; export TENON_VARIANTS=all TENON_BASE=all
           test_all; ci_steps; [ "$FAILED" != 0 ] || part_passed variants "$SECONDS"
           for part in "${PARTS[@]:1}"; do check_part "$part"; done ;;
    list) echo "parts: ${PARTS[*]}; ./dev check PART, or ./dev check --all"; return 0 ;;
    *) [[ " ${PARTS[*]} " == *" $1 "* ]] || { echo "dev: no part '$1'; parts: ${PARTS[*]}"; return 2; }
       # Windows' programs need packages of their own, and none of the other parts'.
       if [ "$1" = windows ]; then setup demo; else setup all; fi
       check_part "$1" ;;
  esac
  summarise || return 1
  [ "$1" != --all ] || sed -i "s|^Sanitizers and VM ran whole: .*|Sanitizers and VM ran whole: $(date -u +%F), commit $(git rev-parse --short HEAD).|" docs/support.md
}

# part_passed PART SECONDS: the table of docs/support.md says when each part last passed with nothing skipped, on which commit, and how long it took.
part_passed() { sed -i "s/^| $1 | .*/| $1 | $(date -u +%F) | $(git rev-parse --short HEAD) | $((($2 + 59) / 60)) |/" docs/support.md; }

check_part() {
  local started=$SECONDS failed=$FAILED lines=${#SUMMARY[@]}
  step "check $1" "check_${1//-/_}"
  [ "$FAILED" = "$failed" ] && ! printf '%s\n' "${SUMMARY[@]:lines}" | grep '^skipped' >/dev/null || return 0
  part_passed "$1" $((SECONDS - started))
}

# The first clang++ here that builds a program in C++20 with the given flags: an old one, or one without its sanitizers'
# libraries, does not count.
find_clang() {
  local name probe=build/clang_probe
  printf '#include <source_location>\n#include <string>\nextern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) {\n  return %s;\n}\n' \
    'std::string(std::source_location::current().file_name()).empty()' >"$probe.cpp"
  [[ "$*" == *fuzzer* ]] || echo 'int main() { return LLVMFuzzerTestOneInput(nullptr, 0); }' >>"$probe.cpp"
  for name in clang++-16 clang++-19 clang++; do
    if command -v "$name" >/dev/null && "$name" -std=c++20 "$@" "$probe.cpp" -o "$probe" >"$probe.log" 2>&1; then command -v "$name"; return; fi
  done
  echo "check: no clang++ here builds C++20 with '$*'; install one of: ${CHOICES_CHECK[0]} with its libclang-rt; the last one's words are in $probe.log" >&2
  return 1
}

with_clang() {  # PRESET FLAGS...: the flags that the preset will use
  local clang
  clang=$(find_clang "${@:2}") || return
  configure "$1" -DCMAKE_C_COMPILER="${clang/clang++/clang}" -DCMAKE_CXX_COMPILER="$clang"
}

# The release build's tests with every variant: suites that run again under another setting.
check_variants() { configure release && build release all tenon_benches && TENON_VARIANTS=all release_tests; }

check_clang() { with_clang clang && build clang && run_ctest build/clang; }

# Tests request absurd sizes on purpose: the allocator must return null, as malloc does, instead of ending the process.
check_asan() {
  configure asan && build asan tenon_sanitized_tests tenon_threaded_tests &&
    ASAN_OPTIONS=allocator_may_return_null=1 run_ctest build/asan -L '^(core|frameworks|parsers|runtime|drivers|elements)$' -E '^example_'
}

check_tsan() {
  configure tsan && build tsan tenon_threaded_tests &&
    TSAN_OPTIONS="suppressions=$PWD/tests/tsan.supp:halt_on_error=1:allocator_may_return_null=1" \
      run_ctest build/tsan -L '^(core|frameworks|runtime|drivers|elements)$' -E '^example_'
}

# Each framework off in turn: nothing else may be affected.
check_frameworks_off() {
  local folder name
  for folder in frameworks/*/; do
    name=$(basename "$folder")
    [ "$name" = cpu ] && continue  # A hub: others depend on it.
    say "without $name"
    # Fresh: otherwise what the previous folder switched off would stay off.
    cmake --fresh --preset release -B build/without -DTENON_WITH_"${name^^}"=OFF -DTENON_BUILD_BENCH=OFF >build/without.log 2>&1 || return 1
    cmake --build build/without -j "$(nproc)" >>build/without.log 2>&1 || { grep -A5 error build/without.log | head -20; return 1; }
    run_ctest build/without -L '^(core|frameworks)$' || return 1
  done
}

# Decoders beside the exporters' own programs, over random outputs; and how long both take.
check_decoders() {
  local cases="$PWD/build/decoder_cases" python=build/venv-exporters/bin/python
  VENV=build/venv-exporters pip_install "${PYPI_EXPORTERS[@]}" "${PYPI_DECODERS[@]}" && rm -rf "$cases" &&
    "$python" vision/decoders/oracle.py --strict --out "$cases" && configure release && build release vision_test vision_bench || return 1
  TENON_DECODER_CASES="$cases" TENON_DECODER_SMALL_CASES="$PWD/vision/decoders/cases" \
    build/release/tests/vision_test --gtest_filter='DecoderCases.*' &&
    build/release/bench/vision_bench && OMP_NUM_THREADS=1 "$python" vision/decoders/oracle.py --speed
}

# The figures of tenon evaluate beside pycocotools' and TrackEval's, over random files.
check_metrics() {
  local cases="$PWD/build/metrics_cases" python=build/venv-metrics/bin/python
  VENV=build/venv-metrics pip_install "${PYPI_METRICS[@]}" && rm -rf "$cases" && "$python" vision/metrics/metrics_oracle.py --out "$cases" --seeds 40 &&
    configure release && build release vision_test || return 1
  TENON_METRICS_CASES="$cases" build/release/tests/vision_test --gtest_filter='MetricsCases.*'
}

# Programs for other APIs, compiled for the originals and for what stands for them; their headers, each alone. Builds what the scripts use, as far as
# this configuration has it, and goes on behind a script that fails.
check_compat() {
  local each failed=0
  configure release || return 1
  # shellcheck disable=SC2046  # Names, one a word.
  build release $(sed -nE 's/^build (tenon(_[a-z_]+)?): phony .*/\1/p' build/release/build.ninja | grep -xE \
    'tenon(_openvino_(api|c|c_plain)|_device_.*|_gpu_layer|_npu_driver|_ze_loader_shim|_core|_cpu|_dmabuf|_opencv|_opencl|_opencv_opencl|_ffmpeg|_vaapi|_ffmpeg_vaapi|_gstreamer|_gstreamer_vaapi|_level_zero|_sycl|_openvino)?') || return 1
  for each in compat/*/slow.sh; do [ ! -e "$each" ] || bash "$each" build/release 2>&1 | tee "build/${each//\//_}.log" || failed=1; done
  while read -r each; do SUMMARY+=("skipped      ${each#skipped: }"); done < <(grep -h '^skipped: ' build/compat_*_slow.sh.log)
  return $failed
}

# Each self-contained folder deleted in turn: the rest must configure, and include no deleted file.
check_deletable() { python3 tests/deletable/deletable_test.py; }

# Sources but for tests, as far as this configuration compiles them.
sources_to_tidy() {
  comm -12 <(python3 -c 'import json, os; print(*(os.path.relpath(c["file"]) for c in json.load(open("build/tidy/compile_commands.json"))), sep="\n")' | sort -u) \
    <(git ls-files '*.cpp' | grep -E '^(core|graph|runtime|vision|elements|tools|devices|drivers|frameworks|bridges|bindings|planning|engine|store)/' |
      grep -vE '_(test|bench)\.cpp$|/testing/' | sort)
}

check_tidy() {
  local tidy
  tidy=$(command -v clang-tidy-16 || command -v clang-tidy-19) ||
    { echo "check: clang-tidy 16 or 19 is needed: others judge differently" >&2; return 1; }
  # Each source must be a command of its own.
  CI= cmake --preset release -B build/tidy -DTENON_UNITY=OFF >build/tidy.configure.log 2>&1 || { tail -20 build/tidy.configure.log; return 1; }
  cmake --build build/tidy --target tenon_onnx_schema >/dev/null || return 1  # Its header is generated.
  sources_to_tidy | xargs -P "$(nproc)" -n 4 "$tidy" -p build/tidy --quiet 2>build/tidy.err &&
    include_cleaner $(tidied_headers)
}

# Public headers of every folder except tests. header_only.hpp is for programs that define a macro for all of their files, and
# -inl.hpp are parts of a source.
tidied_headers() {
  git ls-files {core,store,graph,planning,engine,runtime,frameworks,bridges,devices,drivers,vision,elements,bindings,tools}/'*.hpp' | grep -vE '/header_only.hpp$|-inl.hpp$'
}

# include_cleaner HEADER...: each header includes what it uses and nothing else. In a folder configured by check_tidy.
include_cleaner() {
  local tidy
  tidy=$(command -v clang-tidy-19) || { echo "check: clang-tidy 19 is needed for include-what-you-use" >&2; return 1; }
  printf '%s\n' "$@" | xargs -P "$(nproc)" -n 8 "$tidy" -p build/tidy --quiet --config-file=scripts/include_cleaner.clang-tidy 2>build/include_cleaner.err
}

# The C API against the ABI that programs were built with, and whether that check would detect a change.
check_abi() { scripts/abi.sh && python3 tests/abi/abi_test.py; }

# Real models as seeds: random bytes hardly get past a parser's first check.
fuzz_seeds() {
  local python name
  python=$(venv_python)
  "$python" models/zoo/generate.py --out build/data/zoo --tiny --missing >/dev/null &&
    "$python" fuzz/make_seeds.py --out build/fuzz/seeds --zoo build/data/zoo --node-tests build/data/onnx/onnx/backend/test/data/node || return 1
  for name in ipc store va_stream npu_graph gpu_files; do
    [ ! -x "build/fuzz/fuzz/${name}_fuzz" ] || LLVM_PROFILE_FILE=build/fuzz/unused-%m.profraw TENON_FUZZ_SEEDS="build/fuzz/seeds/$name" "build/fuzz/fuzz/${name}_fuzz" || return 1
  done
  [ ! -d build/fuzz/seeds/npu_graph ] || cp build/fuzz/seeds/ir/*.xml build/fuzz/seeds/npu_graph
}

# Parsers of what is not trusted, for TENON_FUZZ_HOURS of processor time in all, by default a minute each. The first finding ends the run.
check_fuzz() {
  with_clang fuzz -fsanitize=address,undefined,fuzzer && build fuzz tenon_fuzzers && fuzz_seeds &&
    python3 scripts/fuzz.py build/fuzz ${TENON_FUZZ_HOURS:+--hours "$TENON_FUZZ_HOURS"}
}

# Models, pipelines and every framework while each call of the system fails in turn: none may crash, hang, leak or spoil the next try.
check_failing_calls() {
  local program failed=0
  configure release && build release tenon_with_modules tenon_device_cpu failing_models failing_frameworks failing_gstreamer failing_devices || return 1
  for program in failing_models failing_frameworks failing_gstreamer failing_devices; do
    python3 tests/failing_calls/failing_calls.py "build/release/tests/$program" || failed=1
  done
  [ "$failed" = 0 ]
}

# The GPU device on Intel's OpenCL, on an NVIDIA GPU where there is one, and beside OpenVINO's own GPU plugin.
check_gpu() {
  local vendor code
  configure release && build release || return 1
  for vendor in intel nvidia; do
    say "OpenCL of $vendor's"
    code=0
    scripts/gpu_tests.sh build/release "$vendor" || code=$?
    [ "$code" != 77 ] || { echo "for another machine: ./dev bench pack gpu FILE.tar.xz"; code=0; }
    [ "$code" = 0 ] || return 1
  done
  check_fake_intel_gpu "$@"
}

# Remote tensors of OpenVINO's own GPU plugin, on the software GPU.
check_fake_intel_gpu() {
  local libraries="$PWD/build/venv/lib" tests="$PWD/build/release/tests"
  [ -e "$libraries/libintelocl.so" ] || { echo "check: no Intel OpenCL runtime in build/venv" >&2; return 1; }
  configure release && build release tenon tenon_fake_intel_gpu || return 1
  TENON_DEVICE_PATH="$PWD/build/release/lib" build/release/bin/tenon gpu-env --runtime "$libraries" -- \
    python3 tests/fake_intel_gpu/compare.py --ours "$tests/fake_intel_gpu_ours" --theirs "$tests/fake_intel_gpu_theirs" \
    --preload "$libraries/libtbb.so.12" --guide docs/guide/gpu_oracle.md "$@"
}

# Random graphs on the CPU engine and the GPU device beside the reference, from another seed each time; a failure says how to repeat it.
# A driver compiles kernels for each graph: the GPU gets one where the engine gets two hundred.
check_graphs() {
  local count="${TENON_GRAPHS:-50000}"
  export TENON_GRAPHS_SEED="${TENON_GRAPHS_SEED:-$(date +%s)000000}"
  configure release && build release graphs_test && TENON_GRAPHS="$count" MALLOC_PERTURB_=200 build/release/tests/graphs_test || return 1
  grep -q '^build gpu_graphs_test:' build/release/build.ninja || return 0
  build release gpu_graphs_test &&
    TENON_GRAPHS="$((count / 200 + 1))" TENON_DEVICE_PATH="$PWD/build/release/lib" build/release/tests/gpu_graphs_test
}

# NaN, infinities, ends of types and nothing through every kind of function, beside numpy and ONNX Runtime: by the reference kernels and
# on each device of this machine, each over memory that is filled.
check_special_values() {
  local python cases=build/data/special_values folder=build/release device failed=0 code launch refuses
  python=$(venv_python)
  configure release && build release && "$python" tests/special_values/special_values.py --out "$cases" || return 1
  for device in "" CPU NPU GPU; do
    launch=() refuses=() code=0
    # An NPU's shapes have bounds.
    [ "$device" != NPU ] || { launch=("$folder/bin/tenon" npu-env --); refuses=(--refuses "Upper bounds are not specified"); }
    MALLOC_PERTURB_=200 TENON_DEVICE_PATH="$PWD/$folder/lib" "${launch[@]}" "$python" tests/special_values/run.py --cases "$cases" \
      --backend-tests "$folder/tests/backend_tests" ${device:+--device "$device"} "${refuses[@]}" || code=$?
    [ "$code" = 0 ] || [ "$code" = 77 ] || failed=1
  done
  [ "$failed" = 0 ]
}

# Fifty defects, planted one at a time: how many do the fast tests find?
check_mutants() { python3 scripts/mutate.py; }

# Every full model of the zoo, both formats, on the CPU device beside ONNX Runtime and OpenVINO; and how many of ONNX's node
# tests each of the three passes. In f32 and as programs get it that set no property, over memory that is filled with one pattern and then
# another: results that depend on memory that nothing wrote differ.
check_zoo() {
  local python folder=build/release node=build/data/onnx/onnx/backend/test/data/node how name fill failed=0
  python=$(venv_python)
  configure release && build release oracle_device_test backend_tests tenon_device_cpu &&
    "$python" models/zoo/generate.py --out build/data/zoo --missing >/dev/null &&
    "$python" tests/oracle/make_references.py --zoo build/data/zoo --out build/data/oracle >/dev/null || return 1
  "$python" tests/oracle/node_tests_peers.py "$node" --ours "$folder/tests/backend_tests"
  local -x TENON_ZOO_FULL=1 TENON_ZOO="$PWD/build/data/zoo" TENON_ORACLE="$PWD/build/data/oracle" TENON_DEVICE_PATH="$folder/lib"
  for how in "" "--device CPU" "--device CPU --default-precision"; do
    for fill in 85 200; do
      # shellcheck disable=SC2086  # These are words.
      MALLOC_PERTURB_=$fill "$folder/tests/backend_tests" $how --list "$node" >"$folder/node_tests.$fill.log" || failed=1
    done
    diff "$folder"/node_tests.{85,200}.log || failed=1
  done
  for how in "" TENON_ORACLE_PRECISION=default; do
    for fill in 85 200; do
      name=$folder/zoo.$fill.log
      env ${how:+"$how"} MALLOC_PERTURB_=$fill "$folder/tests/oracle_device_test" >"$name" || { tail -40 "$name"; failed=1; }
    done
    grep against "$name"
    diff <(grep against "$folder/zoo.85.log") <(grep against "$name") || failed=1
  done
  [ "$failed" = 0 ]
}

# OpenVINO's own NPU plugin on the software NPU: every model of the zoo, full size, beside its CPU plugin.
check_npu() {
  configure release && build release tenon_with_modules tenon_npu_driver npu_driver_test &&
    TENON_NPU_SOAK=5000 ZE_ENABLE_ALT_DRIVERS="$PWD/build/release/lib/libze_tenon_npu.so" \
      build/release/tests/npu_driver_test --gtest_filter='*CyclesLeave*' &&
    "$(venv_python)" models/zoo/generate.py --out build/data/zoo --missing >/dev/null &&
    TENON_ZOO_FULL=1 TENON_ZOO="$PWD/build/data/zoo" build/release/bin/tenon npu-env -- "$(venv_python)" tests/npu_clients/run.py zoo_test
}

# Each version of a client in a venv of its own, one after the other.
check_npu_clients() {
  configure release && build release tenon_with_modules tenon_npu_driver &&
    "$(venv_python)" tests/npu_clients/matrix.py --tenon "$PWD/build/release/bin/tenon"
}

# Level Zero's own conformance tests of the core API on the software NPU.
check_npu_conformance() {
  local code=0
  configure release && build release tenon_npu_driver || return 1
  scripts/npu_conformance.sh || code=$?
  [ "$code" != 77 ] || { SUMMARY+=("skipped      Level Zero's conformance tests: no sources, or no libraries to build them with"); return 0; }
  return "$code"
}

# Versions of the software GPU's clients, and the zoo's small models.
check_gpu_clients() {
  configure release && build release tenon_with_modules tenon_gpu_layer &&
    "$(venv_python)" models/zoo/generate.py --out build/data/zoo --tiny --missing >/dev/null &&
    TENON_ZOO="$PWD/build/data/zoo" "$(venv_python)" tests/npu_clients/matrix.py --tenon "$PWD/build/release/bin/tenon" --device GPU
}

# The software VA-API driver: every clip, libva-utils' test_va_api where TENON_LIBVA_UTILS names its sources, ten minutes of random
# calls and damaged streams.
check_va() {
  configure release && build release tenon_va_driver tenon_render_node va_driver_test va_programs_test va_fuzz_test &&
    TENON_VA_ALL_CLIPS=1 run_ctest build/release -R '^va_(driver|programs)_test$' && va_utils &&
    TENON_VA_SOAK="${TENON_VA_SOAK:-50}" LIBVA_DRIVERS_PATH="$PWD/build/release/lib/va" LIBVA_DRIVER_NAME=tenon LIBVA_MESSAGING_LEVEL=0 \
      build/release/tests/va_fuzz_test >build/release/va_fuzz.log 2>&1 || { tail -30 build/release/va_fuzz.log; return 1; }
}

va_utils() {
  local code=0
  scripts/va_utils.sh || code=$?
  [ "$code" != 77 ] || { SUMMARY+=("skipped      libva-utils' test_va_api: TENON_LIBVA_UTILS names no checkout"); return 0; }
  return "$code"
}

# Every source of frames in one process, for ten minutes: files, streams, GStreamer, VA-API. Nothing may grow.
check_media() {
  configure release && build release media_soak_test || return 1
  TENON_MEDIA_SOAK="${TENON_MEDIA_SOAK:-600}" ctest --test-dir build/release -R '^media_soak_test$' --output-on-failure \
    >build/release/media_soak.log 2>&1 || { tail -40 build/release/media_soak.log; return 1; }
  grep -E 'rounds|frames' build/release/Testing/Temporary/LastTest.log
}

# A pipeline of many streams that come, go, change and fail, its page's clients, a broker that goes away, and requests that are cancelled on
# devices that fail, for half an hour: build/soak has plots.
check_soak() {
  local lib="$PWD/build/release/lib"
  configure release && build release tenon_with_modules tenon_device_cpu tenon_device_npu tenon_npu_driver tenon_python &&
    PYTHONPATH="$PWD/build/release/python" TENON_DEVICE_PATH="$lib" TENON_ELEMENT_PATH="$lib" "$(venv_python)" tests/soak/soak.py --tenon build/release/bin/tenon --models models \
      --seconds "${TENON_SOAK:-1800}" --out build/soak
}

# The same driver file in a Debian 13, where the loader needs no shim, with the openvino wheel for its Python.
check_npu13() {
  configure release && build release tenon_npu_driver &&
    "$(venv_python)" models/zoo/generate.py --out build/data/zoo --tiny --missing >/dev/null &&
    scripts/npu_chroot.sh trixie
}

# The Debian package, installed, used and removed where nothing else is.
check_package() { source scripts/package.sh && make_package && check_package_in_chroot; }

# The Python package: with packages and servers of others; its wheels by uv and in bare containers of Debian 12 and 13, and `pip install .` of a clone;
# in a free-threaded Python.
check_python() {
  configure release && build release tenon_python tenon_with_modules tenon_device_cpu && bash scripts/check_python.sh build/release || return 1
  source scripts/python.sh && check_python_sanitized && check_python_package && check_python_free_threaded
}

# Real exports, made here with random weights by the programs that people use, against what those programs make of a picture.
check_models() {
  local python=build/venv-exporters/bin/python each failed=0
  [ -x "$python" ] || python3 -m venv build/venv-exporters || return 1
  "$python" -m pip install -q "${PYPI_EXPORTERS[@]}" "${PYPI_DECODERS[@]}" >build/exporters.log 2>&1 || { tail -5 build/exporters.log; return 1; }
  configure release && build release tenon tenon_device_cpu tenon_elements_inference tenon_elements_ffmpeg tenon_python &&
    "$python" tests/exporters/exports.py build/data/exports >build/exporters.log 2>&1 || { tail -20 build/exporters.log; return 1; }
  PYTHONPATH="$PWD/build/release/python" TENON_DEVICE_PATH="$PWD/build/release/lib" TENON_ELEMENT_PATH="$PWD/build/release/lib" \
    "$python" tests/exporters/compare.py build/release/bin/tenon build/data/exports | tee build/exports.log || failed=1
  # A family whose program cannot be imported here shows nothing.
  while read -r each; do SUMMARY+=("skipped      exports of ${each#absent }"); done < <(grep -h '^absent ' build/exports.log)
  return $failed
}

# The complete VM suite: also a scaler that is built from the kernel's sources, and third-party programs.
check_vm() {
  source scripts/vm.sh
  TENON_VM_M2M=1 VM_PROGRAMS='VaPrograms.Ffmpeg*:VaPrograms.Vainfo*:VaGstreamer.*:*VaClips.*pyramid*:*VaClips.*hevc_b_mp4' TENON_VM_SECONDS="${TENON_VM_SECONDS:-1500}" test_vm
}

check_windows() { source scripts/check_windows.sh && check_windows; }  # That file's own, which takes this one's place.

# ./dev demo and ./dev test from a fresh clone: with nothing installed, and beside Debian 12's own developer tools.
check_chroot12() { scripts/chroot.sh bookworm; }
check_chroot13() { scripts/chroot.sh trixie; }
check_chroot12_full() { scripts/chroot.sh bookworm full; }
