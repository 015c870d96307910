#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The slow tier's part: slow.sh BUILD. The programs compiled for the original print what the file expects; a project with the original's lines
# for CMake; a program that links both libraries ends with a message before main; each header stands alone.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
build=$(readlink -f "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TENON_DEVICE_PATH="$build/lib"
sh "$here/consumer/build.sh" cmake "$build/cmake/compat/openvino/package"
ours=(-I"$here/include" -I"$build/generated/compat_openvino")
for header in $(cd "$here/include" && find openvino -name '*.hpp') $(cd "$build/generated/compat_openvino" && find openvino -name '*.hpp'); do
  [[ $header == */dx.hpp ]] && continue  # Refuses other systems than Windows.
  echo "#include <$header>" | c++ -std=c++17 -fsyntax-only -Wall -Wextra -Wpedantic -Werror "${ours[@]}" -x c++ - || { echo "$header does not stand alone"; exit 1; }
done
wheel=$(find -L "$here/../../build/venv" -path '*/openvino/include/openvino/openvino.hpp' | head -1)
if [ -z "$wheel" ]; then
  echo "skipped: no OpenVINO in build/venv, ./dev test installs it"
  exit 0
fi
wheel=$(dirname "$(dirname "$(dirname "$wheel")")")
real=$(echo "$wheel"/libs/libopenvino.so.*)
for program in "$here"/programs/*.cpp; do echo "#include \"$program\""; done >"$work/all.cpp"
c++ -std=c++17 -O0 -isystem "$wheel/include" -I"$here/programs" "$work/all.cpp" -o "$work/original" "$real" -Wl,-rpath,"$wheel/libs"
"$work/original" "$here/programs/expected.txt"
# In both orders.
echo 'int main() { return 0; }' >"$work/both.cpp"
for libraries in "$real $build/lib/libtenon_openvino_api.so" "$build/lib/libtenon_openvino_api.so $real"; do
  c++ "$work/both.cpp" -o "$work/both" -Wl,--no-as-needed $libraries -Wl,-rpath,"$wheel/libs:$build/lib"
  if "$work/both" 2>"$work/said"; then echo "a program with both libraries ran: $libraries"; exit 1; fi
  grep -q "are in one process" "$work/said" || { echo "a program with both libraries ended otherwise:"; cat "$work/said"; exit 1; }
done
# The original loaded later: Core refuses.
cat >"$work/later.cpp" <<'PROGRAM'
#include <dlfcn.h>
#include <iostream>
#include <openvino/openvino.hpp>
int main(int, char** argv) {
  if (!dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)) return 2;
  try {
    ov::Core core;
  } catch (const ov::Exception& error) {
    std::cout << error.what();
    return 0;
  }
  return 1;
}
PROGRAM
c++ -std=c++17 "${ours[@]}" "$work/later.cpp" -o "$work/later" "$build/lib/libtenon_openvino_api.so" -Wl,-rpath,"$build/lib"
"$work/later" "$real"
echo "compat/openvino: all as expected"
