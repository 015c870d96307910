#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs ./dev demo and ./dev test from a fresh clone in a bare Debian: chroot.sh bookworm|trixie [full]. With `full` the distribution's own
# developer tools are installed first. TENON_CHROOT_TEST=0: the demo alone. TENON_CHROOT_CCACHE=FOLDER: compiles through a ccache in that
# folder, which is kept; with CI=true its objects are those of this machine's CI builds.
set -euo pipefail
suite="$1" kind="${2:-bare}"
scripts=$(dirname "$(readlink -f "$0")")
top=$(git -C "$scripts" rev-parse --show-toplevel)
root="${TENON_CHROOT_DIR:-$top/build/chroot}/$suite"
[ "$kind" = bare ] || root+="-$kind"
# Common developer tools of Debian, installed without regard to Tenon's needs.
FULL=(build-essential clang clang-tidy clang-format lld llvm gdb valgrind ccache git cmake ninja-build meson python3-dev python3-numpy
  libopencv-dev ocl-icd-opencl-dev opencl-headers clinfo mesa-opencl-icd pocl-opencl-icd libgstreamer1.0-dev libgstreamer-plugins-base1.0-dev
  libva-dev va-driver-all libdrm-dev libtbb-dev libdnnl-dev graphviz ffmpeg)
[ "$(id -u)" = 0 ] || { echo "chroot.sh: needs root, for debootstrap and chroot" >&2; exit 1; }
source "$scripts/chroot_root.sh"
trap chroot_unmount EXIT
chroot_make "$suite" "$root"
if [ "$kind" = full ]; then
  # As usual, with recommended packages.
  chroot_run "$root" "apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq ${FULL[*]} >/var/log/full.log 2>&1 || { tail -5 /var/log/full.log; exit 1; }"
fi
environment="TENON=chroot"
if [ -n "${TENON_CHROOT_CCACHE:-}" ]; then
  chroot_run "$root" "command -v ccache >/dev/null || { apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends ccache >/dev/null; }"
  mkdir -p "$TENON_CHROOT_CCACHE"
  chroot_bind "$TENON_CHROOT_CCACHE" "$root/ccache"
  # A clone elsewhere gets the same objects: paths count from the clone, and the build folder does not count.
  environment="CCACHE_DIR=/ccache CCACHE_BASEDIR=/tenon CCACHE_NOHASHDIR=1 CI=${CI:-}"
fi

# Only git is added by us: a newcomer starts from a clone.
rm -rf "$root/tenon"
git clone -q "$top" "$root/tenon"
echo "chroot $suite $kind: $(git -C "$root/tenon" rev-parse --short HEAD)"
started=$SECONDS
chroot_run "$root" "export $environment; cd /tenon && ./dev demo"
echo "chroot $suite $kind: ./dev demo passed in $((SECONDS - started)) s"
if [ "${TENON_CHROOT_TEST:-1}" != 0 ]; then
  started=$SECONDS
  chroot_run "$root" "export $environment; cd /tenon; apt-get install -y -qq git >/dev/null; git config --global --replace-all safe.directory /tenon; ./dev test"
  echo "chroot $suite $kind: ./dev test passed in $((SECONDS - started)) s"
fi
