// SPDX-License-Identifier: Apache-2.0
// The hash: published values, equal results in parts, and delimited texts.
#include <gtest/gtest.h>

#include <tenon/store/content_hash.hpp>

namespace tenon::store {
namespace {

TEST(ContentHash, IsXxh3) {
  // xxHash's value for empty input, on which entries of other builds rely.
  EXPECT_EQ(content_hash(nullptr, 0).to_text(), "99aa06d3014798d86001c324468d497f");
}

TEST(ContentHash, OfPartsIsThatOfTheWhole) {
  std::string text(100'000, '\0');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i % 251);
  ContentHasher hasher;
  hasher.add(text.data(), 1);
  hasher.add(text.data(), 0);
  hasher.add(text.data() + 1, 69'999);
  hasher.add(text.data() + 70'000, 30'000);
  EXPECT_EQ(hasher.result(), content_hash(text.data(), text.size()));
  const ContentHash whole = hasher.result();
  text[99'999] = static_cast<char>(text[99'999] ^ 1);
  EXPECT_NE(whole, content_hash(text.data(), text.size()));
}

TEST(ContentHash, KeepsTextsApart) {
  const auto of = [](std::string_view first, std::string_view second) {
    ContentHasher hasher;
    hasher.add(first);
    hasher.add(second);
    return hasher.result();
  };
  EXPECT_NE(of("ab", "c"), of("a", "bc"));
  EXPECT_NE(of("", "abc"), of("abc", ""));
  EXPECT_EQ(of("ab", "c"), of("ab", "c"));
}

}  // namespace
}  // namespace tenon::store
