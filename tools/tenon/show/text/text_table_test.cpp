// SPDX-License-Identifier: Apache-2.0
// Tables that fit the terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include <tenon/tools/tenon/show/text/text_table.hpp>

namespace tenon::tool {
namespace text_table_test {

const std::vector<std::vector<std::string>> kRows = {
    {"device", "state"},
    {"CPU", "available"},
    {"NPU", "unavailable: no Level Zero loader was found, install libze1 or name the driver's library"}};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(TextTable, IsWrappedAtTheTerminalsWidth) {
  const auto lines = lines_of(text_table(kRows, 40));
  std::string words;
  for (const std::string& line : lines) {
    EXPECT_LE(line.size(), 40U) << line;
    if (line.rfind("   ", 0) == 0 || line.rfind("NPU", 0) == 0) words += line.substr(8) + " ";
  }
  EXPECT_EQ(words, kRows[2][1] + " ") << "nothing is lost, and continuations stand below their column";
  EXPECT_GT(lines.size(), 5U);
}

TEST(TextTable, IsOneLineARowWhereNobodyLooks) { EXPECT_EQ(lines_of(text_table(kRows, 0)).size(), 4U); }

TEST(TextTable, KeepsColumnsReadableOnNarrowTerminals) {
  for (const std::string& line : lines_of(text_table(kRows, 10))) EXPECT_LE(line.size(), 6U + 2U + 16U) << line;
}

TEST(TextTable, WordsThatAreLongerThanTheirColumnStayWhole) {
  EXPECT_THAT(text_table({{"a", "b"}, {"x", "/a/path/that/is/longer/than/the/terminal now"}}, 30),
              ::testing::HasSubstr("/a/path/that/is/longer/than/the/terminal\n"));
}

}  // namespace text_table_test
}  // namespace tenon::tool
