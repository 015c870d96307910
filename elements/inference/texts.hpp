// SPDX-License-Identifier: Apache-2.0
// Helpers for files that parameters name.
#pragma once

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/elements/internal/text.hpp>  // IWYU pragma: export

namespace tenon {
inline namespace v1 {
namespace elements {
namespace inference {

/// The lines of a file; none if the path is empty. @errors kNotFound
inline std::vector<std::string> lines_of(const std::string& path, const std::string& owner) {
  std::vector<std::string> lines;
  if (path.empty()) return lines;
  std::ifstream file(path);
  if (!file) throw cannot_read(owner + ": labels_file \"" + path + "\"");
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    lines.push_back(line);
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

/// @errors kNotFound: there is no such file.
inline void check_model_file(const std::string& path, const std::string& owner) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored))
    throw Error(Code::kNotFound, owner + ": there is no model \"" + path + "\"", "stat", ENOENT);
}

}  // namespace inference
}  // namespace elements
}  // namespace v1
}  // namespace tenon
