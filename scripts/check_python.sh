#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests of the Python package with packages and servers of others: ./dev check python. They have folders of their own, build/venv-python and
# build/venv-arrays, because they bring GBs and versions that other tests do not want: build/venv-arrays for arrays.
#
# usage: check_python.sh [BUILD [PYTEST ARGUMENTS]]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
source scripts/lib.sh
build="$PWD/${1:-build/release}"
shift || true
apt_install "${PACKAGES_BROKERS[@]}" ffmpeg python3-gi gir1.2-gst-plugins-base-1.0 gstreamer1.0-plugins-base
VENV=build/venv-python pip_install "${PYPI_PYTHON_SLOW[@]}"
VENV=build/venv-arrays pip_install "${PYPI_ARRAYS[@]}"
export PYTHONPATH="$build/python" TENON_DEVICE_PATH="$build/lib" TENON_ELEMENT_PATH="$build/lib" TENON_TOOL="$build/bin/tenon" PYTHONDONTWRITEBYTECODE=1
slow=bindings/python/tests/slow
build/venv-arrays/bin/python -m pytest -q -rs -p no:cacheprovider $slow/test_arrays.py "$@"
build/venv-python/bin/python -m pytest -q -rs -p no:cacheprovider --ignore $slow/test_arrays.py $slow "$@"
