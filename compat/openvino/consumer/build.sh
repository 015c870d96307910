#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the project beside this script against a package: build.sh CMAKE FOLDER_OF_THE_PACKAGE (lib/tenon/openvino), and once more by
# its pkg-config module.
set -eu
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" -S "$here" -B "$work" -DOpenVINO_DIR="$2/cmake" >"$work/log" 2>&1 && "$1" --build "$work" >>"$work/log" 2>&1 || { tail -50 "$work/log"; exit 1; }
"$work/consumer"
"$work/consumer_c"
export PKG_CONFIG_PATH="$2/pkgconfig"
c++ -std=c++17 -Wall -Wextra -Werror "$here/consumer.cpp" "$here/headers.cpp" -o "$work/by_module" $(pkg-config --cflags --libs openvino) -Wl,-rpath,"$(pkg-config --variable=libdir openvino)"
"$work/by_module"
cc -std=c99 "$here/consumer.c" -o "$work/c_by_module" $(pkg-config --cflags --libs openvino) -Wl,-rpath,"$(pkg-config --variable=libdir openvino)"
"$work/c_by_module"
