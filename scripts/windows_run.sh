#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# windows_run.sh PROGRAM.exe [ARGUMENTS]: runs a program for Windows by Wine, with the libraries of its build and of the compiler.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")/..
build=${TENON_WINDOWS_BUILD:-$here/build/windows}
export WINEPREFIX=${WINEPREFIX:-$here/build/wine} WINEDEBUG=${WINEDEBUG:--all} WINEARCH=win64
folders="$build/bin;$build/lib;$here/build/windows-root/bin"
for library in libstdc++-6.dll libgcc_s_seh-1.dll libwinpthread-1.dll; do
  folder=$(dirname "$(x86_64-w64-mingw32-g++-posix -print-file-name="$library")")
  [ "$folder" = . ] && folder=/usr/x86_64-w64-mingw32/lib
  folders="$folders;$folder"
done
# Drive Z is the root folder of Linux.
WINEPATH=$(sed 's|^|Z:|; s|;|;Z:|g; s|/|\\|g' <<<"$folders") exec "$(command -v wine64 || command -v wine || echo /usr/lib/wine/wine64)" "$@"
