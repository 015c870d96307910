// SPDX-License-Identifier: Apache-2.0
// Tables: written values are read back, and damage is always detected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tenon/core/error.hpp>
#include <tenon/store/table.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::store {
namespace table_test {

using ::testing::HasSubstr;

void damaged(const std::string& what) { throw Error(Code::kDataLoss, "the letter is damaged: " + what); }

std::string sample() {
  TableWriter writer;
  writer.number(7);
  writer.text("seven");
  writer.text("");
  writer.hash({1, 2});
  writer.number(3);
  for (const char* text : {"a", "b", "c"}) writer.text(text);
  return std::move(writer).bytes();
}

void read_sample(std::string_view bytes) {
  TableReader reader(bytes, damaged);
  EXPECT_EQ(reader.number(7), 7u);
  const std::string_view seven = reader.view();
  EXPECT_EQ(seven, "seven");
  EXPECT_EQ(seven.data(), bytes.data() + 16) << "where it lies";
  EXPECT_EQ(reader.text(), "");
  EXPECT_EQ(reader.hash(), (ContentHash{1, 2}));
  std::string all;
  for (std::uint64_t left = reader.count(); left > 0; --left) all += reader.text();
  EXPECT_EQ(all, "abc");
}

TEST(Table, GivesBackWhatWasWritten) { read_sample(sample()); }

TEST(Table, EndsEarlyWhereverItIsCut) {
  const std::string whole = sample();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THAT(error_of([&] { read_sample(std::string(whole, 0, size)); }, Code::kDataLoss),
                HasSubstr("the letter is damaged: its table "))
        << size;
}

TEST(Table, BelievesNoNumber) {
  const std::string largest(8, '\xff');
  const TableDamage words{.ends_early = "it stops", .too_many = "it brags", .out_of_range = "it is too much"};
  const auto reader = [&] { return TableReader(largest, damaged, words); };
  EXPECT_THAT(error_of([&] { reader().view(); }, Code::kDataLoss), HasSubstr("it stops"));
  EXPECT_THAT(error_of([&] { reader().text(); }, Code::kDataLoss), HasSubstr("it stops"));
  EXPECT_THAT(error_of([&] { reader().count(); }, Code::kDataLoss), HasSubstr("it brags"));
  EXPECT_THAT(error_of([&] { reader().number(~std::uint64_t{1}); }, Code::kDataLoss), HasSubstr("it is too much"));
  EXPECT_EQ(reader().number(), ~std::uint64_t{0});
}

TEST(Table, GoesNoFurtherWhenItsFormatSaysNothing) {
  TableReader reader("", [](const std::string&) {});
  EXPECT_THAT(error_of([&] { reader.number(); }, Code::kDataLoss), HasSubstr("its table ends early"));
}

}  // namespace table_test
}  // namespace tenon::store
