// SPDX-License-Identifier: Apache-2.0
// A file that appears whole or not at all, and whose path is known to be writable before the work starts.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tenon::tool {

/// Makes a temporary file beside `path` at once; commit() writes and renames it, the destructor removes what was not
/// committed.
class OutputFile {
 public:
  /// Nothing to write: commit() does nothing.
  OutputFile() = default;
  /// @param option  Names the option in messages: "--report".
  /// @errors kInvalidArgument: a folder or an empty name; kNotFound: no such folder; kPermissionDenied.
  OutputFile(const std::string& path, std::string_view option);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&& other) noexcept;
  ~OutputFile();

  explicit operator bool() const { return !path_.empty(); }
  const std::filesystem::path& path() const { return path_; }
  /// @errors kResourceExhausted: the disk is full; kPermissionDenied: the name is taken by what cannot be replaced.
  void commit(std::string_view content);

 private:
  void discard() noexcept;
  std::filesystem::path path_, partial_;
  std::string option_;
};

}  // namespace tenon::tool
