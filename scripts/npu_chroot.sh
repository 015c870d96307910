#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the software NPU built here in a bare Debian whose Level Zero loader needs no shim, under the NPU plugin of the
# Python package openvino: npu_chroot.sh [trixie]. Needs build/release/lib/libze_tenon_npu.so and build/data/zoo.
# npu_chroot.sh --outside [trixie] runs examples/npu_ci/bare.sh instead, as a CI service would that has Tenon's wheel and nothing else of it. Needs
# build/wheel (./dev wheel).
set -euo pipefail
outside=""
[ "${1:-}" != --outside ] || { outside=yes; shift; }
suite="${1:-trixie}"
scripts=$(dirname "$(readlink -f "$0")")
top=$(git -C "$scripts" rev-parse --show-toplevel)
root="${TENON_CHROOT_DIR:-$top/build/chroot}/$suite"
driver="$top/build/release/lib/libze_tenon_npu.so"
venv=/opt/npu_clients
modules="device_test infer_test blob_test memory_test versions_test zoo_test benchmark_app_test"
[ "$(id -u)" = 0 ] || { echo "npu_chroot.sh: needs root, for debootstrap and chroot" >&2; exit 1; }
[ -n "$outside" ] || [ -f "$driver" ] || { echo "npu_chroot.sh: no $driver: ./dev build release tenon_npu_driver makes it" >&2; exit 1; }
source "$scripts/lib.sh"
source "$scripts/chroot_root.sh"
trap chroot_unmount EXIT
chroot_make "$suite" "$root"
if [ -n "$outside" ]; then
  wheel=$(ls -t "$top"/build/wheel/tenon-*-cp312-abi3-*.whl 2>/dev/null | head -1)
  [ -n "$wheel" ] || { echo "npu_chroot.sh: no wheel for Python 3.12 and later in build/wheel: ./dev wheel PYTHON makes it" >&2; exit 1; }
  rm -rf "$root/wheel" "$root/npu_ci"
  mkdir "$root/wheel"
  cp "$wheel" "$root/wheel"
  cp -r "$top/examples/npu_ci" "$root/npu_ci"
  # The two commands; and the second with a device that hangs and is reset.
  chroot_run "$root" "
    export DEBIAN_FRONTEND=noninteractive
    sh /npu_ci/bare.sh | tee /tmp/works; grep -q '8 results are right, 0 attempts failed' /tmp/works
    sed -n '/^ZE_ENABLE/p' /npu_ci/bare.sh >/tmp/second; grep -q client.py /tmp/second
    export here=/npu_ci venv=/opt/npu_ci TENON_NPU_FAIL=execution:3=hang TENON_NPU_RESET_MS=300
    sh /tmp/second | tee /tmp/hangs; grep -q '8 results are right, 1 attempts failed' /tmp/hangs
  "
  echo "npu_chroot: the example ran in a bare $suite by two commands"
  exit 0
fi
# At its own path, so that the driver finds the libraries that it was linked with; read-only.
chroot_bind "$top" "$root$top" ro
# build/venv may be a link that leads outside the tree.
outside=$(readlink -f "$top/build/venv")
[[ "$outside" == "$top"/* ]] || chroot_bind "$outside" "$root$outside" ro

chroot_run "$root" "
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends libze1 libtbb12 python3 python3-venv ca-certificates >/dev/null
  grep -q zeCommandListHostSynchronize /usr/lib/x86_64-linux-gnu/libze_loader.so.1 || { echo 'the loader of this Debian is too old: nothing would be shown'; exit 1; }
  dpkg-query -W -f 'loader \${Version}, ' libze1; ldd --version | head -1
  [ -x $venv/bin/python ] || python3 -m venv $venv
  $venv/bin/pip install -q --disable-pip-version-check ${PYPI_TEST[0]} numpy
  ldd '$driver' | grep 'not found' && { echo 'libraries are missing'; exit 1; }
  cd /tmp
  export ZE_ENABLE_ALT_DRIVERS='$driver' TENON_ZOO='$top/build/data/zoo' PYTHONDONTWRITEBYTECODE=1
  $venv/bin/python '$top/tests/npu_clients/run.py' $modules
"
