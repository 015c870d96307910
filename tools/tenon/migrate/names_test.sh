#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whether what `tenon migrate` calls there is there: names_test.sh PYTHON COMPILER GENERATED [ORIGINAL] compiles a use of each name that the tables
# have of OpenVINO's C++ API. With the folder of the original's headers, a use of each that they have too is compiled for them.
set -eu
here=$(dirname "$(readlink -f "$0")")
compat=$here/../../../compat/openvino
use=$(mktemp --suffix=.cpp)
trap 'rm -f "$use"' EXIT
"$1" "$here/names.py" --use openvino "$3" >"$use"
"$2" -std=c++17 -fsyntax-only -w -Dov=tenon_ov -I"$compat/include" -I"$3/compat_openvino" "$use"
[ $# -gt 3 ] || exit 0
"$1" "$here/names.py" --use openvino "$3" "$4" >"$use"
"$2" -std=c++17 -fsyntax-only -w -isystem "$4" "$use"
"$1" "$here/names.py" --compare openvino "$3" "$4"
