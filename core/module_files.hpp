// SPDX-License-Identifier: Apache-2.0
// Finds modules: shared libraries of one kind, lib<kind>_<name>.so, that programs load on demand.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

/// Paths of the modules "<prefix><name>.so" in `folders`, by name; the first folder that has one wins. Whether a module
/// is usable is only known when it is loaded. @thread any.
/// @param unread  Receives, appended, the folders that exist but cannot be read, with the reason.
TENON_API std::map<std::string, std::filesystem::path> find_modules(std::string_view prefix,
                                                                    const std::vector<std::filesystem::path>& folders,
                                                                    std::string* unread = nullptr);

/// The folders to search: those that the environment variable `variable` lists, then the folder of the library that
/// defines `symbol`, and the lib/ folder beside it (for a program that links everything). @thread any, unless the
/// environment changes.
TENON_API std::vector<std::filesystem::path> module_folders(const char* variable, const void* symbol);

}  // namespace v1
}  // namespace tenon
