#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# ./dev check windows: what is built for Windows, cross-compiled by MinGW-w64 and tested under Wine with a display of its own (Xvfb), where
# Direct3D 11 works on Mesa. Sourced by scripts/check.sh. Its fast part is core, frameworks and the GPU device over PoCL: at most 15 minutes on two
# idle cores, with packages installed. With TENON_VARIANTS=all, as in ./dev check --all, the rest too, and each test of the GPU device and of
# the conformance suite instead of today's eighth. TENON_WINDOWS_TARGETS names targets to build and test instead.

PACKAGES_WINDOWS=(g++-mingw-w64-x86-64-posix wine64 xvfb xauth googletest libgl1-mesa-dri nlohmann-json3-dev libxxhash-dev opencl-c-headers pocl-opencl-icd
  cmake ninja-build pkg-config)
# Libraries that Debian has no package of for Windows are built from its source packages.
SOURCES_WINDOWS=(pugixml)
WINDOWS_FAST=(core_test dlopen_state_test store_test cpu_test null_test dlpack_test d3d11_test opencl_test d3d11_opencl_test conformance_test
  gpu_device_test device_conformance_test gpu_lowering_test)
WINDOWS_REST=(graph_test planning_test runtime_test)

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

# Starts a display, whose process is WINDOWS_XVFB.
windows_display() {
  local number=""
  rm -f build/windows-display
  mkfifo build/windows-display || return 1
  Xvfb -displayfd 3 -screen 0 640x480x24 -nolisten tcp 3>build/windows-display >build/windows-Xvfb.log 2>&1 &
  WINDOWS_XVFB=$!
  read -r -t 60 number <build/windows-display
  [ -n "$number" ] && export DISPLAY=":$number" || { echo "check: Xvfb does not start:" >&2; cat build/windows-Xvfb.log >&2; return 1; }
}

# windows_build TARGETS...: goes on behind what fails, so that one run shows all of it.
windows_build() {
  # Compiled quickly, as CI does it: what Wine runs is asked whether it is right.
  local -x TENON_QUICK=ON
  configure windows && build windows "$@" -- -k 0
}

# Reads what a test prints, and says every 30 s how far it is, also while one takes long.
windows_progress() {
  local line total="?" ended=0 at="" said=$SECONDS code
  while true; do
    code=0; IFS= read -r -t 10 line || code=$?
    if [ "$code" = 0 ]; then
      case "$line" in
        "[==========] Running "*) total=${line#*Running }; total=${total%% *} ;;
        "[ RUN "*) at=${line#*] }; at=${at%$'\r'} ;;
        "[       OK ]"*" ms)"* | "[  FAILED  ]"*" ms)"* | "[  SKIPPED ]"*" ms)"*) ended=$((ended + 1)) ;;
      esac
    elif [ "$code" -le 128 ]; then break; fi  # Above 128: the read only timed out.
    if [ $((SECONDS - said)) -ge 30 ]; then said=$SECONDS; echo "    $ended of $total, at $at"; fi
  done
}

# windows_test NAME: runs it, and prints the counts of its tests. False where one failed, it did not end, or none passed.
windows_test() {
  local name=$1 log=build/windows-$1.log began=$SECONDS code=0 limit=${TENON_WINDOWS_TIMEOUT:-900} passed shards=()
  # This one is fast on Linux, and takes ten minutes under Wine.
  [ "$name" != conformance_test ] || [ "$eighth" = all ] || shards=(GTEST_TOTAL_SHARDS=8 GTEST_SHARD_INDEX="$eighth")
  # shellcheck disable=SC2046  # Settings, one a word.
  (set -o pipefail; env $(kernel_options build/windows) "${shards[@]}" timeout -k 10 "$limit" scripts/windows_run.sh "build/windows/tests/$name.exe" 2>&1 |
    tee "$log" | windows_progress) || code=$?
  sed -i 's/\r$//' "$log"
  windows_count() { sed -nE "s/^\[ +$1 +\] ([0-9]+) tests?.*/\1/p" "$log" | head -1; }
  passed=$(windows_count PASSED)
  printf '%-24s %5s passed %4s skipped %4s failed %5d s\n' "$name" "${passed:-0}" "$(windows_count SKIPPED || true)" "$(windows_count FAILED || true)" $((SECONDS - began))
  [ "$code" = 0 ] && [ "${passed:-0}" -gt 0 ] && return
  if [ "$code" = 124 ] || [ "$code" = 137 ]; then echo "  it did not end within $limit s, but was at: $(grep -F '[ RUN' "$log" | tail -1)"; fi
  grep -E '^\[ +FAILED|Failure|rror:' "$log" | head -40 || true
  [ -n "$passed" ] || tail -5 "$log"
  return 1
}

check_windows() {
  local targets test failed=0 began=$SECONDS eighth
  eighth=$(share_of_today)
  targets=("${WINDOWS_FAST[@]}")
  [ "$eighth" = all ] && targets+=("${WINDOWS_REST[@]}") || SUMMARY+=("skipped      all but the fast part under Wine (TENON_VARIANTS=all)")
  [ -z "${TENON_WINDOWS_TARGETS:-}" ] || read -r -a targets <<<"$TENON_WINDOWS_TARGETS"
  apt_install "${PACKAGES_WINDOWS[@]}" && windows_root || return 1
  echo "packages and libraries: $((SECONDS - began)) s"
  began=$SECONDS
  windows_build "${targets[@]}" || failed=1
  echo "the build: $((SECONDS - began)) s"
  # As ctest would set them; paths of Linux are on drive Z.
  local lib="Z:$PWD/build/windows/lib" tests="Z:$PWD/build/windows/tests"
  export TENON_SOURCE_DIR="Z:$PWD" TENON_STATE_MODULES="$tests/libtenon_state_module_1.dll;$tests/libtenon_state_module_2.dll"
  export TENON_DEVICE_PATH="$lib;$lib/examples" TENON_EIGHTH="${eighth/all/}"
  began=$SECONDS
  windows_display || return 1
  # Makes Wine's folder, which takes a while, and names the version that the guide speaks of.
  echo "Wine: $(scripts/windows_run.sh cmd /c ver 2>/dev/null | tr -d '\r\n'), $((SECONDS - began)) s"
  for test in "${targets[@]}"; do
    [ ! -f "build/windows/tests/$test.exe" ] || windows_test "$test" || failed=1
  done
  kill "$WINDOWS_XVFB"
  return $failed
}
