#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a build tree into a scratch prefix and builds consumers against it: run.sh BUILD_DIR
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
top=$(cd "$here/../.." && pwd)
build=$(readlink -f "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >"$work/install.log" 2>&1 || { tail "$work/install.log"; exit 1; }
libdir=$(dirname "$(find "$work/prefix" -name 'libtenon_core.so' | head -1)")

cmake -S "$here/consumer" -B "$work/cmake" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix;$top/build/venv" >"$work/cmake.log" 2>&1 &&
  cmake --build "$work/cmake" >>"$work/cmake.log" 2>&1 || { tail -20 "$work/cmake.log"; exit 1; }
"$work/cmake/consumer" "$top/models/demo.onnx"

flags=$(PKG_CONFIG_PATH="$libdir/pkgconfig" pkg-config --cflags --libs tenon)
# shellcheck disable=SC2086
g++ -DTENON_CONSUMER_RUNTIME "$here/consumer/consumer.cpp" $flags -Wl,-rpath,"$libdir" -o "$work/consumer_pc"
"$work/consumer_pc" "$top/models/demo.onnx"

if cmake -S "$here/consumer" -B "$work/none" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix;$top/build/venv" -DCONSUMER_COMPONENTS=no_such_part >"$work/none.log" 2>&1; then
  echo "install: find_package accepted a component that does not exist"; exit 1
fi
grep -q no_such_part "$work/none.log" || { echo "install: the error does not name the missing component"; exit 1; }
echo "install: consumers by CMake and by pkg-config run"
