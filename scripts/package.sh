# SPDX-License-Identifier: Apache-2.0
# ./dev package: Debian packages for users, developers, GStreamer and tools, and an archive of all that can be moved. ./dev wheel: Python packages.
# Sourced by ./dev.

PACKAGE_BUILD=build/package
# The first number of the release is part of a name.
LIBRARY_PACKAGE="libtenon$(sed -nE 's/.*TENON_VERSION "([0-9]+).*/\1/p' core/version.hpp)"
PACKAGES_MADE=("$LIBRARY_PACKAGE" libtenon-dev tenon-tools gstreamer1.0-tenon tenon-drivers)

# Without OpenVINO's adapter and device: it comes from PyPI, where a package cannot depend on it.
make_package() {
  local made tree
  apt_install dpkg-dev file
  configure package --fresh || return 1
  build package || return 1
  rm -f "$PACKAGE_BUILD"/*.deb "$PACKAGE_BUILD"/tenon-*.tar.gz "$PACKAGE_BUILD/tenon.cdx.json"
  tree=$(mktemp -d)
  cmake --install "$PACKAGE_BUILD" --prefix "$tree" >"$PACKAGE_BUILD/install.log" 2>&1 &&
    python3 scripts/sbom.py "$PACKAGE_BUILD" "$tree" "$PACKAGE_BUILD/tenon.cdx.json" || { tail -5 "$PACKAGE_BUILD/install.log"; rm -rf "$tree"; return 1; }
  rm -rf "$tree"
  (cd "$PACKAGE_BUILD" && cpack -G DEB && cpack -G TGZ) >"$PACKAGE_BUILD/cpack.log" 2>&1 || { tail -5 "$PACKAGE_BUILD/cpack.log"; return 1; }
  for made in "$PACKAGE_BUILD"/*.deb; do
    dpkg-deb --info "$made" | grep -E '^ (Package|Version|Depends|Installed-Size)'
    say "$made"
  done
  say "$(ls "$PACKAGE_BUILD"/tenon-*.tar.gz)"
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

# The packages in a bare Debian of this release: each installed with what it names, used, and removed.
check_package_in_chroot() {
  local root="$PWD/build/chroot/package" suite package
  suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
  source scripts/chroot_root.sh
  trap chroot_unmount RETURN
  chroot_make "$suite" "$root" || return 1
  for package in "${PACKAGES_MADE[@]}"; do
    ls "$PACKAGE_BUILD/${package}_"*.deb >/dev/null 2>&1 || { echo "package: there is no $package; build/package.configure.log says what is off"; return 1; }
  done
  rm -rf "$root/consumer" "$root/packages" "$root/elsewhere"
  mkdir "$root/packages"
  cp "$PACKAGE_BUILD"/*.deb "$PACKAGE_BUILD"/tenon-*.tar.gz "$root/packages"
  cp -r tests/install/consumer "$root/consumer"
  cp models/demo.onnx models/demo.mp4 "$root/"
  # Programs of C++ need the libraries and headers alone; then the tools come, then all.
  chroot_run "$root" "export DEBIAN_FRONTEND=noninteractive; apt-get update -qq
    get() { apt-get install -y -qq \"\$@\" >/var/log/tenon.log 2>&1 || { tail -5 /var/log/tenon.log; exit 1; }; }
    get --no-install-recommends /packages/${LIBRARY_PACKAGE}_*.deb
    ldconfig -p | grep -q libtenon_runtime.so; test ! -e /usr/bin/tenon; test ! -e /usr/include/tenon
    test -s /usr/share/doc/$LIBRARY_PACKAGE/tenon.cdx.json
    get --install-recommends /packages/libtenon-dev_*.deb
    cmake -S /consumer -B /consumer/build >/dev/null && cmake --build /consumer/build >/dev/null && /consumer/build/consumer /demo.onnx >/dev/null
    test -f /usr/share/doc/tenon/README.md
    get --no-install-recommends /packages/*.deb gstreamer1.0-tools
    tenon --version; tenon devices; tenon npu-env -- tenon devices | grep -q 'NPU .*available'
    tenon run /demo.mp4 --model /demo.onnx --max-frames 5 | tail -3
    gst-inspect-1.0 tenon | grep -q tenoninfer
    dpkg -L ${PACKAGES_MADE[*]} | while read -r each; do [ -d \"\$each\" ] || echo \"\$each\"; done >/var/log/tenon.files
    apt-get purge -y -qq ${PACKAGES_MADE[*]} >/dev/null
    while read -r each; do [ ! -e \"\$each\" ] || { echo \"package: \$each is still there\"; exit 1; }; done </var/log/tenon.files
    hash -r; ! command -v tenon >/dev/null
    # The archive, in a place that nothing was made for; what its libraries need is still there.
    mkdir -p /elsewhere; tar -C /elsewhere -xf /packages/tenon-*.tar.gz; cd /elsewhere/tenon-*
    cmake -S /consumer -B /consumer/archive -DCMAKE_PREFIX_PATH=\"\$PWD\" >/dev/null
    cmake --build /consumer/archive >/dev/null && /consumer/archive/consumer /demo.onnx >/dev/null
    bin/tenon run /demo.mp4 --model /demo.onnx --device CPU --max-frames 5 | tail -1" || return 1
  echo "package: ${PACKAGES_MADE[*]}: installed, used and removed in a bare $suite; and the archive, used where it was unpacked"
}
