// SPDX-License-Identifier: Apache-2.0
// A folder for one test, in $TMPDIR if that is set.
#pragma once

#include <filesystem>
#include <random>
#include <string>
#include <system_error>

namespace tenon {

/// Created with the object, removed with it and all its contents. @errors std::filesystem::filesystem_error: it cannot be made.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::random_device random;
    do {
      path_ = std::filesystem::temp_directory_path() / ("tenon_test_" + std::to_string(random()));
    } while (!std::filesystem::create_directory(path_));
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace tenon
