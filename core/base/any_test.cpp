// SPDX-License-Identifier: Apache-2.0
// Property values to text and back, in the forms that OpenVINO writes and reads.
#include <gtest/gtest.h>

#include <filesystem>

#include <tenon/core/any.hpp>
#include <tenon/core/element_type.hpp>

namespace tenon {
namespace any_test {

std::string text_of(const Any& value) { return value.as<std::string>(); }

TEST(Any, PrintsAsOpenVinoDoes) {
  EXPECT_EQ(text_of(Any(true)), "YES");
  EXPECT_EQ(text_of(Any(std::tuple<unsigned, unsigned, unsigned>{1, 2, 3})), "1 2 3");
  EXPECT_EQ(text_of(Any(std::vector<std::string>{"a", "b"})), "a b");
  EXPECT_EQ(text_of(Any(std::set<int>{2, 1})), "1 2");
  EXPECT_EQ(text_of(Any(std::map<element::Type, float>{{element::f32, 1.5f}, {element::i8, 2.f}})), "{f32:1.5,i8:2}");
  EXPECT_EQ(text_of(Any(AnyMap{{"A", 1}, {"B", true}})), "{A:1,B:YES}");
  EXPECT_EQ(text_of(Any(std::map<std::string, AnyMap>{{"CPU", {{"A", 1}, {"B", "x"}}}})), "{CPU:{A:1,B:x}}");
  EXPECT_EQ(text_of(Any(std::filesystem::path("/a b"))), "/a b");
}

TEST(Any, ReadsWhatItPrints) {
  EXPECT_EQ(std::get<1>(Any("1 2").as<std::tuple<unsigned, unsigned>>()), 2u);
  EXPECT_EQ(Any("3 1 3").as<std::set<int>>(), (std::set<int>{1, 3}));
  EXPECT_EQ(Any("/a b").as<std::filesystem::path>(), "/a b") << "a path does not end at its first space";
  const auto nested = Any("{A:1,B:{C:2,D:x:y}}").as<AnyMap>();
  ASSERT_EQ(nested.size(), 2u);
  EXPECT_EQ(nested.at("A").as<int>(), 1);
  EXPECT_EQ(nested.at("B").as<AnyMap>().at("D").as<std::string>(), "x:y");
  EXPECT_EQ((Any("{CPU:{A:1},GPU:{C:y}}").as<std::map<std::string, AnyMap>>().at("GPU").at("C").as<std::string>()),
            "y");
  EXPECT_TRUE(Any("{}").as<AnyMap>().empty());
  EXPECT_EQ(Any("FP16").as<element::Type>(), element::f16);
  EXPECT_EQ(Any("undefined").as<element::Type>(), element::dynamic);
}

TEST(Any, RefusesWhatIsMalformed) {
  for (const char* text : {"", "A:1", "{A}", "{A:1", "{:1}", "{A:{B:1}", "{A:1}}", "{A:1,}", "{,}"})
    EXPECT_THROW(Any(text).as<AnyMap>(), Error) << text;
  EXPECT_THROW((Any("1").as<std::tuple<int, int>>()), Error);
  EXPECT_THROW((Any("1 2 3").as<std::tuple<int, int>>()), Error);
  EXPECT_THROW((Any("1 x").as<std::set<int>>()), Error);
  EXPECT_THROW(Any("maybe").as<bool>(), Error);
  EXPECT_THROW(Any("-1").as<unsigned>(), Error);
  EXPECT_THROW(Any("7x").as<int>(), Error);
  EXPECT_THROW(Any("F32").as<element::Type>(), Error);
}

}  // namespace any_test
}  // namespace tenon
