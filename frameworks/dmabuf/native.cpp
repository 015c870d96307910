// SPDX-License-Identifier: Apache-2.0
// The kernel's calls, each of which a test can make fail.
#include <tenon/frameworks/dmabuf/native.hpp>

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <tenon/core/export.hpp>
#include <tenon/frameworks/cpu/posix/poll.hpp>

namespace tenon {
inline namespace v1 {
namespace dmabuf::native {

TENON_INLINE bool faulted(const char* call) {
  const Fault ask = fault.load(std::memory_order_relaxed);
  if (!ask) return false;
  const int error = ask(call);
  if (error == 0) return false;
  errno = error;
  return true;
}
TENON_INLINE int open(const char* path, int flags) { return faulted("open") ? -1 : ::open(path, flags | O_CLOEXEC); }
TENON_INLINE int ioctl(int fd, unsigned long request, void* argument, const char* call) {
  return faulted(call) ? -1 : ::ioctl(fd, request, argument);
}
TENON_INLINE int fstat(int fd, struct stat* status) { return faulted("fstat") ? -1 : ::fstat(fd, status); }
TENON_INLINE off_t seek_end(int fd) { return faulted("lseek") ? -1 : ::lseek(fd, 0, SEEK_END); }
TENON_INLINE int memfd_create(const char* name) {
  return faulted("memfd_create") ? -1 : ::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}
TENON_INLINE int ftruncate(int fd, std::size_t size) {
  return faulted("ftruncate") ? -1 : ::ftruncate(fd, static_cast<off_t>(size));
}
TENON_INLINE int add_seals(int fd, int seals) {
  return faulted("fcntl(F_ADD_SEALS)") ? -1 : ::fcntl(fd, F_ADD_SEALS, seals);
}
TENON_INLINE void* mmap(std::size_t size, int protection, int fd) {
  return faulted("mmap") ? MAP_FAILED : ::mmap(nullptr, size, protection, MAP_SHARED, fd, 0);
}
TENON_INLINE int poll(struct pollfd* entries, nfds_t count, int timeout_ms) {
  return faulted("poll") ? -1 : ::poll(entries, count, timeout_ms);
}

TENON_INLINE void fail(Code code, const std::string& what, const char* call, int error) {
  throw Error(code, "dmabuf: " + what + ": " + std::generic_category().message(error), call, error);
}

TENON_INLINE int ioctl_until(Deadline deadline, int fd, unsigned long request, void* argument, const char* call) {
  while (native::ioctl(fd, request, argument, call) != 0) {
    if (errno != EINTR && errno != EAGAIN) return -1;
    if (Clock::now() >= deadline) {
      throw Error(Code::kDeadlineExceeded,
                  "dmabuf: descriptor " + std::to_string(fd) + ": the kernel asked again and again to repeat the call",
                  call, errno);
    }
  }
  return 0;
}

TENON_INLINE bool poll_until(Deadline deadline, int fd, short events) {
  return cpu::poll_until(deadline, fd, events, native::poll);
}

}  // namespace dmabuf::native
}  // namespace v1
}  // namespace tenon
