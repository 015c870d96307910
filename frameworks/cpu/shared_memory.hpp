// SPDX-License-Identifier: Apache-2.0
// Host memory that other processes and devices can share: a sealed memfd.
#pragma once

#include <fcntl.h>
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/frameworks/cpu/fd.hpp>

namespace tenon {
inline namespace v1 {
namespace cpu {

/// Memory behind a memfd, mapped whole. Sealed against shrinking, so that no holder of the descriptor can truncate it
/// and make readers die of SIGBUS. udmabuf requires that seal too.
/// @thread as Memory.
class SharedMemory final : public Memory {
 public:
  /// New zeroed memory of `size_bytes`, rounded up to pages. @errors kInvalidArgument: a size of 0, or past 63 bits;
  /// kResourceExhausted: no memory or descriptors left. Both name the size.
  /// @cost memfd_create, ftruncate, mmap; pages are allocated on first touch (1.4 ms for 3 MB): use a Pool.
  static Ref<SharedMemory> allocate(std::size_t size_bytes, const char* name = "tenon") {
    const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    if (size_bytes == 0 || size_bytes > (std::size_t{1} << 62)) {
      throw Error(Code::kInvalidArgument,
                  "shared memory of " + std::to_string(size_bytes) + " bytes: the size must be 1..2^62");
    }
    const std::size_t size = (size_bytes + page - 1) / page * page;
    UniqueFd fd(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (!fd) fail("memfd_create", size);
    if (::ftruncate(fd.get(), static_cast<off_t>(size)) != 0) fail("ftruncate", size);
    if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0) fail("fcntl(F_ADD_SEALS)", size);
    return mapped(std::move(fd), size, false);
  }

  /// Maps all of a memfd made elsewhere; planes and regions in it are offsets. Takes `fd` over on success only: when
  /// this throws, it is unchanged and still the caller's.
  /// @param size_bytes  Minimum size of the memfd; 0 accepts any.
  /// @errors kInvalidArgument: closed, no memory (a pipe, socket, directory or device), or a file without the shrink
  /// seal, which could be truncated under the mapping; kOutOfRange: smaller than `size_bytes`; kResourceExhausted:
  /// cannot be mapped. A memfd sealed against writing is mapped read-only.
  static Ref<SharedMemory> import(UniqueFd&& fd, std::size_t size_bytes = 0) {
    const std::string what = "import of descriptor " + std::to_string(fd.get());
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) {
      throw Error(Code::kInvalidArgument, what + ": it is not open", "fstat", errno);
    }
    if (!S_ISREG(status.st_mode)) {
      throw Error(Code::kInvalidArgument,
                  what + ": it is a " + type_name(status.st_mode) + ", not memory; pass a memfd");
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
          what +
              ": it is not sealed against shrinking, so its owner could pull the pages away; add F_SEAL_SHRINK first");
    }
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size == 0 || size < size_bytes) {
      throw Error(Code::kOutOfRange, what + ": it holds " + std::to_string(size) + " bytes, " +
                                         std::to_string(std::max<std::size_t>(size_bytes, 1)) + " are needed");
    }
    const bool sealed = (seals & (F_SEAL_WRITE | kSealFutureWrite)) != 0;
    const bool opened_for_reading = (::fcntl(fd.get(), F_GETFL) & O_ACCMODE) == O_RDONLY;
    return mapped(std::move(fd), size, sealed || opened_for_reading);
  }

  ~SharedMemory() override {
    drop_views();
    ::munmap(host(), size_bytes());
  }

  int borrow_fd() const override { return fd_.get(); }
  /// A descriptor for another process or API; closing it does not touch this memory. @errors as UniqueFd::duplicate.
  UniqueFd export_fd() const { return fd_.duplicate(); }

 private:
  static constexpr int kSealFutureWrite = 0x0010;  // F_SEAL_FUTURE_WRITE, Linux 5.1; fcntl.h of older libcs lacks it.

  SharedMemory(const Properties& properties, UniqueFd fd)
      : Memory(host_context(), kCpuMemory, properties), fd_(std::move(fd)) {}

  /// Moves from `fd` only when nothing can fail any more.
  static Ref<SharedMemory> mapped(UniqueFd&& fd, std::size_t size, bool read_only) {
    struct stat status {};
    if (::fstat(fd.get(), &status) != 0) fail("fstat", size);
    void* address = ::mmap(nullptr, size, read_only ? PROT_READ : PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
    if (address == MAP_FAILED) fail("mmap", size);
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

  [[noreturn]] static void fail(const char* call, std::size_t size) {
    const int error = errno;
    throw Error(
        Code::kResourceExhausted,
        "shared memory of " + std::to_string(size) + " bytes cannot be made: " + std::generic_category().message(error),
        call, error);
  }

  static const char* type_name(mode_t mode) {
    if (S_ISFIFO(mode)) return "pipe";
    if (S_ISSOCK(mode)) return "socket";
    if (S_ISDIR(mode)) return "directory";
    if (S_ISCHR(mode)) return "character device";
    if (S_ISBLK(mode)) return "block device";
    return "descriptor of another type";
  }

  UniqueFd fd_;
};

/// Host memory that meets `wanted`: plain, or a memfd when a descriptor is asked for.
/// @errors kUnimplemented: other descriptors (frameworks/dmabuf makes dma-bufs); kResourceExhausted.
inline Ref<Memory> allocate_memory(const Requirements& wanted) {
  const std::size_t size = wanted.size_bytes + wanted.tail_padding;
  if (wanted.fd == FdKind::kNone) return HostMemory::allocate(size, wanted.alignment);
  if (!FdKind::kMemfd.serves(wanted.fd)) {
    throw Error(Code::kUnimplemented, "host memory: a descriptor of kind " + std::string(wanted.fd.name()) +
                                          " was asked for; allocate it with the framework that makes them "
                                          "(frameworks/dmabuf for dma-bufs), or accept a memfd");
  }
  if (wanted.alignment > static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
    throw Error(Code::kUnimplemented, "host memory: a memfd aligned to " + std::to_string(wanted.alignment) +
                                          " bytes was asked for; mappings are aligned to pages");
  }
  return SharedMemory::allocate(std::max<std::size_t>(size, 1));
}

}  // namespace cpu
}  // namespace v1
}  // namespace tenon
