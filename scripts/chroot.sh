#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs ./dev demo and ./dev test from a fresh clone in a bare Debian: chroot.sh bookworm|trixie. TENON_CHROOT_TEST=0: the demo alone.
set -euo pipefail
suite="$1"
top=$(git -C "$(dirname "$(readlink -f "$0")")" rev-parse --show-toplevel)
root="${TENON_CHROOT_DIR:-$top/build/chroot}/$suite"
[ "$(id -u)" = 0 ] || { echo "chroot.sh: needs root, for debootstrap and chroot" >&2; exit 1; }

unmount() { for point in proc sys dev; do mountpoint -q "$root/$point" && umount -l "$root/$point"; done; true; }
trap unmount EXIT

if [ ! -f "$root/.tenon-bare" ]; then
  unmount
  rm -rf "$root"
  mkdir -p "$root"
  mirror=$(grep -rhoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null | head -1 | tr -d ' ' || true)
  debootstrap --variant=minbase "$suite" "$root" ${mirror:+"$mirror"} >"$root.log" 2>&1 || { tail -5 "$root.log"; exit 1; }
  touch "$root/.tenon-bare"
fi
# Only git is added by us: a clone is where a newcomer starts. Names and certificates come from the host.
for file in /etc/resolv.conf /etc/hosts /etc/pip.conf; do [ -e "$file" ] && cp -L "$file" "$root/etc/"; done
for folder in /usr/local/share/ca-certificates /etc/apt/apt.conf.d; do [ -d "$folder" ] && mkdir -p "$root$folder" && cp -rnL "$folder/." "$root$folder/"; done
for point in proc sys dev; do mkdir -p "$root/$point"; mount --bind "/$point" "$root/$point"; done

rm -rf "$root/tenon"
git clone -q "$top" "$root/tenon"
started=$SECONDS
chroot "$root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM="${TERM:-dumb}" LANG=C.UTF-8 \
  ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} \
  bash -ec "cd /tenon && ./dev demo && { [ '${TENON_CHROOT_TEST:-1}' = 0 ] || { apt-get install -y -qq git >/dev/null; git config --global --add safe.directory /tenon; ./dev test; }; }"
echo "chroot $suite: done in $((SECONDS - started)) s"
