// SPDX-License-Identifier: Apache-2.0
// Weights are found in place, and never confused with others.
#include <gtest/gtest.h>

#include <cstring>

#include <tenon/store/weights.hpp>

namespace tenon::store {
namespace weights_test {

Tensor filled(std::size_t size, int value) {
  Tensor tensor(ElementType::kU8, Shape{size});
  std::memset(tensor.data(), value, size);
  return tensor;
}

TEST(Weights, AreFoundByWhatTheyAre) {
  const Tensor one = filled(100, 1), two = filled(100, 2), small = filled(99, 3);
  const Tensor in_pieces(TensorInfo{ElementType::kU8, Shape{10, 10}, {20, 1}}, filled(200, 4).memory());
  WeightsByHash weights(100);
  for (const Tensor& tensor : {one, two, small, in_pieces}) weights.add(tensor);
  EXPECT_EQ(weights.find(content_hash(filled(100, 1))).data(), one.data());
  EXPECT_EQ(weights.find(content_hash(two)).data(), two.data());
  EXPECT_FALSE(weights.find(content_hash(small)));
  EXPECT_FALSE(weights.takes(small));
  EXPECT_FALSE(weights.takes(in_pieces));
  EXPECT_FALSE(weights.find(content_hash(filled(100, 5))));
}

TEST(Weights, OfAFileAreComparedAndUsedWhereTheyLie) {
  const Tensor file = filled(100, 0);
  static_cast<char*>(file.data())[50] = 1;
  const char bytes[] = {0, 1, 0};
  const ContentHash hash = content_hash(bytes, sizeof bytes);
  const Tensor found = find_at(file, 49, 3, hash);
  ASSERT_TRUE(found);
  EXPECT_EQ(found.data(), static_cast<char*>(file.data()) + 49);
  EXPECT_EQ(found.size_bytes(), 3u);
  EXPECT_FALSE(find_at(file, 48, 3, hash));
  for (const std::uint64_t offset : {std::uint64_t{98}, std::uint64_t{101}, ~std::uint64_t{0}})
    EXPECT_FALSE(find_at(file, offset, 3, hash)) << offset;
  EXPECT_FALSE(find_at(file, 0, ~std::uint64_t{0}, hash));
}

}  // namespace weights_test
}  // namespace tenon::store
