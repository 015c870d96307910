# SPDX-License-Identifier: Apache-2.0
# A bare Debian in a folder, for chroot.sh and npu_chroot.sh. Sourced; the caller must be root.

CHROOT_MOUNTED=()

chroot_unmount() {
  local point
  for point in "${CHROOT_MOUNTED[@]}"; do mountpoint -q "$point" && umount -l "$point"; done
  true
}

chroot_bind() {  # FROM TO [options]
  mkdir -p "$2"
  mount --bind "$1" "$2"
  CHROOT_MOUNTED+=("$2")
  [ -z "${3:-}" ] || mount -o "remount,bind,$3" "$2"
}

# The server of Debian's that this machine uses.
debian_mirror() { grep -rhoE 'https?://[^ ]+/debian/?( |$)' /etc/apt/sources.list /etc/apt/sources.list.d 2>/dev/null | head -1 | tr -d ' ' || true; }

# Makes it if it does not exist yet, and prepares it: names, certificates and package settings come from the host.
chroot_make() {  # SUITE ROOT
  local suite="$1" root="$2" mirror point file folder
  for point in proc sys dev; do mountpoint -q "$root/$point" && umount -l "$root/$point"; done
  if [ ! -f "$root/.tenon-bare" ]; then
    rm -rf "$root"
    mkdir -p "$root"
    mirror=$(debian_mirror)
    debootstrap --variant=minbase "$suite" "$root" ${mirror:+"$mirror"} >"$root.log" 2>&1 || { tail -5 "$root.log"; return 1; }
    touch "$root/.tenon-bare"
  fi
  for file in /etc/resolv.conf /etc/hosts /etc/pip.conf; do [ -e "$file" ] && cp -L "$file" "$root/etc/"; done
  for folder in /usr/local/share/ca-certificates /etc/apt/apt.conf.d; do [ -d "$folder" ] && mkdir -p "$root$folder" && cp -rnL "$folder/." "$root$folder/"; done
  for point in proc sys dev; do chroot_bind "/$point" "$root/$point"; done
}

# Runs a shell line inside, with nothing of the host's environment except the network settings.
chroot_run() {  # ROOT LINE
  chroot "$1" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM="${TERM:-dumb}" LANG=C.UTF-8 \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} bash -ec "$2"
}
