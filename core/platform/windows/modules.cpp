// SPDX-License-Identifier: Apache-2.0
// LoadLibrary and its kin.
#include <tenon/core/platform/modules.hpp>

#include <tenon/core/platform/windows/api.hpp>

#include <system_error>

namespace tenon {
inline namespace v1 {
namespace platform {

TENON_INLINE void* load_module(const std::filesystem::path& path, bool /*serves_others*/, std::string& why) {
  // The libraries that it needs are searched in its own folder too, which takes an absolute path.
  const std::filesystem::path absolute = std::filesystem::absolute(path);
  const HMODULE library = ::LoadLibraryExW(absolute.c_str(), nullptr, LOAD_WITH_ALTERED_SEARCH_PATH);
  if (!library) {
    const DWORD error = ::GetLastError();
    why = absolute.string() + ": " + std::system_category().message(static_cast<int>(error)) +
          " (LoadLibraryExW gave " + std::to_string(error) + ")";
  }
  return library;
}
TENON_INLINE void* symbol_of(void* library, const char* name) noexcept {
  return reinterpret_cast<void*>(::GetProcAddress(static_cast<HMODULE>(library), name));
}
TENON_INLINE std::filesystem::path module_of(const void* symbol) {
  HMODULE module = nullptr;
  if (!::GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                            static_cast<const wchar_t*>(symbol), &module))
    return {};
  std::wstring path(512, L'\0');
  for (;;) {
    const DWORD length = ::GetModuleFileNameW(module, path.data(), static_cast<DWORD>(path.size()));
    if (length == 0) return {};
    if (length < path.size()) return path.substr(0, length);
    path.resize(path.size() * 2);
  }
}

TENON_INLINE std::string build_of(const void* symbol) {
  HMODULE module = nullptr;
  // For null it would give the program.
  if (!symbol ||
      !::GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                            static_cast<const wchar_t*>(symbol), &module))
    return {};
  // A module's handle is the address of its headers.
  const auto* const begin = reinterpret_cast<const char*>(module);
  const auto* const headers =
      reinterpret_cast<const IMAGE_NT_HEADERS*>(begin + reinterpret_cast<const IMAGE_DOS_HEADER*>(begin)->e_lfanew);
  const auto& optional = headers->OptionalHeader;
  return std::to_string(headers->FileHeader.TimeDateStamp) + "-" + std::to_string(optional.SizeOfImage) + "-" +
         std::to_string(optional.CheckSum);
}

}  // namespace platform
}  // namespace v1
}  // namespace tenon
