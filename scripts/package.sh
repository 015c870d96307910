# SPDX-License-Identifier: Apache-2.0
# ./dev package: a Debian package of runtime, tool, headers, driver, documentation and examples. Sourced by ./dev.

PACKAGE_BUILD=build/package

# Without OpenVINO's adapter and device: it comes from PyPI, where a package cannot depend on it.
make_package() {
  local made
  apt_install dpkg-dev file
  configure package --fresh || return 1
  build package || return 1
  rm -f "$PACKAGE_BUILD"/*.deb
  (cd "$PACKAGE_BUILD" && cpack -G DEB) >"$PACKAGE_BUILD/cpack.log" 2>&1 || { tail -5 "$PACKAGE_BUILD/cpack.log"; return 1; }
  made=$(echo "$PACKAGE_BUILD"/*.deb)
  dpkg-deb --info "$made" | grep -E '^ (Package|Version|Depends|Installed-Size)'
  say "$made"
}

# make_wheels [PYTHON...]: wheels over the libraries of the release build, in build/wheel.
make_wheels() {
  command -v dpkg-query >/dev/null && apt_install python3-dev
  pip_install "${PYPI_PYTHON[@]}"
  # A tree that was configured before these were installed has no Python package.
  grep -q '^build tenon_wheel:' build/release/build.ninja 2>/dev/null || { rm -f build/release/CMakeCache.txt; configure demo || return 1; }
  build release tenon_wheel || return 1
  "$(venv_python)" scripts/wheel.py build/release build/wheel "$@"
}

# The package in a bare Debian of this release: installed, used by the tool and by a user's program, and removed.
check_package_in_chroot() {
  local root="$PWD/build/chroot/package" suite before after
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  source scripts/chroot_root.sh
  trap chroot_unmount RETURN
  chroot_make "$suite" "$root" || return 1
  cp "$PACKAGE_BUILD"/*.deb "$root/tenon.deb"
  rm -rf "$root/consumer"
  cp -r tests/install/consumer "$root/consumer"
  cp models/demo.onnx models/demo.mp4 "$root/"
  chroot_run "$root" "export DEBIAN_FRONTEND=noninteractive; apt-get update -qq; apt-get install -y -qq --install-recommends /tenon.deb >/var/log/tenon.log 2>&1 || { tail -5 /var/log/tenon.log; exit 1; }
    tenon --version; tenon devices; tenon npu-env -- tenon devices | grep -q 'NPU .*available'
    tenon run /demo.mp4 --model /demo.onnx --max-frames 5 | tail -3
    test -f /usr/share/doc/tenon/README.md
    command -v g++ cmake >/dev/null
    cmake -S /consumer -B /consumer/build >/dev/null && cmake --build /consumer/build >/dev/null
    dpkg -L tenon | while read -r each; do [ -d \"\$each\" ] || echo \"\$each\"; done >/var/log/tenon.files
    apt-get purge -y -qq tenon >/dev/null
    while read -r each; do [ ! -e \"\$each\" ] || { echo \"package: \$each is still there\"; exit 1; }; done </var/log/tenon.files
    hash -r; ! command -v tenon >/dev/null" || return 1
  echo "package: installed, used and removed in a bare $suite"
}
