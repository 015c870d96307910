// SPDX-License-Identifier: Apache-2.0
// mmap and its kin.
#include <tenon/core/platform/mappings.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include <tenon/core/page_bytes.hpp>

namespace tenon {
inline namespace v1 {

TENON_INLINE std::size_t page_bytes() noexcept {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

namespace platform {

TENON_INLINE Failure map_file(int fd, std::size_t size, void*& address) {
  void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (mapped == MAP_FAILED) return {"mmap", errno};
  address = mapped;
  return {};
}
TENON_INLINE void unmap(void* address, std::size_t size) noexcept { ::munmap(address, size); }
TENON_INLINE void drop_pages(void* address, std::size_t size) noexcept { ::madvise(address, size, MADV_DONTNEED); }

}  // namespace platform
}  // namespace v1
}  // namespace tenon
