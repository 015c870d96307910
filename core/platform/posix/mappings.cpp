// SPDX-License-Identifier: Apache-2.0
// mmap and its kin.
#include <tenon/core/platform/mappings.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

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
TENON_INLINE Failure map_part(int fd, std::uint64_t offset, std::size_t size, Writes writes, void*& address) {
  const int flags = writes == Writes::kToFile ? MAP_SHARED : MAP_PRIVATE;
  void* const mapped = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, fd, static_cast<off_t>(offset));
  if (mapped == MAP_FAILED) return {"mmap", errno};
  address = mapped;
  return {};
}
TENON_INLINE std::size_t mapping_granularity() noexcept { return page_bytes(); }
TENON_INLINE void unmap(void* address, std::size_t size) noexcept { ::munmap(address, size); }
TENON_INLINE void drop_pages(void* address, std::size_t size) noexcept { ::madvise(address, size, MADV_DONTNEED); }

TENON_INLINE Failure map_zeros(std::size_t size, void*& address) {
  void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return {"mmap", errno};
  address = mapped;
#ifdef MADV_NOHUGEPAGE
  // With huge pages, one read would look like a read of all neighbours.
  ::madvise(address, size, MADV_NOHUGEPAGE);
#endif
  return {};
}
TENON_INLINE void unmap_zeros(void* address, std::size_t size) noexcept { ::munmap(address, size); }
TENON_INLINE bool were_touched(const void* address, std::size_t size) {
  std::vector<unsigned char> resident((size + page_bytes() - 1) / page_bytes(), 1);
  if (::mincore(const_cast<void*>(address), resident.size() * page_bytes(), resident.data()) != 0) return true;
  return std::any_of(resident.begin(), resident.end(), [](unsigned char page) { return (page & 1) != 0; });
}

}  // namespace platform
}  // namespace v1
}  // namespace tenon
