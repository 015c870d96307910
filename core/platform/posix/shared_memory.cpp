// SPDX-License-Identifier: Apache-2.0
// Memory behind a memfd.
#include <tenon/core/host.hpp>

#include <fcntl.h>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <new>
#include <string>
#include <system_error>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tenon/core/error.hpp>
#include <tenon/core/page_bytes.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

inline constexpr int kSealFutureWrite = 0x0010;  // F_SEAL_FUTURE_WRITE, Linux 5.1; fcntl.h of older libcs lacks it.

[[noreturn]] TENON_INLINE void fail_sharing(const char* call, std::size_t size) {
  const int error = errno;
  throw Error(
      Code::kResourceExhausted,
      "shared memory of " + std::to_string(size) + " bytes cannot be made: " + std::generic_category().message(error),
      call, error);
}

TENON_INLINE const char* file_type_name(mode_t mode) {
  if (S_ISFIFO(mode)) return "pipe";
  if (S_ISSOCK(mode)) return "socket";
  if (S_ISDIR(mode)) return "directory";
  if (S_ISCHR(mode)) return "character device";
  if (S_ISBLK(mode)) return "block device";
  return "descriptor of another type";
}

}  // namespace detail

TENON_INLINE Ref<SharedMemory> SharedMemory::allocate(std::size_t size_bytes, const char* name) {
  const std::size_t page = page_bytes();
  if (size_bytes == 0 || size_bytes > (std::size_t{1} << 62)) {
    throw Error(Code::kInvalidArgument,
                "shared memory of " + std::to_string(size_bytes) + " bytes: the size must be 1..2^62");
  }
  const std::size_t size = (size_bytes + page - 1) / page * page;
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) detail::fail_sharing("memfd_create", size);
  if (::ftruncate(fd.get(), static_cast<off_t>(size)) != 0) detail::fail_sharing("ftruncate", size);
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    detail::fail_sharing("fcntl(F_ADD_SEALS)", size);
  return mapped(std::move(fd), size, false);
}

TENON_INLINE Ref<SharedMemory> SharedMemory::import(UniqueFd&& fd, std::size_t size_bytes) {
  const std::string what = "import of descriptor " + std::to_string(fd.get());
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) {
    throw Error(Code::kInvalidArgument, what + ": it is not open", "fstat", errno);
  }
  if (!S_ISREG(status.st_mode)) {
    throw Error(Code::kInvalidArgument,
                what + ": it is a " + detail::file_type_name(status.st_mode) + ", not memory; pass a memfd");
  }
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  if (seals < 0) {
    throw Error(Code::kInvalidArgument,
                what + ": it is a file on disk, which can be truncated under the mapping; map files with map_file()",
                "fcntl(F_GET_SEALS)", errno);
  }
  if (!(seals & F_SEAL_SHRINK)) {
    throw Error(
        Code::kInvalidArgument,
        what + ": it is not sealed against shrinking, so its owner could pull the pages away; add F_SEAL_SHRINK first");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0 || size < size_bytes) {
    throw Error(Code::kOutOfRange, what + ": it holds " + std::to_string(size) + " bytes, " +
                                       std::to_string(std::max<std::size_t>(size_bytes, 1)) + " are needed");
  }
  const bool sealed = (seals & (F_SEAL_WRITE | detail::kSealFutureWrite)) != 0;
  const bool opened_for_reading = (::fcntl(fd.get(), F_GETFL) & O_ACCMODE) == O_RDONLY;
  return mapped(std::move(fd), size, sealed || opened_for_reading);
}

TENON_INLINE SharedMemory::~SharedMemory() {
  drop_views();
  ::munmap(host(), size_bytes());
}

/// Moves from `fd` only when nothing can fail any more.
TENON_INLINE Ref<SharedMemory> SharedMemory::mapped(UniqueFd&& fd, std::size_t size, bool read_only) {
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) detail::fail_sharing("fstat", size);
  void* address = ::mmap(nullptr, size, read_only ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (address == MAP_FAILED) detail::fail_sharing("mmap", size);
  Properties properties;
  properties.size_bytes = size;
  properties.host = address;
  properties.read_only = read_only;
  properties.fd = FdKind::kMemfd;
  properties.identity = {MemoryIdentity::Kind::kInode, static_cast<std::uint64_t>(status.st_dev),
                         static_cast<std::uint64_t>(status.st_ino)};
  auto* memory = new (std::nothrow) SharedMemory(properties, UniqueFd());
  if (!memory) {
    ::munmap(address, size);
    throw Error(Code::kResourceExhausted, "shared memory: no host memory left");
  }
  memory->fd_ = std::move(fd);
  return Ref<SharedMemory>(memory);
}

}  // namespace v1
}  // namespace tenon
