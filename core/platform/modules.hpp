// SPDX-License-Identifier: Apache-2.0
// Shared libraries that are loaded by name.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace platform {

#ifdef _WIN32
inline constexpr std::string_view kModuleSuffix = ".dll";
/// Between the folders of an environment variable.
inline constexpr char kFolderSeparator = ';';
#else
inline constexpr std::string_view kModuleSuffix = ".so";
inline constexpr char kFolderSeparator = ':';
#endif

/// Loads a library with all that it needs. @return null: `why` has the loader's reason.
/// @param serves_others  Whether libraries that are loaded later find its symbols. Windows: they do not.
TENON_API void* load_module(const std::filesystem::path& path, bool serves_others, std::string& why);
/// @return null where there is no such symbol.
TENON_API void* symbol_of(void* library, const char* name) noexcept;
/// The library or program that defines `symbol`; empty where the system does not know.
TENON_API std::filesystem::path module_of(const void* symbol);
/// What tells this build of the library or program that defines `symbol` from others: the build-id that its linker gave it; on Windows the
/// time, size and checksum in its header. Empty where it has none.
TENON_API std::string build_of(const void* symbol);

}  // namespace platform
}  // namespace v1
}  // namespace tenon
