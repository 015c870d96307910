// SPDX-License-Identifier: Apache-2.0
// Finds modules: shared libraries of one kind, lib<kind>_<name>.so, that programs load when they are wanted.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {

/// Paths of the modules "<prefix><name>.so" in `folders`, by name; the first folder that has one wins. What a module is
/// worth is seen when it is loaded. @thread any.
/// @param unread  Added to: folders that are there but cannot be read, and why.
TENON_API std::map<std::string, std::filesystem::path> find_modules(std::string_view prefix,
                                                                    const std::vector<std::filesystem::path>& folders,
                                                                    std::string* unread = nullptr);

/// Where to look: the folders that the environment variable `variable` lists, then the folder of the library that has
/// `symbol`, and lib/ beside it (of a program that links everything). @thread any, unless the environment changes.
TENON_API std::vector<std::filesystem::path> module_folders(const char* variable, const void* symbol);

}  // namespace v1
}  // namespace tenon
