#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packs a build tree into CPack's archive, unpacks and moves that, and uses it where neither build nor clone is visible: run.sh BUILD_DIR
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
top=$(cd "$here/../.." && pwd -P)
build=$(readlink -f "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cpack --config "$build/CPackConfig.cmake" -G TGZ -B "$work/packed" >"$work/install.log" 2>&1 || { tail "$work/install.log"; exit 1; }
tar -C "$work" -xf "$work"/packed/tenon-*.tar.gz
rm -rf "$work/packed"
mv "$work"/tenon-* "$work/prefix"
mkdir "$work/in"
cp -r "$here/consumer" "$here/moved.sh" "$top/models/demo.onnx" "$top/models/demo.mp4" "$top/examples/c_infer/c_infer.c" "$work/in"
[ ! -d "$top/compat/dlstreamer" ] || cp -r "$top/compat/dlstreamer/consumer" "$work/in/dlstreamer"
[ ! -d "$top/compat/openvino" ] || cp -r "$top/compat/openvino/consumer" "$work/in/openvino"
ffmpeg -v error -nostdin -t 1 -i "$work/in/demo.mp4" -c copy "$work/in/short.mp4" || cp "$work/in/demo.mp4" "$work/in/short.mp4"
python3 "$here/readme.py" "$top/README.md" "$work/in/readme"
# Must not be needed: the clone, the build, and the Python packages, which may lie elsewhere.
hidden=("$top" "$build")
[ ! -e "$top/build/venv" ] || hidden+=("$(readlink -f "$top/build/venv")")

# Nothing installed contains a path of the build: not where the loader looks, and not where CMake or pkg-config do.
cd "$work"
inside() { HIDDEN=$(printf '%s\n' "${hidden[@]}") awk 'BEGIN {n = split(ENVIRON["HIDDEN"], h, "\n")} {for (i = 1; i <= n; i++) if (h[i] != "" && index($0 "/", h[i] "/") == 1) print}'; }
python3 "$here/loader_paths.py" prefix
# A program that takes a function of the C++ library from ours would not start with a build that has inlined it.
found=$(find prefix -name 'libtenon_*.so.*' -type f -exec nm -D --defined-only {} + | grep -E ' [TW] _Z(N|NK)?S[tas]' || true)
[ -z "$found" ] || { echo "install: libraries export functions of the C++ library: $(head -3 <<<"$found")"; exit 1; }
while read -r file; do
  [ "$(head -c 4 "$file")" = $'\x7fELF' ] || continue  # A linker script.
  found=$(readelf -d "$file" 2>/dev/null | sed -nE 's/.*\((RPATH|RUNPATH)\).*\[(.*)\]/\2/p' | tr ':' '\n' | inside)
  [ -z "$found" ] || { echo "install: the loader would look in the build for what $file needs: $found"; exit 1; }
done < <(find prefix -type f \( -name '*.so*' -o -path '*/bin/*' \))
found=$(grep -rohE --include='*.cmake' --include='*.pc' '(^|[[:space:]"=;:]|-I|-L)/[^"; ]+' prefix | sed -E 's|^[^/]*||' | inside)
[ -z "$found" ] || { echo "install: package files name the build: $found"; exit 1; }

# In a mount namespace, empty folders hide them; nothing outside changes, whatever happens. Without one, the loader
# reports what it loaded.
clean=(env -u LD_LIBRARY_PATH -u LD_PRELOAD -u TENON_DEVICE_PATH -u ZE_ENABLE_ALT_DRIVERS -u PKG_CONFIG_PATH -u CMAKE_PREFIX_PATH)
shell=(bash "$work/in/moved.sh" "$work")
hide='for folder in "${@:2:$1}"; do [ ! -d "$folder" ] || mount -t tmpfs none "$folder" || exit 1; done; exec "${@:$1 + 2}"'
for namespace in "unshare -m" "unshare -rm"; do
  if [[ "$work" != "$top"/* ]] && $namespace bash -c "$hide" hide "${#hidden[@]}" "${hidden[@]}" true 2>/dev/null; then
    "${clean[@]}" $namespace bash -c "$hide" hide "${#hidden[@]}" "${hidden[@]}" "${shell[@]}"
    echo "install: all of this without clone and build"
    exit 0
  fi
done
"${clean[@]}" LD_DEBUG=libs LD_DEBUG_OUTPUT="$work/loaded" "${shell[@]}"
if grep -h 'calling init' "$work"/loaded.* | grep -F "${hidden[@]/#/-e}" | sort -u | head -5 | grep .; then
  echo "install: these were loaded out of the clone or the build"; exit 1
fi
echo "install: all of this without a library of the clone or the build (no namespace could be had to hide them)"
