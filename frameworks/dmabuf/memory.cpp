// SPDX-License-Identifier: Apache-2.0
// Imports and allocations of dma-bufs and their stand-ins.
#include <tenon/frameworks/dmabuf/memory.hpp>

#include <sys/mman.h>
#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/frameworks/cpu/pages.hpp>

namespace tenon {
inline namespace v1 {
namespace dmabuf {
namespace detail {

inline constexpr const char* kHeapFolder = "/dev/dma_heap";
inline constexpr const char* kUdmabufDevice = "/dev/udmabuf";

TENON_INLINE std::size_t whole_pages(std::size_t size_bytes, const char* what) {
  if (size_bytes == 0 || size_bytes > (std::size_t{1} << 62)) {
    throw Error(Code::kInvalidArgument, std::string("dmabuf: ") + what + " of " + std::to_string(size_bytes) +
                                            " bytes: the size must be 1..2^62");
  }
  return (size_bytes + cpu::page_bytes() - 1) / cpu::page_bytes() * cpu::page_bytes();
}

TENON_INLINE bool is_dmabuf(int fd) {
  native::Sync nothing{0};
  constexpr const char* kCall = "ioctl(DMA_BUF_IOCTL_SYNC)";
  if (native::ioctl(fd, native::kIoctlSync, &nothing, kCall) == 0 || errno == EINVAL) return true;
  if (errno == ENOTTY) return false;
  if (errno == EBADF) native::fail(Code::kInvalidArgument, "descriptor " + std::to_string(fd), kCall, errno);
  native::fail(Code::kInternal, "asking what descriptor " + std::to_string(fd) + " is", kCall, errno);
}

TENON_INLINE const char* type_name(mode_t mode) {
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISCHR(mode)) return "a character device";
  if (S_ISBLK(mode)) return "a block device";
  return nullptr;
}

/// Checks a memfd for use as a stand-in. @errors kInvalidArgument: a file on disk, or unsealed.
TENON_INLINE void inspect_memfd(int fd, const struct stat& status, const std::string& what, Memory::Properties& found) {
  constexpr int kSealFutureWrite = 0x0010;  // Linux 5.1; fcntl.h of older libcs lacks it.
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0) {
    throw Error(Code::kInvalidArgument,
                what + ": it is neither a dma-buf nor a memfd, so its bytes could be truncated under a mapping",
                "fcntl(F_GET_SEALS)", errno);
  }
  if (!(seals & F_SEAL_SHRINK)) {
    throw Error(Code::kInvalidArgument,
                what +
                    ": it is a memfd that is not sealed against shrinking, so its owner could pull the pages away; "
                    "add F_SEAL_SHRINK first");
  }
  found.size_bytes = static_cast<std::size_t>(status.st_size);
  found.fd = FdKind::kMemfd;
  found.read_only = (seals & (F_SEAL_WRITE | kSealFutureWrite)) != 0;
}

TENON_INLINE Found inspect(int fd, std::size_t size_bytes) {
  const std::string what = "dmabuf: import of descriptor " + std::to_string(fd);
  struct stat status {};
  if (native::fstat(fd, &status) != 0) {
    const int error = errno;
    throw Error(error == EBADF ? Code::kInvalidArgument : Code::kInternal,
                what + (error == EBADF ? ": it is not open" : ": it cannot be looked at"), "fstat", error);
  }
  if (const char* type = type_name(status.st_mode)) {
    throw Error(Code::kInvalidArgument, what + ": it is " + type + ", not memory; pass a dma-buf or a sealed memfd");
  }
  Found found;
  found.stand_in = !is_dmabuf(fd);
  if (found.stand_in) {
    inspect_memfd(fd, status, what, found.properties);
  } else {
    const off_t end = native::seek_end(fd);  // fstat gives 0 for a dma-buf.
    if (end < 0)
      native::fail(Code::kInternal, "asking descriptor " + std::to_string(fd) + " for its size", "lseek", errno);
    found.properties.size_bytes = static_cast<std::size_t>(end);
    found.properties.fd = FdKind::kDmabuf;
  }
  const std::size_t size = found.properties.size_bytes;
  if (size == 0 || size < size_bytes) {
    throw Error(Code::kOutOfRange, what + ": it holds " + std::to_string(size) + " bytes, " +
                                       std::to_string(std::max<std::size_t>(size_bytes, 1)) + " are needed");
  }
  if ((::fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY) found.properties.read_only = true;
  found.properties.identity = {MemoryIdentity::Kind::kInode, static_cast<std::uint64_t>(status.st_dev),
                               static_cast<std::uint64_t>(status.st_ino)};
  return found;
}

TENON_INLINE void* map_whole(int fd, std::size_t size_bytes, bool read_only) {
  void* address = native::mmap(size_bytes, read_only ? PROT_READ : PROT_READ | PROT_WRITE, fd);
  if (address != MAP_FAILED) return address;
  native::fail(errno == ENOMEM ? Code::kResourceExhausted : Code::kFailedPrecondition,
               "mapping " + std::to_string(size_bytes) + " bytes of descriptor " + std::to_string(fd) +
                   " for the CPU (its exporter may not allow that)",
               "mmap", errno);
}

}  // namespace detail

TENON_INLINE Ref<DmabufMemory> DmabufMemory::import(const Context& context, UniqueFd&& fd, std::size_t size_bytes,
                                                    std::uint64_t modifier) {
  detail::Found found = detail::inspect(fd.get(), size_bytes);
  found.properties.modifier = modifier;
  Ref<DmabufMemory> memory(new DmabufMemory(context, found.properties));
  memory->fd_ = std::move(fd);
  return memory;
}

TENON_INLINE Ref<DmabufMemory> DmabufMemory::import_mapped(const Context& context, UniqueFd&& fd,
                                                           std::size_t size_bytes) {
  detail::Found found = detail::inspect(fd.get(), size_bytes);
  const std::size_t size = found.properties.size_bytes;
  found.properties.host = detail::map_whole(fd.get(), size, found.properties.read_only);
  auto* made = new (std::nothrow) DmabufMemory(context, found.properties);
  if (!made) {
    ::munmap(found.properties.host, size);
    throw Error(Code::kResourceExhausted, "dmabuf: no host memory left");
  }
  made->fd_ = std::move(fd);
  return Ref<DmabufMemory>(made);
}

TENON_INLINE DmabufMemory::~DmabufMemory() {
  drop_views();
  if (host()) ::munmap(host(), size_bytes());
}

TENON_INLINE std::string Allocator::name() const {
  if (kind == Kind::kStandIn) return "memfd stand-in";
  if (kind == Kind::kUdmabuf) return "udmabuf";
  return "heap:" + device.substr(device.rfind('/') + 1);
}

namespace detail {

TENON_INLINE std::vector<std::string> heap_devices() {
  std::vector<std::string> found;
  if (DIR* folder = ::opendir(kHeapFolder)) {
    while (const dirent* entry = ::readdir(folder)) {
      if (entry->d_name[0] != '.') found.push_back(std::string(kHeapFolder) + "/" + entry->d_name);
    }
    ::closedir(folder);
  }
  // The system heap serves every size, so it comes first; heaps reserved for devices follow in a fixed order.
  std::sort(found.begin(), found.end(), [](const std::string& a, const std::string& b) {
    const bool a_system = a.ends_with("/system"), b_system = b.ends_with("/system");
    return a_system != b_system ? a_system : a < b;
  });
  return found;
}

/// Opens an allocator's device. @errors kUnavailable: not there; kPermissionDenied.
TENON_INLINE UniqueFd open_device(const std::string& device, int flags) {
  UniqueFd fd(native::open(device.c_str(), flags));
  if (fd) return fd;
  native::fail(errno == EACCES || errno == EPERM ? Code::kPermissionDenied : Code::kUnavailable, "opening " + device,
               "open", errno);
}

TENON_INLINE UniqueFd allocate_heap(const std::string& device, std::size_t size) {
  // A heap allocates page after page without any limit: the kernel would kill processes before it fails.
  const std::size_t memory = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) * cpu::page_bytes();
  if (size > memory) {
    throw Error(Code::kResourceExhausted, "dmabuf: " + std::to_string(size) + " bytes from " + device +
                                              ": this machine has " + std::to_string(memory));
  }
  const UniqueFd heap = open_device(device, O_RDONLY);
  native::HeapAllocation request{size, 0, O_RDWR | O_CLOEXEC, 0};
  constexpr const char* kCall = "ioctl(DMA_HEAP_IOCTL_ALLOC)";
  if (native::ioctl_until(default_deadline(), heap.get(), native::kIoctlHeapAllocate, &request, kCall) != 0)
    native::fail(Code::kResourceExhausted, std::to_string(size) + " bytes from " + device, kCall, errno);
  return UniqueFd(static_cast<int>(request.fd));
}

TENON_INLINE UniqueFd sealed_memfd(std::size_t size) {
  const std::string what = "a memfd of " + std::to_string(size) + " bytes";
  UniqueFd fd(native::memfd_create("tenon-dmabuf"));
  if (!fd) native::fail(Code::kResourceExhausted, what, "memfd_create", errno);
  if (native::ftruncate(fd.get(), size) != 0) native::fail(Code::kResourceExhausted, what, "ftruncate", errno);
  if (native::add_seals(fd.get(), F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    native::fail(Code::kResourceExhausted, what, "fcntl(F_ADD_SEALS)", errno);
  return fd;
}

TENON_INLINE UniqueFd udmabuf_over(int memfd, std::size_t size) {
  const UniqueFd device = open_device(kUdmabufDevice, O_RDWR);
  native::UdmabufCreate request{static_cast<std::uint32_t>(memfd), native::kUdmabufCloexec, 0, size};
  constexpr const char* kCall = "ioctl(UDMABUF_CREATE)";
  for (const Deadline deadline = default_deadline();;) {
    // Returns the descriptor itself, unlike the other ioctls.
    const int made = native::ioctl(device.get(), native::kIoctlUdmabufCreate, &request, kCall);
    if (made >= 0) return UniqueFd(made);
    if ((errno != EINTR && errno != EAGAIN) || Clock::now() >= deadline) break;
  }
  native::fail(Code::kFailedPrecondition,
               "a dma-buf over a memfd of " + std::to_string(size) +
                   " bytes (it must be sealed against shrinking, not against writing, and fit udmabuf's size_limit_mb)",
               kCall, errno);
}

TENON_INLINE bool has_udmabuf() {
  static const bool found = static_cast<bool>(UniqueFd(::open(kUdmabufDevice, O_RDWR | O_CLOEXEC)));
  return found;
}

TENON_INLINE UniqueFd allocate_fd(const Allocator& allocator, std::size_t size_bytes) {
  const std::size_t size = whole_pages(size_bytes, "an allocation");
  if (allocator.kind == Allocator::Kind::kHeap) return allocate_heap(allocator.device, size);
  UniqueFd memfd = sealed_memfd(size);
  if (allocator.kind == Allocator::Kind::kStandIn) return memfd;
  return udmabuf_over(memfd.get(), size);  // The dma-buf keeps the pages, so the memfd may be closed.
}

}  // namespace detail

TENON_INLINE std::vector<Allocator> allocators() {
  std::vector<Allocator> found;
  for (const std::string& heap : detail::heap_devices()) {
    if (UniqueFd(native::open(heap.c_str(), O_RDONLY))) found.push_back({Allocator::Kind::kHeap, heap});
  }
  if (UniqueFd(native::open(detail::kUdmabufDevice, O_RDWR)))
    found.push_back({Allocator::Kind::kUdmabuf, detail::kUdmabufDevice});
  found.push_back({Allocator::Kind::kStandIn, {}});
  return found;
}

}  // namespace dmabuf
}  // namespace v1
}  // namespace tenon
