// SPDX-License-Identifier: Apache-2.0
// Views of sections.
#include <tenon/core/platform/mappings.hpp>

#include <tenon/core/platform/windows/api.hpp>

#include <io.h>
// After windows.h, whose types it uses.
#include <psapi.h>

#include <algorithm>
#include <array>

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

namespace detail {

/// @param protection  The section's. @param access  The view's.
TENON_INLINE Failure map(int fd, DWORD protection, DWORD access, std::uint64_t offset, std::size_t size,
                         void*& address) {
  const auto file = reinterpret_cast<HANDLE>(::_get_osfhandle(fd));
  const HANDLE section = ::CreateFileMappingW(file, nullptr, protection, 0, 0, nullptr);
  if (!section) return {"CreateFileMappingW", static_cast<int>(::GetLastError())};
  void* const mapped =
      ::MapViewOfFile(section, access, static_cast<DWORD>(offset >> 32), static_cast<DWORD>(offset), size);
  const auto error = static_cast<int>(::GetLastError());
  ::CloseHandle(section);  // The view keeps the section.
  if (!mapped) return {"MapViewOfFile", error};
  address = mapped;
  return {};
}

}  // namespace detail

TENON_INLINE Failure map_file(int fd, std::size_t size, void*& address) {
  return detail::map(fd, PAGE_READONLY, FILE_MAP_READ, 0, size, address);
}
TENON_INLINE Failure map_part(int fd, std::uint64_t offset, std::size_t size, Writes writes, void*& address) {
  if (writes == Writes::kPrivate) return detail::map(fd, PAGE_WRITECOPY, FILE_MAP_COPY, offset, size, address);
  return detail::map(fd, PAGE_READWRITE, FILE_MAP_READ | FILE_MAP_WRITE, offset, size, address);
}
TENON_INLINE std::size_t mapping_granularity() noexcept {
  static const auto size = [] {
    SYSTEM_INFO info{};
    ::GetSystemInfo(&info);
    return static_cast<std::size_t>(info.dwAllocationGranularity);
  }();
  return size;
}
TENON_INLINE void unmap(void* address, std::size_t /*size*/) noexcept { ::UnmapViewOfFile(address); }
/// VirtualUnlock removes pages that are not locked from the working set, and says that they were not locked.
TENON_INLINE void drop_pages(void* address, std::size_t size) noexcept { ::VirtualUnlock(address, size); }

TENON_INLINE Failure map_zeros(std::size_t size, void*& address) {
  void* const made = ::VirtualAlloc(nullptr, size, MEM_RESERVE | MEM_COMMIT, PAGE_READONLY);
  if (!made) return {"VirtualAlloc", static_cast<int>(::GetLastError())};
  address = made;
  return {};
}
TENON_INLINE void unmap_zeros(void* address, std::size_t /*size*/) noexcept { ::VirtualFree(address, 0, MEM_RELEASE); }
TENON_INLINE bool were_touched(const void* address, std::size_t size) {
  std::array<PSAPI_WORKING_SET_EX_INFORMATION, 256> pages;
  const std::size_t count = (size + page_bytes() - 1) / page_bytes();
  for (std::size_t first = 0; first < count; first += pages.size()) {
    const std::size_t now = std::min(pages.size(), count - first);
    for (std::size_t i = 0; i < now; ++i)
      pages[i] = {static_cast<char*>(const_cast<void*>(address)) + (first + i) * page_bytes(), {}};
    if (!::K32QueryWorkingSetEx(::GetCurrentProcess(), pages.data(), static_cast<DWORD>(now * sizeof pages[0])))
      return true;
    for (std::size_t i = 0; i < now; ++i)
      if (pages[i].VirtualAttributes.Valid) return true;
  }
  return false;
}

}  // namespace platform
}  // namespace v1
}  // namespace tenon
