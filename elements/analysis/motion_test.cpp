// SPDX-License-Identifier: Apache-2.0
// The element "motion": its parameters, its objects, and that frames are read in place.
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/metadata.hpp>
#include <tenon/elements/registry.hpp>

namespace tenon::elements {
namespace motion_test {

/// A dark square on grey.
Frame picture(std::uint32_t left, bool is_there = true) {
  Frame frame = Frame::allocate({kNv12, 640, 360});
  const Tensor& luma = frame.plane(0);
  for (std::uint32_t y = 0; y < 360; ++y) {
    auto* const row = static_cast<std::uint8_t*>(luma.data()) + luma.byte_strides()[0] * y;
    std::memset(row, 120, 640);
    if (is_there && y >= 80 && y < 160) std::memset(row + left, 30, 80);
  }
  return frame;
}

class Motion : public ::testing::Test {
 protected:
  std::unique_ptr<TransformInplace> motion(const std::map<std::string, std::string>& given = {}) {
    auto made = std::get<std::unique_ptr<TransformInplace>>(make_element("motion", given, {"motion", &ledger_}));
    made->open(0, {});
    return made;
  }
  std::vector<metadata::Detection> found(TransformInplace& element, Frame frame) {
    element.process(0, frame);
    std::vector<metadata::Detection> all;
    if (const auto known = metadata::find(frame))
      for (const auto& one : known->all<metadata::Detection>()) all.push_back(*one.value);
    return all;
  }
  Ledger ledger_;
};

TEST_F(Motion, AddsRegionsAsObjectsAndMovesNoByte) {
  const auto element = motion({{"min_persistence", "1"}, {"label", "moves"}});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(found(*element, picture(0, false)).empty());
  const auto objects = found(*element, picture(200));
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_EQ(objects[0], (metadata::Detection{{200, 80, 280, 160}, "moves", -1, 1, -1}));
  EXPECT_EQ(ledger_.total().copied + ledger_.total().converted, 0u);
}

TEST_F(Motion, BeginsAnewWhenTheStreamDoes) {
  const auto element = motion({{"min_persistence", "1"}});
  for (int i = 0; i < 3; ++i) found(*element, picture(0, false));
  element->open(0, {});
  EXPECT_TRUE(found(*element, picture(200)).empty());
  EXPECT_EQ(found(*element, picture(400)).size(), 2u) << "where it was, and where it is";
}

TEST_F(Motion, ParametersReachTheDetector) {
  const std::vector<std::pair<std::string, std::string>> refusals{
      {"min_rel_area", "0.5"}, {"pixel_diff_threshold", "120"}, {"confirm_frames", "3"}, {"min_persistence", "4"}};
  for (const auto& [name, value] : refusals) {
    std::map<std::string, std::string> given{{"min_persistence", "1"}};
    given[name] = value;
    const auto element = motion(given);
    for (int i = 0; i < 3; ++i) found(*element, picture(0, false));
    EXPECT_TRUE(found(*element, picture(200)).empty()) << name;
  }
  const auto sticky = motion({{"min_persistence", "1"}, {"max_miss", "5"}});
  for (int i = 0; i < 3; ++i) found(*sticky, picture(0, false));
  found(*sticky, picture(200));
  EXPECT_EQ(found(*sticky, picture(0, false)).size(), 1u);
  const auto half = motion({{"min_persistence", "1"}, {"smooth_alpha", "0.5"}});
  for (int i = 0; i < 3; ++i) found(*half, picture(0, false));
  found(*half, picture(200));
  EXPECT_EQ(found(*half, picture(220))[0].box, (metadata::Box{210, 80, 290, 160}));
}

}  // namespace motion_test
}  // namespace tenon::elements
