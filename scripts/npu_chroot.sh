#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the software NPU built here in a bare Debian with a Level Zero loader that needs no shim, under the NPU plugin of the
# Python package openvino: npu_chroot.sh [trixie]. Needs build/release/lib/libze_tenon_npu.so and build/release/zoo.
set -euo pipefail
suite="${1:-trixie}"
scripts=$(dirname "$(readlink -f "$0")")
top=$(git -C "$scripts" rev-parse --show-toplevel)
root="${TENON_CHROOT_DIR:-$top/build/chroot}/$suite"
driver="$top/build/release/lib/libze_tenon_npu.so"
venv=/opt/npu_clients
modules="device_test infer_test blob_test memory_test versions_test zoo_test benchmark_app_test"
[ "$(id -u)" = 0 ] || { echo "npu_chroot.sh: needs root, for debootstrap and chroot" >&2; exit 1; }
[ -f "$driver" ] || { echo "npu_chroot.sh: no $driver: ./dev build release tenon_npu_driver makes it" >&2; exit 1; }
source "$scripts/lib.sh"
source "$scripts/chroot_root.sh"
trap chroot_unmount EXIT
chroot_make "$suite" "$root"
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
  export ZE_ENABLE_ALT_DRIVERS='$driver' TENON_ZOO='$top/build/release/zoo' PYTHONDONTWRITEBYTECODE=1
  $venv/bin/python '$top/tests/npu_clients/run.py' $modules
"
