// SPDX-License-Identifier: Apache-2.0
// Descriptors of open files: the kernel's on POSIX, those of the C run-time library on Windows.
#pragma once

#include <cerrno>

#ifdef _WIN32
#include <fcntl.h>
#include <io.h>
#else
#include <fcntl.h>
#include <unistd.h>
#endif

namespace tenon {
inline namespace v1 {
namespace platform {

#ifdef _WIN32
inline constexpr const char* kDuplicateCall = "_dup";
/// A copy; -1: errno has the reason. Child processes inherit handles only where their maker asks for it.
inline int duplicate_descriptor(int fd) noexcept {
  // The C library may end a program that passes a negative number.
  if (fd < 0) return errno = EBADF, -1;
  return ::_dup(fd);
}
inline void close_descriptor(int fd) noexcept { ::_close(fd); }
#else
inline constexpr const char* kDuplicateCall = "fcntl(F_DUPFD_CLOEXEC)";
/// A copy; -1: errno has the reason. Child processes inherit handles only where their maker asks for it.
inline int duplicate_descriptor(int fd) noexcept { return ::fcntl(fd, F_DUPFD_CLOEXEC, 0); }
/// Not repeated on EINTR: on Linux the descriptor is closed either way, and another thread may have got its number.
inline void close_descriptor(int fd) noexcept { ::close(fd); }
#endif

}  // namespace platform
}  // namespace v1
}  // namespace tenon
