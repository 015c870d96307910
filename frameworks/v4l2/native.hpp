// SPDX-License-Identifier: Apache-2.0
// The kernel interface of frameworks/v4l2: the calls, which tests can make fail or answer themselves.
#pragma once

#include <fcntl.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <system_error>

#include <tenon/core/error.hpp>
#include <tenon/core/policy.hpp>

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

/// For tests: who answers, and `fault`, which is asked before each call with the name that errors carry; the errno that
/// it returns replaces the call, 0 lets it proceed.
inline std::atomic<const Driver*> driver{&kKernel};
using Fault = int (*)(const char* call);
inline std::atomic<Fault> fault{nullptr};

inline bool faulted(const char* call) {
  const Fault ask = fault.load(std::memory_order_relaxed);
  if (!ask) return false;
  const int error = ask(call);
  if (error == 0) return false;
  errno = error;
  return true;
}

inline const char* name(unsigned long request) {
  switch (request) {
    case VIDIOC_QUERYCAP:
      return "ioctl(VIDIOC_QUERYCAP)";
    case VIDIOC_ENUM_FMT:
      return "ioctl(VIDIOC_ENUM_FMT)";
    case VIDIOC_ENUM_FRAMESIZES:
      return "ioctl(VIDIOC_ENUM_FRAMESIZES)";
    case VIDIOC_ENUM_FRAMEINTERVALS:
      return "ioctl(VIDIOC_ENUM_FRAMEINTERVALS)";
    case VIDIOC_G_FMT:
      return "ioctl(VIDIOC_G_FMT)";
    case VIDIOC_S_FMT:
      return "ioctl(VIDIOC_S_FMT)";
    case VIDIOC_TRY_FMT:
      return "ioctl(VIDIOC_TRY_FMT)";
    case VIDIOC_G_PARM:
      return "ioctl(VIDIOC_G_PARM)";
    case VIDIOC_S_PARM:
      return "ioctl(VIDIOC_S_PARM)";
    case VIDIOC_REQBUFS:
      return "ioctl(VIDIOC_REQBUFS)";
    case VIDIOC_CREATE_BUFS:
      return "ioctl(VIDIOC_CREATE_BUFS)";
    case VIDIOC_QUERYBUF:
      return "ioctl(VIDIOC_QUERYBUF)";
    case VIDIOC_EXPBUF:
      return "ioctl(VIDIOC_EXPBUF)";
    case VIDIOC_QBUF:
      return "ioctl(VIDIOC_QBUF)";
    case VIDIOC_DQBUF:
      return "ioctl(VIDIOC_DQBUF)";
    case VIDIOC_STREAMON:
      return "ioctl(VIDIOC_STREAMON)";
    case VIDIOC_STREAMOFF:
      return "ioctl(VIDIOC_STREAMOFF)";
    case VIDIOC_SUBSCRIBE_EVENT:
      return "ioctl(VIDIOC_SUBSCRIBE_EVENT)";
    case VIDIOC_DQEVENT:
      return "ioctl(VIDIOC_DQEVENT)";
    case VIDIOC_QUERY_EXT_CTRL:
      return "ioctl(VIDIOC_QUERY_EXT_CTRL)";
    case VIDIOC_QUERYMENU:
      return "ioctl(VIDIOC_QUERYMENU)";
    case VIDIOC_G_EXT_CTRLS:
      return "ioctl(VIDIOC_G_EXT_CTRLS)";
    case VIDIOC_S_EXT_CTRLS:
      return "ioctl(VIDIOC_S_EXT_CTRLS)";
    case VIDIOC_ENUMINPUT:
      return "ioctl(VIDIOC_ENUMINPUT)";
    case VIDIOC_G_INPUT:
      return "ioctl(VIDIOC_G_INPUT)";
    case VIDIOC_S_INPUT:
      return "ioctl(VIDIOC_S_INPUT)";
    case VIDIOC_QUERY_DV_TIMINGS:
      return "ioctl(VIDIOC_QUERY_DV_TIMINGS)";
    case VIDIOC_S_DV_TIMINGS:
      return "ioctl(VIDIOC_S_DV_TIMINGS)";
    default:
      return "ioctl";
  }
}

inline int open(const char* path) { return faulted("open") ? -1 : driver.load()->open(path); }
/// @return 0 or the errno. Calls that a signal interrupted are repeated: the device is not blocking.
template <typename Argument>
inline int ioctl(int fd, unsigned long request, Argument* argument) {
  if (faulted(name(request))) return errno;
  while (driver.load()->ioctl(fd, request, argument) != 0)
    if (errno != EINTR) return errno;
  return 0;
}
inline void* mmap(int fd, std::size_t size_bytes, std::uint64_t offset) {
  return faulted("mmap") ? MAP_FAILED : driver.load()->mmap(fd, size_bytes, offset);
}
inline int poll(struct pollfd* entries, nfds_t count, int timeout_ms) {
  return faulted("poll") ? -1 : driver.load()->poll(entries, count, timeout_ms);
}

inline Code code_of(int error) {
  switch (error) {
    case ENODEV:
    case ENXIO:
    case EBUSY:
    case ENOLINK:
    case ENOLCK:
    case EIO:
      return Code::kUnavailable;
    case ENOENT:
      return Code::kNotFound;
    case EACCES:
    case EPERM:
      return Code::kPermissionDenied;
    case ENOMEM:
    case EMFILE:
    case ENFILE:
      return Code::kResourceExhausted;
    case EINVAL:
    case ERANGE:
    case EDOM:
      return Code::kInvalidArgument;
    case ENOTTY:
      return Code::kUnimplemented;
    default:
      return Code::kInternal;
  }
}

/// What a user can do about it; empty when the code says it all.
inline const char* remedy_of(int error) {
  switch (error) {
    case ENODEV:
    case ENXIO:
      return "; it was unplugged, or its driver was unloaded";
    case EBUSY:
      return "; another program or another object of this one uses it: close that first";
    case EACCES:
    case EPERM:
      return "; its permissions do not allow that (cameras mostly belong to the group video)";
    case EIO:
      return "; the driver or the hardware failed";
    case ENOLINK:
    case ENOLCK:
      return "; there is no signal at its input";
    default:
      return "";
  }
}

[[noreturn]] inline void fail(Code code, const std::string& what, const char* call, int error) {
  throw Error(code, "v4l2: " + what + ": " + std::generic_category().message(error) + remedy_of(error), call, error);
}
/// Throws what `error` (an errno) means. @param what  The device and what was attempted.
[[noreturn]] inline void fail(const std::string& what, const char* call, int error) {
  fail(code_of(error), what, call, error);
}
/// As ioctl(), but throws.
template <typename Argument>
inline void require(int fd, unsigned long request, Argument* argument, const std::string& what) {
  if (const int error = ioctl(fd, request, argument)) fail(what, name(request), error);
}

}  // namespace v4l2::native
}  // namespace v1
}  // namespace tenon
