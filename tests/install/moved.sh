#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Uses an install tree on its own: moved.sh WORK, where WORK/prefix is the tree and WORK/in holds the files from run.sh.
set -euo pipefail
work="$1"
in="$work/in" prefix="$work/prefix"
libdir=$(dirname "$(find "$prefix" -name 'libtenon_core.so')")
cd "$work"

fail() { echo "install: $*"; exit 1; }
# Runs a command with its output in a log, which is shown when it fails.
quietly() { local log="$1"; shift; "$@" >"$log" 2>&1 || { tail -30 "$log"; fail "failed: $*"; }; }

# Every library is found: in the tree, or on the system. A module whose own library is nowhere is absent, with a reason.
absent=$(find "$libdir" -maxdepth 1 -name '*.so*' -type f -exec ldd {} + 2>/dev/null |
  awk '/:$/ {file = $1} /not found/ {print file, $1}' | grep -vE 'openvino|libsycl' || true)  # Of Python packages.
[ -z "$absent" ] || fail "libraries are missing: $absent"

tool="$prefix/bin/tenon"
if [ -x "$tool" ]; then
  quietly devices.log "$tool" devices
  grep -qE '^CPU +available' devices.log || { cat devices.log; fail "the installed tool has no CPU device"; }
  quietly matrix.log "$tool" matrix --list cpu ffmpeg null
  grep -q proved matrix.log || { cat matrix.log; fail "the installed tool shares nothing"; }
  if [ -e "$libdir/libtenon_contexts_openvino.so" ] && ldd "$libdir/libtenon_contexts_openvino.so" | grep 'libopenvino.*not found' >/dev/null; then
    grep -q 'openvino is absent: .*libopenvino' matrix.log || { cat matrix.log; fail "the matrix does not say why OpenVINO is absent"; }
    grep -qE '^OPENVINO: .*libopenvino' devices.log || { cat devices.log; fail "the devices do not say why OpenVINO is absent"; }
  fi
  quietly run.log "$tool" run "$in/demo.mp4" --model "$in/demo.onnx" --device CPU --max-frames 8 --no-compare --zero-copy require --report run.json
  if [ -e "$libdir/libze_tenon_npu.so" ]; then
    for driver in libze_tenon_npu.so npu/libze_intel_npu.so.1; do
      quietly npu.log env ZE_ENABLE_ALT_DRIVERS="$libdir/$driver" TENON_NPU_CACHE_DIR="$work/cache" "$tool" devices
      grep -qE '^NPU[.0-9]* +available' npu.log || { cat npu.log; fail "the installed software NPU is not found as $driver"; }
    done
    quietly npu.log env TENON_NPU_CACHE_DIR="$work/cache" "$tool" run "$in/demo.mp4" --model "$in/demo.onnx" --device NPU --max-frames 8 --no-compare
  fi
  echo "install: the tool runs"
fi

# By CMake.
quietly cmake.log cmake -S "$in/consumer" -B cmake -G Ninja -DCMAKE_PREFIX_PATH="$prefix"
quietly cmake.log cmake --build cmake
quietly consumer.log cmake/consumer "$in/demo.onnx"
# README's own code and lines. The files that it names are the demo's.
mkdir -p app && ln -sf "$in/short.mp4" app/clip.mp4 && ln -sf "$in/demo.onnx" app/detector.onnx
quietly readme.log cmake -S "$in/readme" -B readme -G Ninja -DCMAKE_PREFIX_PATH="$prefix"
quietly readme.log cmake --build readme
(cd app && quietly ../app.log timeout 300 ../readme/app) || exit 1
grep -q '^circle' app.log && grep -q '^total' app.log || { tail -20 app.log; fail "README's program prints no detections, or no ledger"; }
echo "install: consumers by CMake run, README's code among them"

# By pkg-config.
export PKG_CONFIG_PATH="$libdir/pkgconfig"
flags=$(pkg-config --cflags --libs tenon)
# shellcheck disable=SC2086
quietly pc.log g++ -DTENON_CONSUMER_RUNTIME "$in/consumer/consumer.cpp" $flags -Wl,-rpath,"$libdir" -o consumer_pc
quietly pc.log ./consumer_pc "$in/demo.onnx"
flags=$(pkg-config --cflags --libs $(cat "$in/readme/pkg_config_modules"))
quietly pc.log g++ "$in/readme/app.cpp" $flags -Wl,-rpath,"$libdir" -o readme_pc
flags=$(pkg-config --cflags --libs tenon-c)
quietly pc.log cc -std=c11 "$in/c_infer.c" $flags -Wl,-rpath,"$libdir" -o c_infer_pc
quietly pc.log ./c_infer_pc
for module in "$libdir"/pkgconfig/*.pc; do
  name=$(basename "$module" .pc)
  # A framework's module itself says what it lacks: OpenVINO's Python package has no pkg-config module to require.
  pkg-config --exists --print-errors "$name" 2>pc.log || grep -q "$name" pc.log || { cat pc.log; fail "pkg-config does not say who misses what"; }
done
[ ! -e "$libdir/pkgconfig/dl-streamer.pc" ] || quietly dls.log sh "$in/dlstreamer/build.sh" cmake "$libdir/pkgconfig"
[ ! -e "$libdir/tenon/openvino" ] || quietly ov.log sh "$in/openvino/build.sh" cmake "$libdir/tenon/openvino"
echo "install: consumers by pkg-config run, README's code among them"

# Must not work: headers without the folder tenon/, and an error that does not name its component.
mkdir -p bare && printf '#include <core/error.hpp>\nint main() {}\n' >bare/bare.cpp
printf 'cmake_minimum_required(VERSION 3.25)\nproject(bare LANGUAGES CXX)\nfind_package(Tenon REQUIRED COMPONENTS runtime cpu)\nadd_executable(bare bare.cpp)\ntarget_link_libraries(bare PRIVATE tenon::runtime tenon::cpu)\n' >bare/CMakeLists.txt
quietly bare.log cmake -S bare -B bare/build -G Ninja -DCMAKE_PREFIX_PATH="$prefix"
! cmake --build bare/build >bare.log 2>&1 || fail "#include <core/error.hpp> compiles: the package exports include/tenon as an include folder"
grep -q 'core/error.hpp: No such file' bare.log || { tail bare.log; fail "#include <core/error.hpp> fails for another reason"; }
refuses() {  # COMPONENT WORDS...: find_package fails, and says these
  local word
  ! cmake -S "$in/consumer" -B "none_$1" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCONSUMER_COMPONENTS="$1" >none.log 2>&1 || fail "find_package found the component '$1'"
  for word in "${@:2}"; do tr -s ' \n' ' ' <none.log | grep -qF -- "$word" || { cat none.log; fail "find_package of '$1' does not say: $word"; }; done
}
refuses no_such_part "no component 'no_such_part'; it has: "
if [ -e "$libdir/cmake/Tenon/Tenon_openvino.cmake" ] && ! pkg-config --exists openvino; then
  refuses openvino "component 'openvino' needs the CMake package OpenVINO"
fi
echo "install: refusals say what they are about"
