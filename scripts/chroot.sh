#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs ./dev demo and ./dev test from a fresh clone in a bare Debian: chroot.sh bookworm|trixie. TENON_CHROOT_TEST=0: the demo alone.
set -euo pipefail
suite="$1"
scripts=$(dirname "$(readlink -f "$0")")
top=$(git -C "$scripts" rev-parse --show-toplevel)
root="${TENON_CHROOT_DIR:-$top/build/chroot}/$suite"
[ "$(id -u)" = 0 ] || { echo "chroot.sh: needs root, for debootstrap and chroot" >&2; exit 1; }
source "$scripts/chroot_root.sh"
trap chroot_unmount EXIT
chroot_make "$suite" "$root"

# Only git is added by us: a clone is where a newcomer starts.
rm -rf "$root/tenon"
git clone -q "$top" "$root/tenon"
started=$SECONDS
chroot_run "$root" "cd /tenon && ./dev demo && { [ '${TENON_CHROOT_TEST:-1}' = 0 ] || { apt-get install -y -qq git >/dev/null; git config --global --add safe.directory /tenon; ./dev test; }; }"
echo "chroot $suite: done in $((SECONDS - started)) s"
