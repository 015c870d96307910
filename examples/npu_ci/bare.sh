#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A bare container of Debian 13, with Tenon's wheel in /wheel and client.py beside this file: two commands, and an unmodified OpenVINO has an NPU. The
# wheel's driver needs no tool: the loader takes it by a variable, and faults and numbers come by others (docs/guide/npu_without_an_npu.md).
# scripts/npu_chroot.sh --outside runs it.
set -eu
here=$(dirname "$0") venv=/opt/npu_ci

apt-get update -qq && apt-get install -y -qq --no-install-recommends libze1 python3-venv ca-certificates >/dev/null &&
  python3 -m venv "$venv" && "$venv/bin/pip" install -q --disable-pip-version-check /wheel/tenon-*.whl openvino numpy

ZE_ENABLE_ALT_DRIVERS=$(echo "$venv"/lib/python3*/site-packages/tenon/lib/libze_tenon_npu.so) "$venv/bin/python" "$here/client.py" "$@"
