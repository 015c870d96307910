// SPDX-License-Identifier: Apache-2.0
// The kernel interface of frameworks/v4l2: the calls, which tests can make fail or answer themselves.
#pragma once

#include <fcntl.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/types.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace v4l2::native {

/// What stands behind device nodes: the kernel, or a driver that a test plays.
struct Driver {
  int (*open)(const char* path);
  int (*ioctl)(int fd, unsigned long request, void* argument);
  void* (*mmap)(int fd, std::size_t size_bytes, std::uint64_t offset);
  int (*poll)(struct pollfd* entries, nfds_t count, int timeout_ms);
};

inline const Driver kKernel{
    [](const char* path) { return ::open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC); },
    [](int fd, unsigned long request, void* argument) { return ::ioctl(fd, request, argument); },
    [](int fd, std::size_t size, std::uint64_t offset) {
      return ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(offset));
    },
    ::poll};

/// For tests: the driver that answers, and `fault`, which is asked before each call with the name that errors carry; the
/// errno that it returns replaces the call, 0 lets it proceed.
TENON_API inline std::atomic<const Driver*> driver{&kKernel};
using Fault = int (*)(const char* call);
TENON_API inline std::atomic<Fault> fault{nullptr};

bool faulted(const char* call);
const char* name(unsigned long request);
int open(const char* path);
/// @return 0 or the errno. Calls that a signal interrupted are repeated: the device is not blocking.
template <typename Argument>
inline int ioctl(int fd, unsigned long request, Argument* argument) {
  if (faulted(name(request))) return errno;
  while (driver.load()->ioctl(fd, request, argument) != 0)
    if (errno != EINTR) return errno;
  return 0;
}
void* mmap(int fd, std::size_t size_bytes, std::uint64_t offset);
int poll(struct pollfd* entries, nfds_t count, int timeout_ms);
Code code_of(int error);

/// What a user can do about it; empty when the code says it all.
const char* remedy_of(int error);

[[noreturn]] void fail(Code code, const std::string& what, const char* call, int error);
/// Throws what `error` (an errno) means. @param what  The device and what was attempted.
[[noreturn]] void fail(const std::string& what, const char* call, int error);
/// As ioctl(), but throws.
template <typename Argument>
inline void require(int fd, unsigned long request, Argument* argument, const std::string& what) {
  if (const int error = ioctl(fd, request, argument)) fail(what, name(request), error);
}

}  // namespace v4l2::native
}  // namespace v1
}  // namespace tenon
