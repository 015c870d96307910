// SPDX-License-Identifier: Apache-2.0
// The fixture of tests of files: a folder of their own, and what lies in it.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <tenon/core/file.hpp>
#include <tenon/tests/support/temporary_folder.hpp>

namespace tenon_test {

class InAFolder : public ::testing::Test {
 protected:
  /// Those of the files in the folder, sorted.
  std::vector<std::string> names() const {
    std::error_code error;
    std::vector<std::string> all;
    for (const auto& file : tenon::list_folder(folder, error)) all.push_back(file.filename().string());
    std::sort(all.begin(), all.end());
    return all;
  }
  static std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  const tenon::TemporaryFolder temporary;
  const std::filesystem::path folder = temporary.path();
};

}  // namespace tenon_test
