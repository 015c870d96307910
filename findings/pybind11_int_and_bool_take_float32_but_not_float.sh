#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# pybind11 3.1.0: a C++ int parameter refuses Python's 3.5 and float64, but takes float32, float16 and bfloat16 3.5, Fraction and Decimal,
# and cuts them. A vector<int> takes float32 arrays and refuses float64 ones. With overloads for bool, int and double, in that order, a
# float32 goes to bool, by which 3.5 is True. OpenVINO 2026.4.1's Shape of a float32 2.9 is 2. nanobind 3.1.0 refuses such numbers for int,
# and sends them to double. Needs g++ with C++17.
# Guess before the run: NumPy's floats are treated as Python's are.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
python=$folder/venv/bin/python
"$folder/venv/bin/pip" install -q --disable-pip-version-check pybind11==3.1.0 nanobind==3.1.0 openvino==2026.4.1 ml_dtypes==0.6.0 \
    numpy==2.4.6
cat > "$folder/functions.h" <<'CPP'
template <class Module> void define(Module& m) {
    m.def("whole", [](int v) { return v; });
    m.def("wholes", [](std::vector<int> v) { return v; });
    m.def("overload", [](bool) { return "bool"; });
    m.def("overload", [](int) { return "int"; });
    m.def("overload", [](double) { return "double"; });
}
CPP
cat > "$folder/by_pybind11.cpp" <<'CPP'
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include "functions.h"
PYBIND11_MODULE(by_pybind11, m) { define(m); }
CPP
cat > "$folder/by_nanobind.cpp" <<'CPP'
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>
#include "functions.h"
NB_MODULE(by_nanobind, m) { define(m); }
CPP
suffix=$("$python" -c 'import sysconfig; print(sysconfig.get_config_var("EXT_SUFFIX"))')
nanobind=$("$python" -c 'import nanobind, os; print(os.path.dirname(nanobind.__file__))')
read -ra include <<< "$("$python" -m pybind11 --includes) -I$nanobind/include -I$nanobind/ext/robin_map/include"
build=(g++ -std=c++17 -O1 -fPIC -shared -fvisibility=hidden -fno-strict-aliasing "${include[@]}")
"${build[@]}" "$folder/by_pybind11.cpp" -o "$folder/by_pybind11$suffix"
"${build[@]}" "$folder/by_nanobind.cpp" "$nanobind/src/nb_combined.cpp" -o "$folder/by_nanobind$suffix"
PYTHONPATH=$folder "$python" - <<'PYTHON'
from decimal import Decimal
from fractions import Fraction

import by_nanobind
import by_pybind11
import ml_dtypes
import numpy as np
import openvino as ov


def result(call, value):
    """What a call gives, or None if it refuses the value's type."""
    try:
        return call(value)
    except TypeError:
        return None


for value, whole in ((3.5, None), (np.float64(3.5), None), (np.float32(3.5), 3), (np.float16(3.5), 3), (ml_dtypes.bfloat16(3.5), 3),
                     (Fraction(1, 2), 0), (Decimal("1.5"), 1)):
    chosen = "double" if whole is None else "bool"
    found = result(by_pybind11.whole, value), by_pybind11.overload(value)
    print(f"{value!r} of {type(value).__name__}: int {found[0]}, overload for {found[1]};",
          f"by nanobind {result(by_nanobind.whole, value)}, {by_nanobind.overload(value)}")
    assert found == (whole, chosen)
    assert result(by_nanobind.whole, value) is None and by_nanobind.overload(value) == "double"
for dtype, seen in ((np.float64, None), (np.float32, [2, 3]), (np.float16, [2, 3])):
    array = np.array([2.9, 3.9], dtype)
    shape = result(ov.Shape, array)
    print(f"{array.dtype} {array}: vector<int> {result(by_pybind11.wholes, array)}, OpenVINO's Shape {shape}")
    assert result(by_pybind11.wholes, array) == seen and (None if shape is None else list(shape)) == seen
    assert result(by_nanobind.wholes, array) is None
PYTHON
