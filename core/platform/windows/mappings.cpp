// SPDX-License-Identifier: Apache-2.0
// Views of sections.
#include <tenon/core/platform/mappings.hpp>

#include <tenon/core/platform/windows/api.hpp>

#include <io.h>

#include <tenon/core/page_bytes.hpp>

namespace tenon {
inline namespace v1 {

TENON_INLINE std::size_t page_bytes() noexcept {
  static const auto size = [] {
    SYSTEM_INFO info{};
    ::GetSystemInfo(&info);
    return static_cast<std::size_t>(info.dwPageSize);
  }();
  return size;
}

namespace platform {

TENON_INLINE Failure map_file(int fd, std::size_t size, void*& address) {
  const auto file = reinterpret_cast<HANDLE>(::_get_osfhandle(fd));
  const HANDLE section = ::CreateFileMappingW(file, nullptr, PAGE_READONLY, 0, 0, nullptr);
  if (!section) return {"CreateFileMappingW", static_cast<int>(::GetLastError())};
  void* const mapped = ::MapViewOfFile(section, FILE_MAP_READ, 0, 0, size);
  const auto error = static_cast<int>(::GetLastError());
  ::CloseHandle(section);  // The view keeps the section.
  if (!mapped) return {"MapViewOfFile", error};
  address = mapped;
  return {};
}
TENON_INLINE void unmap(void* address, std::size_t /*size*/) noexcept { ::UnmapViewOfFile(address); }
/// VirtualUnlock removes pages that are not locked from the working set, and says that they were not locked.
TENON_INLINE void drop_pages(void* address, std::size_t size) noexcept { ::VirtualUnlock(address, size); }

}  // namespace platform
}  // namespace v1
}  // namespace tenon
