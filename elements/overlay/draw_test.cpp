// SPDX-License-Identifier: Apache-2.0
// The element "draw": colours, choice of labels, the user's text, zones, and frames that nothing else uses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <string>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/zones.hpp>
#include <tenon/elements/places.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/tests/support/error_of.hpp>
#include <tenon/vision/draw.hpp>

namespace tenon::elements {
namespace draw_test {

using ::testing::HasSubstr;
using vision::Colour;
using Given = std::map<std::string, std::string>;

class Draw : public ::testing::Test {
 protected:
  static Frame black() {
    Frame frame = Frame::allocate({kRgb24, 160, 120});
    for (std::size_t y = 0; y < 120; ++y) std::memset(row(frame, y), 0, 160 * 3);
    return frame;
  }
  Frame drawn(Frame frame, const Given& given) {
    auto element = std::get<std::unique_ptr<TransformInplace>>(make_element("draw", given, {"show", &ledger_}));
    element->process(0, frame);
    return frame;
  }
  static std::uint8_t* row(const Frame& frame, std::size_t y) {
    return static_cast<std::uint8_t*>(frame.plane(0).data()) +
           frame.plane(0).byte_strides()[0] * static_cast<std::ptrdiff_t>(y);
  }
  static Colour at(const Frame& frame, std::size_t x, std::size_t y) {
    const std::uint8_t* const pixel = row(frame, y) + 3 * x;
    return {pixel[0], pixel[1], pixel[2]};
  }
  static Frame with_objects() {
    Frame frame = black();
    metadata::of(frame).add(metadata::Detection{{10, 10, 50, 50}, "person", 0, 0.9f, 4});
    metadata::of(frame).add(metadata::Detection{{90, 10, 130, 50}, "car", 0, 0.9f, 5});
    return frame;
  }
  static constexpr Colour kBlack{0, 0, 0};
  Ledger ledger_;
};

TEST_F(Draw, ColoursAreChosenByLabelOrById) {
  const Given plain{{"labels", "false"}};
  const Frame same = drawn(with_objects(), plain);
  EXPECT_EQ(at(same, 10, 30), vision::label_colour(0));
  EXPECT_EQ(at(same, 90, 30), vision::label_colour(0));
  const Frame chosen = drawn(with_objects(), {{"labels", "false"}, {"colours", "car=#0102fe"}});
  EXPECT_EQ(at(chosen, 10, 30), vision::label_colour(0));
  EXPECT_EQ(at(chosen, 90, 30), (Colour{1, 2, 254}));
  const Frame by_id = drawn(with_objects(), {{"labels", "false"}, {"colour_by", "id"}, {"colours", "person=white"}});
  EXPECT_EQ(at(by_id, 10, 30), (Colour{255, 255, 255}));
  EXPECT_EQ(at(by_id, 90, 30), vision::label_colour(5));
  EXPECT_THAT(
      error_of(
          [&] {
            drawn(black(), {{"colours", "car=blurple"}});
          },
          Code::kInvalidArgument),
      HasSubstr("'show' (draw): parameter 'colours': \"car=blurple\" is not LABEL=COLOUR; colours are #rrggbb, red"));
  EXPECT_THAT(error_of(
                  [&] {
                    drawn(black(), {{"colours", "#ffffff"}});
                  },
                  Code::kInvalidArgument),
              HasSubstr("is not LABEL=COLOUR"));
  EXPECT_FALSE(vision::colour_of("#12345"));
  EXPECT_FALSE(vision::colour_of("#12345g"));
  EXPECT_FALSE(vision::colour_of("#-12345"));
}

TEST_F(Draw, OnlyChosenLabelsWithWhatBelongsToThem) {
  Frame frame = with_objects();
  Tensor mask(ElementType::kU8, {1, 1});
  mask.data<std::uint8_t>()[0] = 1;
  const auto objects = metadata::of(frame).all<metadata::Detection>();
  for (const auto& object : objects) metadata::of(frame).add(metadata::Segmentation{object->box, mask, {}}, object.id);
  const Frame shown = drawn(std::move(frame), {{"only", "car"}});
  EXPECT_EQ(at(shown, 10, 30), kBlack);
  EXPECT_EQ(at(shown, 30, 30), kBlack) << "the mask of an object that is not shown";
  EXPECT_NE(at(shown, 90, 30), kBlack);
  EXPECT_NE(at(shown, 110, 30), kBlack);
}

TEST_F(Draw, AMaskOverABoxWithoutEndIsReadWithinItself) {
  Frame frame = black();
  const float infinite = std::numeric_limits<float>::infinity();
  Tensor mask(ElementType::kU8, {2, 2});
  std::fill_n(mask.data<std::uint8_t>(), 4, std::uint8_t{1});
  const auto id = metadata::of(frame).add(metadata::Detection{{10, 10, 60, 60}, "car", 0, 0.9f, -1});
  metadata::of(frame).add(metadata::Segmentation{{-infinite, -infinite, infinite, infinite}, mask, {}}, id);
  EXPECT_NE(at(drawn(std::move(frame), {}), 100, 100), kBlack);
}

TEST_F(Draw, TheUsersTextIsInTheLowerLeftCorner) {
  const auto white = [](const Frame& frame) {
    std::size_t count = 0;
    for (std::size_t y = 0; y < 120; ++y)
      for (std::size_t x = 0; x < 160; ++x)
        if (at(frame, x, y) == Colour{255, 255, 255}) count += y >= 105 ? 1 : 1000;
    return count;
  };
  const std::size_t some = white(drawn(black(), {{"text", "gate"}}));
  EXPECT_GT(some, 20u);
  EXPECT_LT(some, 400u);
  Frame late = black();
  late.set_timestamp_ns(11'111'000'000);
  const Frame with_time = drawn(late, {{"text", "{time}{frame}"}}), as_text = drawn(black(), {{"text", "11.1110"}});
  EXPECT_EQ(std::memcmp(row(with_time, 110), row(as_text, 110), 160 * 3), 0);
  EXPECT_EQ(white(drawn(black(), {{"text", "{fps}"}})), white(drawn(black(), {{"text", "0.0"}})))
      << "no second has passed";
}

TEST_F(Draw, ZonesAndLines) {
  Frame frame = black();
  metadata::of(frame).add(
      metadata::Zone{"z", metadata::Zone::Shape::kZone, {{40, 20}, {140, 20}, {140, 100}, {40, 100}}, {}, false});
  metadata::of(frame).add(metadata::Zone{"l", metadata::Zone::Shape::kLine, {{20, 110}, {100, 110}}, {}, false});
  metadata::of(frame).add(metadata::Zone{"d", metadata::Zone::Shape::kDirection, {}, {}, false});
  const Frame shown = drawn(frame, {});
  EXPECT_NE(at(shown, 140, 60), kBlack);
  EXPECT_NE(at(shown, 90, 100), kBlack);
  EXPECT_NE(at(shown, 95, 110), kBlack);
  EXPECT_EQ(at(shown, 100, 60), kBlack);
  EXPECT_EQ(at(drawn(frame, {{"zones", "false"}}), 140, 60), kBlack);
  Frame far = black();
  metadata::of(far).add(
      metadata::Zone{"far", metadata::Zone::Shape::kZone, {{-1e9f, 0}, {1e9f, 0}, {0, 1e9f}}, {}, true});
  drawn(far, {});
}

TEST_F(Draw, ChangesAFrameThatNothingElseUses) {
  OutputFrames pool(host_context());
  Frame frame = pool.acquire({kRgb24, 160, 120});
  metadata::of(frame).add(metadata::Detection{{10, 10, 50, 50}, "person", 0, 0.9f, 4});
  const void* const place = frame.plane(0).data();
  auto element = std::get<std::unique_ptr<TransformInplace>>(make_element("draw", {}, {"show", &ledger_}));
  element->process(0, frame);
  EXPECT_EQ(frame.plane(0).data(), place);
  EXPECT_EQ(ledger_.total().copied, 0u);
  const Frame other = frame;
  element->process(0, frame);
  EXPECT_NE(frame.plane(0).data(), place);
  EXPECT_EQ(ledger_.total().copied, frame.size_bytes());
}

}  // namespace draw_test
}  // namespace tenon::elements
