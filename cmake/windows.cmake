# SPDX-License-Identifier: Apache-2.0
# Toolchain: programs for Windows, compiled by MinGW-w64 on Linux. scripts/check_windows.sh puts the libraries for Windows that Debian has no
# packages of into TENON_WINDOWS_ROOT; scripts/windows_run.sh runs programs by Wine.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
# The variant with POSIX threads: the other has no std::thread.
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
get_filename_component(root "${CMAKE_CURRENT_LIST_DIR}/../build/windows-root" ABSOLUTE)
set(TENON_WINDOWS_ROOT "${root}" CACHE PATH "Libraries for Windows that Debian has no packages of")
set(CMAKE_FIND_ROOT_PATH "${TENON_WINDOWS_ROOT}" /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# Not the libraries of the machine that compiles.
set(ENV{PKG_CONFIG_LIBDIR} "${TENON_WINDOWS_ROOT}/lib/pkgconfig")
set(CMAKE_CROSSCOMPILING_EMULATOR "${CMAKE_CURRENT_LIST_DIR}/../scripts/windows_run.sh")
# Windows 10.
set(CMAKE_C_FLAGS_INIT "-D_WIN32_WINNT=0x0A00")
# g++ puts vectors of 32 bytes on a stack whose frames begin at multiples of 16 there (GCC bug 54412) and moves them by instructions that take
# aligned addresses alone; the assembler replaces these.
set(CMAKE_CXX_FLAGS_INIT "-D_WIN32_WINNT=0x0A00 -Wa,-muse-unaligned-vector-move")
