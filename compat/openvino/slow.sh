#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The slow tier's part: slow.sh BUILD. The programs compiled for the original print what the files expect, on its devices CPU, GPU and NPU; a project
# with the original's lines for CMake; programs with both libraries; each header stands alone. All of that for C++ and for C.
# slow.sh BUILD --write writes what the original prints into the files, for new programs.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
build=$(readlink -f "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TENON_DEVICE_PATH="$build/lib"
part() { printf '%5d s  %s\n' $SECONDS "$*"; }
wheel=$(find -L "$here/../../build/venv" -path '*/openvino/include/openvino/openvino.hpp' -print -quit 2>/dev/null || true)
[ -z "$wheel" ] || wheel=$(dirname "$(dirname "$(dirname "$wheel")")")
# The original's programs; those for remote tensors run on its GPU plugin over Intel's runtime for CPUs behind the layer, and on its NPU plugin over
# the software driver; surfaces of VA-API come from the software driver of VA-API.
va=()
if pkg-config --exists libva libva-drm; then va=(-DWITH_VA -lva -lva-drm); else echo "skipped: no libva, so no surfaces of VA-API" >&2; fi
without_va() { if [ ${#va[@]} != 0 ]; then printf '%s\n' "$@"; else printf '%s\n' "$@" | grep -v '/va[.]c'; fi; }
build_originals() {
  real=$(echo "$wheel"/libs/libopenvino.so.*)
  for program in "$here"/programs/*.cpp; do echo "#include \"$program\""; done >"$work/all.cpp"
  c++ -std=c++17 -O0 -isystem "$wheel/include" -I"$here/programs" "$work/all.cpp" -o "$work/original" "$real" -Wl,-rpath,"$wheel/libs"
  c++ -std=c++17 -O0 -isystem "$wheel/include" $(without_va "$here"/remote/*.cpp) -o "$work/remote" "$real" -lOpenCL "${va[@]}" -Wl,-rpath,"$wheel/libs"
  real_c=$(echo "$wheel"/libs/libopenvino_c.so.*)
  cc -std=c99 -O0 -isystem "$wheel/include" "$here"/c/programs/*.c -o "$work/original_c" "$real_c" -Wl,-rpath,"$wheel/libs"
  cc -std=c99 -O0 -isystem "$wheel/include" $(without_va "$here"/c/remote/*.c) "$here/c/programs/lines.c" -o "$work/remote_c" "$real_c" -lOpenCL \
    "${va[@]}" -Wl,-rpath,"$wheel/libs"
}
tool="$build/bin/tenon"
on_gpu() {
  local runtime
  runtime=$(find -L "$here/../../build/venv" "$here/../../build/venv-sycl" -path '*/lib/libintelocl.so' -print -quit 2>/dev/null || true)
  if [ ! -x "$tool" ] || [ -z "$runtime" ]; then
    echo "skipped: the original's GPU plugin needs $tool and Intel's OpenCL runtime for CPUs (pip install intel-opencl-rt) in build/venv" >&2
    return
  fi
  "$tool" gpu-env --runtime "$runtime" -- "$@"
}
on_npu() {
  if [ ! -x "$tool" ] || [ ! -e "$build/lib/libze_tenon_npu.so" ]; then
    echo "skipped: the original's NPU plugin needs $tool and the software driver" >&2
    return
  fi
  "$tool" npu-env -- "$@"
}
on_va() {
  if [ ${#va[@]} = 0 ] || [ ! -e "$build/lib/va/tenon_drv_video.so" ]; then
    echo "skipped: the original's surfaces of VA-API need libva and the software driver of VA-API" >&2
    return
  fi
  LIBVA_MESSAGING_LEVEL=0 on_gpu "$tool" va-env -- "$@"
}
if [ "${2:-}" = --write ]; then
  [ -n "$wheel" ] || { echo "no OpenVINO in build/venv, ./dev test installs it" >&2; exit 1; }
  build_originals
  "$work/original" >"$work/expected.txt"
  cp "$work/expected.txt" "$here/programs/expected.txt"
  "$work/original_c" >"$work/expected.txt"
  cp "$work/expected.txt" "$here/c/programs/expected.txt"
  for device in gpu npu va; do
    for program in remote remote_c; do
      on_$device "$work/$program" $device >"$work/$device.txt"
      to="$here/$([ $program = remote ] || echo c/)remote/$device.txt"
      [ ! -s "$work/$device.txt" ] || cp "$work/$device.txt" "$to"
    done
  done
  exit 0
fi
part "a project with the original's lines"
sh "$here/consumer/build.sh" cmake "$build/cmake/compat/openvino/package"
ours=(-Dov=tenon_ov -I"$here/include" -I"$build/generated/compat_openvino")
strict=(-std=c++17 -Wall -Wextra -Wpedantic -Werror "${ours[@]}")
# dx.hpp refuses other systems than Windows.
headers=$( (cd "$here/include" && find openvino -name '*.hpp'; cd "$build/generated/compat_openvino" && find openvino -name '*.hpp') | grep -v /dx.hpp | sort)
part "each of $(wc -l <<<"$headers") headers alone"
# A header that begins by including one of these is alone behind it, too, so those two are compiled once.
for first in openvino/op/util/make.hpp openvino/op/ops.hpp; do
  mkdir -p "$work/$first"
  echo "#include <$first>" >"$work/$first/begin.hpp"
  c++ "${strict[@]}" -x c++-header "$work/$first/begin.hpp"
done
alone() {  # WORK INCLUDE GENERATED HEADER COMPILER...
  local work=$1 roots=("$2" "$3") header=$4 root first begin=()
  for root in "${roots[@]}"; do [ ! -e "$root/$header" ] || first=$(grep -m1 '^#include' "$root/$header" | tr -d '"' || true); done
  first=${first#\#include }
  [ ! -e "$work/$first/begin.hpp" ] || begin=(-include "$work/$first/begin.hpp")
  echo "#include <$header>" | "${@:5}" "${begin[@]}" -fsyntax-only -x c++ - || { echo "$header does not stand alone" >&2; return 1; }
  echo
}
export -f alone
xargs -P "$(nproc)" -I{} bash -c 'alone "$@"' _ "$work" "$here/include" "$build/generated/compat_openvino" {} c++ "${strict[@]}" <<<"$headers" |
  { count=0; while read -r; do count=$((count + 1)); [ $((count % 100)) != 0 ] || echo "         $count"; done; }
part "all headers together, by each compiler"
# In both orders, for what programs are compiled with; each of two sources has them.
tac <<<"$headers" | sed 's/.*/#include <&>/' >"$work/second.cpp"
{ sed 's/.*/#include <&>/' <<<"$headers"; echo 'int main() { return ov::Dimension(0).get_length(); }'; } >"$work/first.cpp"
clang=$(command -v clang++-16 || command -v clang++-19 || command -v clang++ || true)
[ -n "$clang" ] || echo "skipped: no clang++"
for compiler in "c++ -std=c++17" "c++ -std=c++20" ${clang:+"$clang -std=c++17" "$clang -std=c++20"}; do
  $compiler -Wall -Wextra -Wpedantic -Wshadow -Woverloaded-virtual -Werror "${ours[@]}" "$work/first.cpp" "$work/second.cpp" -o "$work/headers" \
    "$build/lib/libtenon_openvino_api.so" -lOpenCL -Wl,-rpath,"$build/lib" && "$work/headers" || { echo "the headers do not compile with $compiler"; exit 1; }
done
part "each header of C alone"
for header in $(cd "$here/include" && find openvino/c -name '*.h') $(cd "$build/generated/compat_openvino" && find openvino/c -name '*.h'); do
  for language in "c -std=c99" "c++ -std=c++17"; do
    printf '#include <%s>\ntypedef int any;\n' "$header" | cc -x $language -fsyntax-only -Wall -Wextra -Wpedantic -Werror "${ours[@]:1}" - || { echo "$header does not stand alone"; exit 1; }
  done
done
part "what is refused, and C beside C++"
mkdir "$work/wanted"
echo 'cmake_minimum_required(VERSION 3.16)
project(wanted CXX)
find_package(OpenVINO REQUIRED COMPONENTS Runtime TensorFlow)' >"$work/wanted/CMakeLists.txt"
if cmake -S "$work/wanted" -B "$work/wanted/build" -DOpenVINO_DIR="$build/cmake/compat/openvino/package/cmake" >"$work/wanted/log" 2>&1 ||
    ! tr -s ' \n' ' ' <"$work/wanted/log" | grep -q 'no TensorFlow: convert models to ONNX or IR'; then
  echo "a front end that is not here is not refused with what to do"; cat "$work/wanted/log"; exit 1
fi
for both in "openvino/openvino.hpp openvino/c/openvino.h" "openvino/c/openvino.h openvino/openvino.hpp"; do
  printf '#include <%s>\n' $both | c++ -std=c++17 -fsyntax-only -Wall -Wextra -Wpedantic -Werror "${ours[@]}" -x c++ - || { echo "$both do not go together"; exit 1; }
done
if [ -z "$wheel" ]; then
  echo "skipped: no OpenVINO in build/venv, ./dev test installs it"
  exit 0
fi
part "the page of headers, and names of tenon migrate"
python3 "$here/headers.py" "$build/generated/compat_openvino" "$wheel/include"
names="$here/../../tools/tenon/migrate/names_test.sh"
[ ! -e "$names" ] || sh "$names" python3 c++ "$build/generated" "$wheel/include"
[ ! -e "$names" ] || python3 "$(dirname "$names")/names.py" --count openvino "$build/generated" "$wheel/include" openvino/openvino.hpp \
  openvino/runtime/intel_gpu/ocl/va.hpp openvino/runtime/intel_npu/level_zero/level_zero.hpp openvino/core/preprocess/pre_post_process.hpp
part "programs, compiled for the original"
build_originals
part "programs, on the original"
"$work/original" "$here/programs/expected.txt"
part "programs in C, compiled for the original and on it"
table="$build/generated/compat_openvino_c"
python3 "$here/c/generate.py" --compare "$wheel/include/openvino/c"
# The use of each name compiles for the original without a warning, so the types of all functions are the same.
cc -std=c99 -O0 -Wall -Werror -isystem "$wheel/include" "$table/use.c" -o "$work/use" "$real_c" -Wl,-rpath,"$wheel/libs"
"$work/use"
"$work/original_c" "$here/c/programs/expected.txt"
for device in gpu npu va; do
  part "remote tensors, on the original: $device"
  on_$device "$work/remote" $device "$here/remote/$device.txt"
  on_$device "$work/remote_c" $device "$here/c/remote/$device.txt"
done
part "both libraries in one process"
# The same binary, compiled for the original, on Tenon.
LD_LIBRARY_PATH="$build/lib/tenon/openvino" "$work/original_c" "$here/c/programs/expected.txt"
# Both C libraries in one process, in both orders.
cat >"$work/one.c" <<'PROGRAM'
#include <openvino/c/openvino.h>
#include <stdio.h>
int NAME(void) {
  ov_version_t version;
  ov_core_t* core = NULL;
  if (ov_get_openvino_version(&version) != OK || ov_core_create(&core) != OK) return 1;
  printf("%s\n", version.buildNumber);
  ov_version_free(&version);
  ov_core_free(core);
  return 0;
}
PROGRAM
echo 'int original(void); int tenons(void); int main(void) { return original() + tenons() + original() + tenons(); }' >"$work/both.c"
cc -std=c99 -DNAME=original -isystem "$wheel/include" -c "$work/one.c" -o "$work/original_one.o"
cc -std=c99 -DNAME=tenons "${ours[@]:1}" -c "$work/one.c" -o "$work/tenons_one.o"
for libraries in "$real_c $build/lib/libtenon_openvino_c.so" "$build/lib/libtenon_openvino_c.so $real_c"; do
  cc "$work/both.c" "$work/original_one.o" "$work/tenons_one.o" -o "$work/both_c" $libraries -Wl,-rpath,"$wheel/libs:$build/lib"
  [ "$("$work/both_c" | grep -c tenon)" = 2 ] || { echo "the two C libraries are mixed up"; "$work/both_c"; exit 1; }
done
# Both in one process, in both orders, and the original behind Tenon's device.
cat >"$work/one.cpp" <<'PROGRAM'
#include <iostream>
#include <openvino/openvino.hpp>
#include <openvino/op/relu.hpp>
int NAME(const char* device) {
  ov::Core core;
  auto x = std::make_shared<ov::op::v0::Parameter>(ov::element::f32, ov::Shape{1, 2});
  auto model = std::make_shared<ov::Model>(ov::OutputVector{std::make_shared<ov::op::v0::Relu>(x)}, ov::ParameterVector{x});
  ov::InferRequest request = core.compile_model(model, device).create_infer_request();
  request.get_input_tensor().data<float>()[0] = -1;
  request.get_input_tensor().data<float>()[1] = 2;
  request.infer();
  const float* y = request.get_output_tensor().data<float>();
  std::cout << ov::get_openvino_version().buildNumber << ' ' << device << ' ' << y[0] << ' ' << y[1] << std::endl;
  return y[0] == 0 && y[1] == 2 ? 0 : 1;
}
PROGRAM
cat >"$work/both.cpp" <<'PROGRAM'
#include <string>
int original(const char* device);
int tenons(const char* device);
int main(int count, char**) {
  return tenons("CPU") + original("CPU") + tenons("CPU") + (count > 1 ? tenons("OPENVINO.CPU") + tenons("CPU") : 0);
}
PROGRAM
c++ -std=c++17 -DNAME=original -isystem "$wheel/include" -c "$work/one.cpp" -o "$work/original.o"
c++ -std=c++17 -DNAME=tenons "${ours[@]}" -c "$work/one.cpp" -o "$work/tenons.o"
for libraries in "$real $build/lib/libtenon_openvino_api.so" "$build/lib/libtenon_openvino_api.so $real"; do
  c++ "$work/both.cpp" "$work/original.o" "$work/tenons.o" -o "$work/both" $libraries -Wl,-rpath,"$wheel/libs:$build/lib"
  "$work/both" $([ ! -e "$build/lib/libtenon_device_openvino.so" ] || echo behind)
done
part "compat/openvino: all as expected"
