// SPDX-License-Identifier: Apache-2.0
// The witnesses themselves: copies planted in each direction, which they must see, and work in place, which is none.
#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

extern "C" {
#include <libavutil/imgutils.h>
}

#include <tenon/tests/zero_copy/witness.hpp>

namespace watch_test {

using zero_copy::CopyWatch;

constexpr std::size_t kBytes = 1 << 16;

/// Not known to the compiler, so that it inlines no copy.
std::size_t size_of_the_copy() {
  static volatile std::size_t size = kBytes;
  return size;
}

class Watched : public ::testing::Test {
 protected:
  void SetUp() override { watch.watch(memory.data(), memory.size()); }
  CopyWatch watch;
  std::vector<std::uint8_t> memory = std::vector<std::uint8_t>(kBytes, 1),
                            elsewhere = std::vector<std::uint8_t>(kBytes);
};

TEST_F(Watched, ACopyOutIsSeenAsSuch) {
  std::memcpy(elsewhere.data(), memory.data(), size_of_the_copy());
  EXPECT_EQ(watch.large_copies(), 1u);
  EXPECT_EQ(watch.bytes(), kBytes);
  EXPECT_EQ(watch.bytes_into(), 0u);
}

TEST_F(Watched, ACopyIntoItIsSeenAsSuch) {
  std::memcpy(memory.data(), elsewhere.data(), size_of_the_copy());
  EXPECT_EQ(watch.large_copies_into(), 1u);
  EXPECT_EQ(watch.bytes_into(), kBytes);
  EXPECT_NE(watch.last_caller_into(), "unknown");
  EXPECT_EQ(watch.bytes(), 0u);
  watch.reset();
  EXPECT_EQ(watch.bytes_into(), 0u);
  std::memmove(memory.data(), elsewhere.data() + 1, size_of_the_copy() / 2);
  EXPECT_EQ(watch.bytes_into(), kBytes / 2);
}

TEST_F(Watched, ACopyWithinItCountsInBothDirections) {
  std::memmove(memory.data(), memory.data() + kBytes / 2, size_of_the_copy() / 4);
  EXPECT_EQ(watch.bytes(), kBytes / 4);
  EXPECT_EQ(watch.bytes_into(), kBytes / 4);
}

TEST_F(Watched, RowsOfPicturesAreSeenInBothDirections) {
  av_image_copy_plane(memory.data(), 256, elsewhere.data(), 512, 256, 64);
  EXPECT_GE(watch.bytes_into(), 256u * 64);
  EXPECT_EQ(watch.bytes(), 0u);
  watch.reset();
  av_image_copy_plane(elsewhere.data(), 512, memory.data(), 256, 256, 64);
  EXPECT_GE(watch.bytes(), 256u * 64);
  EXPECT_EQ(watch.bytes_into(), 0u);
}

TEST_F(Watched, WorkInPlaceIsNoCopy) {
  for (std::size_t i = 0; i < size_of_the_copy(); ++i) memory[i] = static_cast<std::uint8_t>(memory[i] * 3 + i);
  std::memcpy(elsewhere.data(), elsewhere.data() + kBytes / 2, size_of_the_copy() / 2);
  EXPECT_EQ(watch.bytes() + watch.bytes_into(), 0u);
}

}  // namespace watch_test
