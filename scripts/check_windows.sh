#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev check windows: what is built for Windows, cross-compiled by MinGW-w64 and tested under Wine with a display of its own (Xvfb), where
# Direct3D 11 works on Mesa. Sourced by scripts/check.sh. TENON_WINDOWS_TARGETS names targets to build and test instead of all.

PACKAGES_WINDOWS=(g++-mingw-w64-x86-64-posix wine64 xvfb xauth googletest libgl1-mesa-dri nlohmann-json3-dev libxxhash-dev opencl-c-headers pocl-opencl-icd
  cmake ninja-build pkg-config)
# Libraries that Debian has no package of for Windows are built from its source packages.
SOURCES_WINDOWS=(pugixml)
WINDOWS_TESTS=(core_test dlopen_state_test store_test graph_test cpu_test null_test dlpack_test d3d11_test opencl_test d3d11_opencl_test
  conformance_test)

# windows_source PACKAGE: Debian's source package, unpacked in build/windows-sources. The machine's own lists of packages stay as they are.
windows_source() {
  local folder=$PWD/build/windows-sources
  [ -d "$folder/$1" ] && return
  mkdir -p "$folder"/{parts,lists/partial,cache,get}
  # A machine has one or the other of these forms.
  sed 's/^Types:.*/Types: deb-src/' /etc/apt/sources.list.d/*.sources >"$folder/parts/source.sources" 2>/dev/null || rm "$folder/parts/source.sources"
  sed -n 's/^deb /deb-src /p' /etc/apt/sources.list /etc/apt/sources.list.d/*.list >"$folder/parts/source.list" 2>/dev/null || true
  local options=(-qq -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$folder/parts" -o Dir::State::lists="$folder/lists" -o Dir::Cache="$folder/cache")
  apt-get "${options[@]}" update &&
    (cd "$folder/get" && apt-get "${options[@]}" source --download-only "$1" >/dev/null 2>&1) || { echo "check: apt-get has no source package $1" >&2; return 1; }
  # Moved when it is whole: what is there is not unpacked again.
  rm -rf "$folder/$1.part" && mkdir -p "$folder/$1.part" &&
    tar -xf "$folder/get/${1}"_*.orig.tar.* -C "$folder/$1.part" --strip-components=1 && mv "$folder/$1.part" "$folder/$1"
}

# windows_library FOLDER NAME: a CMake project, installed into build/windows-root.
windows_library() {
  [ -f "build/windows-root/.$2" ] && return
  say "$2 for Windows"
  cmake -S "$1" -B "build/windows-$2" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/cmake/windows.cmake" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$PWD/build/windows-root" >"build/windows-$2.log" 2>&1 &&
    cmake --build "build/windows-$2" --target install -j "$(nproc)" >>"build/windows-$2.log" 2>&1 || { tail -20 "build/windows-$2.log"; return 1; }
  touch "build/windows-root/.$2"
}

# The import library of OpenCL.dll, which drivers or Wine bring: the functions of OpenCL 1.2, by the names in the headers. What is newer is
# looked up at run time.
windows_opencl() {
  local root=$1
  ln -sfn /usr/include/CL "$root/include/CL"
  mkdir -p "$root/lib/pkgconfig"
  { echo "LIBRARY OpenCL.dll"; echo EXPORTS
    tr '\n' ' ' </usr/include/CL/cl.h | grep -oE '\bcl[A-Z][A-Za-z0-9]+\([^;]*CL_API_SUFFIX__VERSION_1_[0-2](_DEPRECATED)?;' | grep -oE '^cl[A-Za-z0-9]+' | sort -u
  } >"$root/lib/OpenCL.def"
  x86_64-w64-mingw32-dlltool -d "$root/lib/OpenCL.def" -l "$root/lib/libOpenCL.dll.a" || return 1
  printf '%s\n' "prefix=$PWD/$root" 'Name: OpenCL' 'Description: OpenCL.dll' 'Version: 3.0' 'Libs: -L${prefix}/lib -lOpenCL' 'Cflags: -I${prefix}/include' \
    >"$root/lib/pkgconfig/OpenCL.pc"
}

windows_root() {
  local root=build/windows-root name
  mkdir -p "$root/include" "$root/share/cmake"
  # Headers alone: those of this machine serve every system.
  ln -sfn /usr/include/xxhash.h "$root/include/xxhash.h"
  ln -sfn /usr/include/nlohmann "$root/include/nlohmann"
  cp -r /usr/share/cmake/nlohmann_json "$root/share/cmake/"
  windows_opencl "$root" || return 1
  windows_library /usr/src/googletest googletest || return 1
  for name in "${SOURCES_WINDOWS[@]}"; do
    windows_source "$name" && windows_library "build/windows-sources/$name" "$name" || return 1
  done
}

check_windows() {
  local targets test failed=0
  read -r -a targets <<<"${TENON_WINDOWS_TARGETS:-${WINDOWS_TESTS[*]}}"
  apt_install "${PACKAGES_WINDOWS[@]}" && windows_root || return 1
  cmake --preset windows >build/windows.log 2>&1 || { tail -20 build/windows.log; return 1; }
  cmake --build build/windows -j "$(nproc)" --target "${targets[@]}" >>build/windows.log 2>&1 || { grep -A5 -E 'error|undefined' build/windows.log | head -40; return 1; }
  # As ctest would set them; paths of Linux are on drive Z.
  export TENON_SOURCE_DIR="Z:$PWD" TENON_STATE_MODULES="Z:$PWD/build/windows/tests/libtenon_state_module_1.dll;Z:$PWD/build/windows/tests/libtenon_state_module_2.dll"
  for test in "${targets[@]}"; do
    [ -f "build/windows/tests/$test.exe" ] || continue
    xvfb-run -a timeout 600 scripts/windows_run.sh "build/windows/tests/$test.exe" --gtest_brief=1 >"build/windows-$test.log" 2>&1 ||
      { failed=1; grep -E '^\[  FAILED|Failure|error' "build/windows-$test.log" | head -20; }
    printf '%-20s %s\n' "$test" "$(grep -E '^\[  (PASSED|SKIPPED)' "build/windows-$test.log" | head -2 | tr -d '\r' | tr '\n' ' ')"
  done
  return $failed
}
