// SPDX-License-Identifier: Apache-2.0
// Memory behind a section, and the handles of sections.
#include <tenon/core/host.hpp>

#include <cstdint>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/handle.hpp>
#include <tenon/core/page_bytes.hpp>
#include <tenon/core/platform/windows/api.hpp>

namespace tenon {
inline namespace v1 {
namespace platform {

TENON_INLINE void close_handle(void* handle) noexcept { ::CloseHandle(handle); }

/// A copy in this process of a handle of `owner`.
TENON_INLINE void* copy_handle(HANDLE owner, void* handle, const std::string& whose) {
  void* copy = nullptr;
  // Pseudo-handles (of this process and thread) are negative: no kind of memory.
  const bool may_be_open = reinterpret_cast<std::intptr_t>(handle) > 0;
  if (may_be_open && ::DuplicateHandle(owner, handle, ::GetCurrentProcess(), &copy, 0, FALSE, DUPLICATE_SAME_ACCESS))
    return copy;
  const DWORD error = may_be_open ? ::GetLastError() : ERROR_INVALID_HANDLE;
  const bool is_closed = error == ERROR_INVALID_HANDLE;
  throw Error(is_closed ? Code::kInvalidArgument : Code::kResourceExhausted,
              "NT handle " + std::to_string(UniqueHandle::number_of(handle)) + whose +
                  (is_closed ? ": it is not open" : ": cannot be duplicated; close handles that are not needed"),
              "DuplicateHandle", error);
}

TENON_INLINE void* duplicate_handle(void* handle) { return copy_handle(::GetCurrentProcess(), handle, ""); }

TENON_INLINE void* duplicate_handle_of(std::uint64_t process, int number) {
  const std::string whose = " of process " + std::to_string(process);
  const bool is_id = process <= 0xffffffff;
  const UniqueHandle owner(is_id ? ::OpenProcess(PROCESS_DUP_HANDLE, FALSE, static_cast<DWORD>(process)) : nullptr);
  const DWORD error = is_id ? ::GetLastError() : ERROR_INVALID_PARAMETER;
  if (!owner)
    throw Error(error == ERROR_ACCESS_DENIED ? Code::kPermissionDenied : Code::kNotFound,
                "NT handle " + std::to_string(number) + whose + ": the process cannot be opened, " +
                    std::system_category().message(static_cast<int>(error)),
                "OpenProcess", error);
  return copy_handle(owner.get(), UniqueHandle::from_number(number), whose);
}

}  // namespace platform

namespace detail {

[[noreturn]] TENON_INLINE void fail_sharing(const char* call, std::size_t size, DWORD error) {
  throw Error(Code::kResourceExhausted,
              "shared memory of " + std::to_string(size) +
                  " bytes cannot be made: " + std::system_category().message(static_cast<int>(error)),
              call, error);
}

using CompareObjects = BOOL(WINAPI*)(HANDLE, HANDLE);
/// CompareObjectHandles, of Windows 10.
TENON_INLINE CompareObjects compare_objects() {
  static const auto function = [] {
    const HMODULE library = ::GetModuleHandleW(L"kernelbase.dll");
    return reinterpret_cast<CompareObjects>(
        reinterpret_cast<void*>(library ? ::GetProcAddress(library, "CompareObjectHandles") : nullptr));
  }();
  return function;
}

/// The sections that are mapped in this process. A section has no name of its own, so one that is imported twice is recognised by
/// comparing handles.
struct Sections {
  struct Entry {
    void* handle;
    std::uint64_t serial;
  };
  std::mutex mutex;
  std::vector<Entry> all;
  std::uint64_t last = 0;

  /// The number of a section, new where it is not known yet.
  std::uint64_t add(void* handle) {
    const std::lock_guard lock(mutex);
    std::uint64_t serial = 0;
    if (const CompareObjects same = compare_objects())
      for (const Entry& entry : all)
        if (same(entry.handle, handle)) serial = entry.serial;
    all.push_back({handle, serial ? serial : ++last});
    return all.back().serial;
  }
  void remove(void* handle) noexcept {
    const std::lock_guard lock(mutex);
    std::erase_if(all, [handle](const Entry& entry) { return entry.handle == handle; });
  }
};
TENON_INLINE Sections& sections() {
  static auto& all = *new Sections;  // Static objects may hold memory.
  return all;
}

}  // namespace detail

TENON_INLINE Ref<SharedMemory> SharedMemory::allocate(std::size_t size_bytes, const char* /*name*/) {
  const std::size_t page = page_bytes();
  if (size_bytes == 0 || size_bytes > (std::size_t{1} << 62)) {
    throw Error(Code::kInvalidArgument,
                "shared memory of " + std::to_string(size_bytes) + " bytes: the size must be 1..2^62");
  }
  const std::size_t size = (size_bytes + page - 1) / page * page;
  // Without a name: a name of Windows would let any process open the section, or make it first.
  UniqueHandle section(::CreateFileMappingW(INVALID_HANDLE_VALUE, nullptr, PAGE_READWRITE,
                                            static_cast<DWORD>(size >> 32), static_cast<DWORD>(size), nullptr));
  if (!section) detail::fail_sharing("CreateFileMappingW", size, ::GetLastError());
  return mapped(std::move(section), size, false);
}

TENON_INLINE Ref<SharedMemory> SharedMemory::import(platform::SharedDescriptor&& handle, std::size_t size_bytes) {
  const std::string what = "import of NT handle " + std::to_string(platform::number_of(handle));
  bool read_only = false;
  void* address = handle ? ::MapViewOfFile(handle.get(), FILE_MAP_READ | FILE_MAP_WRITE, 0, 0, 0) : nullptr;
  if (!address && handle && ::GetLastError() == ERROR_ACCESS_DENIED) {
    read_only = true;
    address = ::MapViewOfFile(handle.get(), FILE_MAP_READ, 0, 0, 0);
  }
  if (!address) {
    const DWORD error = handle ? ::GetLastError() : ERROR_INVALID_HANDLE;
    DWORD flags = 0;
    if (!handle || !::GetHandleInformation(handle.get(), &flags))
      throw Error(Code::kInvalidArgument, what + ": it is not open", "MapViewOfFile", error);
    if (error == ERROR_INVALID_HANDLE)
      throw Error(Code::kInvalidArgument,
                  what + ": it is no section; pass a handle of CreateFileMapping, or of SharedMemory::export_fd",
                  "MapViewOfFile", error);
    throw Error(error == ERROR_ACCESS_DENIED ? Code::kPermissionDenied : Code::kResourceExhausted,
                what + ": " + std::system_category().message(static_cast<int>(error)), "MapViewOfFile", error);
  }
  MEMORY_BASIC_INFORMATION info{};
  const bool known = ::VirtualQuery(address, &info, sizeof info) != 0;
  const DWORD error = ::GetLastError();
  ::UnmapViewOfFile(address);
  if (!known) throw Error(Code::kInternal, what + ": its size is unknown", "VirtualQuery", error);
  if (info.RegionSize < size_bytes) {
    throw Error(Code::kOutOfRange, what + ": it holds " + std::to_string(info.RegionSize) + " bytes, " +
                                       std::to_string(size_bytes) + " are needed");
  }
  return mapped(std::move(handle), info.RegionSize, read_only);
}

TENON_INLINE SharedMemory::~SharedMemory() {
  drop_views();
  detail::sections().remove(fd_.get());
  ::UnmapViewOfFile(host());
}

/// Moves from `handle` only when nothing can fail any more.
TENON_INLINE Ref<SharedMemory> SharedMemory::mapped(platform::SharedDescriptor&& handle, std::size_t size,
                                                    bool read_only) {
  void* const address =
      ::MapViewOfFile(handle.get(), read_only ? FILE_MAP_READ : FILE_MAP_READ | FILE_MAP_WRITE, 0, 0, size);
  if (!address) detail::fail_sharing("MapViewOfFile", size, ::GetLastError());
  try {
    Properties properties;
    properties.size_bytes = size;
    properties.host = address;
    properties.read_only = read_only;
    properties.fd = platform::kSharedKind;
    properties.identity = {MemoryIdentity::Kind::kInode, 0, detail::sections().add(handle.get())};
    auto* memory = new SharedMemory(properties, UniqueHandle());
    memory->fd_ = std::move(handle);
    return Ref<SharedMemory>(memory);
  } catch (const std::bad_alloc&) {
    detail::sections().remove(handle.get());
    ::UnmapViewOfFile(address);
    throw Error(Code::kResourceExhausted, "shared memory: no host memory left");
  }
}

}  // namespace v1
}  // namespace tenon
