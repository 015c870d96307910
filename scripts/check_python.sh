#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests of the Python package with packages and servers of others: ./dev check python. They have a folder of their own, build/venv-python, because
# they bring 1 GB and versions that other tests do not want.
#
# usage: check_python.sh [BUILD [PYTEST ARGUMENTS]]
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/.."
source scripts/lib.sh
build="$PWD/${1:-build/release}"
shift || true
apt_install "${PACKAGES_BROKERS[@]}" ffmpeg
VENV=build/venv-python pip_install "${PYPI_PYTHON_SLOW[@]}"
export PYTHONPATH="$build/python" TENON_DEVICE_PATH="$build/lib" TENON_ELEMENT_PATH="$build/lib" TENON_TOOL="$build/bin/tenon" PYTHONDONTWRITEBYTECODE=1
exec build/venv-python/bin/python -m pytest -q -rs -p no:cacheprovider bindings/python/tests/slow "$@"
