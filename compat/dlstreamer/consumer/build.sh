#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the project beside this script against a dl-streamer.pc: build.sh CMAKE FOLDER_OF_THE_MODULE [FOLDER_OF_OPENVINOS_PACKAGE]
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PKG_CONFIG_PATH="$2"
"$1" -S "$(dirname "$0")" -B "$work" ${3:+-DOpenVINO_DIR="$3"} >"$work/log" 2>&1 && "$1" --build "$work" >>"$work/log" 2>&1 || { tail -50 "$work/log"; exit 1; }
"$work/consumer"
[ $# -lt 3 ] || "$work/with_openvino"
