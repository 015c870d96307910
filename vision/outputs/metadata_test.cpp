// SPDX-License-Identifier: Apache-2.0
// Detections as metadata and back.
#include <gtest/gtest.h>

#include <vector>

#include <tenon/core/metadata.hpp>
#include <tenon/vision/metadata.hpp>

namespace vision_metadata_test {

using namespace tenon;

TEST(VisionMetadata, ComesBackAndFollowsACrop) {
  Frame frame = Frame::allocate({kNv12, 64, 48});
  EXPECT_TRUE(vision::detections(frame).empty());
  const std::vector<vision::Detection> found{{{4, 6, 20, 30}, 3, 0.5f, "cat"}, {{40, 40, 60, 48}, 1, 0.25f, "dog"}};
  vision::add(frame, found);
  const auto back = vision::detections(frame);
  ASSERT_EQ(back.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(back[i].box, found[i].box);
    EXPECT_EQ(back[i].label, found[i].label);
    EXPECT_EQ(back[i].label_id, found[i].label_id);
    EXPECT_EQ(back[i].score, found[i].score);
  }
  const auto part = vision::detections(crop(frame, 2, 2, 30, 30));
  ASSERT_EQ(part.size(), 1u);
  EXPECT_EQ(part[0].box, (vision::Box{2, 4, 18, 28}));
}

}  // namespace vision_metadata_test
