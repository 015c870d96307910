// SPDX-License-Identifier: Apache-2.0
// Modules by the names of their files.
#include <tenon/core/module_files.hpp>

#include <algorithm>
#include <cstdlib>
#include <system_error>

#include <tenon/core/file.hpp>
#include <tenon/core/platform/modules.hpp>

namespace tenon {
inline namespace v1 {

TENON_INLINE std::map<std::string, std::filesystem::path> find_modules(
    std::string_view prefix, const std::vector<std::filesystem::path>& folders, std::string* unread) {
  constexpr std::string_view kSuffix = platform::kModuleSuffix;
  std::map<std::string, std::filesystem::path> found;
  for (const std::filesystem::path& folder : folders) {
    std::error_code error;
    for (const std::filesystem::path& path : list_folder(folder, error)) {
      const std::string file = path.filename().string();
      if (file.size() <= prefix.size() + kSuffix.size() || !file.starts_with(prefix) || !file.ends_with(kSuffix))
        continue;
      found.emplace(file.substr(prefix.size(), file.size() - prefix.size() - kSuffix.size()), path);
    }
    if (unread && error && error != std::errc::no_such_file_or_directory)
      *unread += "; \"" + folder.string() + "\" cannot be read: " + error.message();
  }
  return found;
}

TENON_INLINE std::vector<std::filesystem::path> module_folders(const char* variable, const void* symbol) {
  std::vector<std::filesystem::path> folders;
  if (const char* path = std::getenv(variable)) {
    std::string_view rest = path;
    while (!rest.empty()) {
      const auto end = std::min(rest.find(platform::kFolderSeparator), rest.size());
      if (end > 0) folders.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  const std::filesystem::path module = platform::module_of(symbol);
  if (!module.empty()) {
    std::error_code ignored;
    auto self = std::filesystem::canonical(module, ignored);
    if (self.empty()) self = module;
    folders.push_back(self.parent_path());
    folders.push_back(self.parent_path().parent_path() / "lib");
  }
  return folders;
}

}  // namespace v1
}  // namespace tenon
