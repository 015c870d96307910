// SPDX-License-Identifier: Apache-2.0
// The element "turn": pixels by the formulas of numpy.rot90 and numpy.flip, and what lies in the picture by marked pixels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/metadata.hpp>
#include <tenon/core/testing/allocation_count.hpp>
#include <tenon/core/testing/bytes_of.hpp>
#include <tenon/core/zones.hpp>
#include <tenon/elements/registry.hpp>
#include <tenon/tests/support/error_of.hpp>

namespace tenon::elements {
namespace turn_test {

using tenon_test::bytes_of;
using ::testing::HasSubstr;
using Given = std::map<std::string, std::string>;

class Kept final : public Output {
 public:
  void emit(Item item) override { last = std::move(item.frame); }
  Frame last;
};

/// A picture as a list of pixels, and the operations as numpy defines them.
struct Pixels {
  std::size_t width = 0, height = 0;
  std::vector<std::uint64_t> at;
  std::uint64_t get(std::size_t y, std::size_t x) const { return at[y * width + x]; }
};
/// numpy.rot90(a, -1): out[i, j] = a[h - 1 - j, i].
Pixels clockwise(const Pixels& a) {
  Pixels out{a.height, a.width, {}};
  for (std::size_t i = 0; i < out.height; ++i)
    for (std::size_t j = 0; j < out.width; ++j) out.at.push_back(a.get(a.height - 1 - j, i));
  return out;
}
/// numpy.flip(a, axis=1): out[i, j] = a[i, w - 1 - j].
Pixels fliplr(const Pixels& a) {
  Pixels out{a.width, a.height, {}};
  for (std::size_t i = 0; i < a.height; ++i)
    for (std::size_t j = 0; j < a.width; ++j) out.at.push_back(a.get(i, a.width - 1 - j));
  return out;
}
/// numpy.flip(a, axis=0): out[i, j] = a[h - 1 - i, j].
Pixels flipud(const Pixels& a) {
  Pixels out{a.width, a.height, {}};
  for (std::size_t i = 0; i < a.height; ++i)
    for (std::size_t j = 0; j < a.width; ++j) out.at.push_back(a.get(a.height - 1 - i, j));
  return out;
}

/// @param pixel  Bytes of a pixel in that plane.
Pixels plane_of(const Frame& frame, std::size_t plane, std::size_t pixel) {
  const Tensor& rows = frame.plane(plane);
  Pixels out{rows.shape()[1], rows.shape()[0], {}};
  for (std::size_t y = 0; y < out.height; ++y) {
    for (std::size_t x = 0; x < out.width; ++x) {
      std::uint64_t value = 0;
      std::memcpy(&value,
                  static_cast<const std::uint8_t*>(rows.data()) + static_cast<std::size_t>(rows.byte_strides()[0]) * y +
                      x * pixel,
                  pixel);
      out.at.push_back(value);
    }
  }
  return out;
}

Frame painted(const FrameInfo& info) {
  Frame frame = Frame::allocate(info);
  unsigned next = 1;
  for (const Tensor& plane : frame.planes()) {
    const std::size_t bytes = plane.size_bytes() / plane.shape()[0];
    for (std::size_t y = 0; y < plane.shape()[0]; ++y)
      for (std::size_t x = 0; x < bytes; ++x)
        (static_cast<std::uint8_t*>(plane.data()) + static_cast<std::size_t>(plane.byte_strides()[0]) * y)[x] =
            static_cast<std::uint8_t>((next = next * 1103515245u + 12345u) >> 16);
  }
  frame.set_timestamp_ns(42);
  return frame;
}

class Turn : public ::testing::Test {
 protected:
  std::unique_ptr<Transform> turn(const Given& given = {}) {
    return std::get<std::unique_ptr<Transform>>(make_element("turn", given, {"turn", &ledger_}));
  }
  Frame turned(const Given& given, const Frame& frame, StreamInfo in = {}) {
    const auto element = turn(given);
    in.frame = frame.info();
    stream_ = element->open(0, in);
    element->allocate(0, {}, {});
    Kept kept;
    element->process({0, frame}, kept);
    EXPECT_EQ(kept.last.info(), stream_.frame);
    EXPECT_EQ(kept.last.timestamp_ns(), frame.timestamp_ns());
    return kept.last;
  }
  Ledger ledger_;
  StreamInfo stream_;
};

TEST_F(Turn, PixelsGoWhereNumpyPutsThem) {
  for (const PixelFormat format : {kNv12, kI420, kRgb24, kBgra, kGray8, kP010, kI444}) {
    for (const auto& [width, height] : {std::pair{70u, 36u}, {34u, 66u}, {2u, 2u}}) {
      const Frame frame = painted({format, width, height});
      for (const int degrees : {0, 90, 180, 270}) {
        for (const std::string flip : {"none", "horizontal", "vertical"}) {
          const Frame got = turned({{"degrees", std::to_string(degrees)}, {"flip", flip}}, frame);
          for (std::size_t p = 0; p < frame.plane_count(); ++p) {
            const PlaneExtent extent = plane_extent(frame.info(), p);
            const std::size_t pixel = extent.row_bytes / extent.width_px;
            Pixels expected = plane_of(frame, p, pixel);
            if (flip == "horizontal") expected = fliplr(expected);
            if (flip == "vertical") expected = flipud(expected);
            for (int k = 0; k < degrees; k += 90) expected = clockwise(expected);
            const Pixels found = plane_of(got, p, pixel);
            ASSERT_EQ(found.width, expected.width);
            ASSERT_EQ(found.at, expected.at) << to_string(format) << " " << degrees << " " << flip << " plane " << p;
          }
        }
      }
    }
  }
}

TEST_F(Turn, WithoutParametersPicturesBecomeUprightAndPlacesStay) {
  for (const Rotation rotation : {Rotation::k90, Rotation::k180, Rotation::k270, Rotation::kMirrored,
                                  Rotation::kMirrored90, Rotation::kMirrored180, Rotation::kMirrored270}) {
    FrameInfo info{kRgb24, 40, 24};
    info.rotation = rotation;
    Frame frame = painted(info);
    metadata::of(frame).add(metadata::Detection{{1, 2, 9, 7}, "cat", 0, 0.9f, -1});
    const Frame got = turned({}, frame);
    EXPECT_EQ(got.info().rotation, Rotation::kNone);
    Pixels expected = plane_of(frame, 0, 3);
    if (is_mirrored(rotation)) expected = fliplr(expected);
    for (unsigned k = 0; k < degrees(rotation); k += 90) expected = clockwise(expected);
    EXPECT_EQ(plane_of(got, 0, 3).at, expected.at) << to_string(rotation);
    EXPECT_EQ(metadata::find(got)->first<metadata::Detection>()->box, (metadata::Box{1, 2, 9, 7}));
    // The change that is asked for comes after that, whatever the picture's own is.
    const Frame more = turned({{"degrees", "90"}, {"flip", "vertical"}}, frame);
    EXPECT_EQ(plane_of(more, 0, 3).at, clockwise(flipud(expected)).at) << to_string(rotation);
  }
}

TEST_F(Turn, CopiesNothingWhereNothingIsToBeMoved) {
  const Frame upright = painted({kNv12, 64, 32});
  EXPECT_EQ(turned({}, upright).plane(0).data(), upright.plane(0).data());
  FrameInfo info{kNv12, 64, 32};
  info.rotation = Rotation::k90;
  const Frame sideways = painted(info);
  EXPECT_EQ(turned({{"degrees", "270"}}, sideways).plane(1).data(), sideways.plane(1).data());
  EXPECT_EQ(ledger_.total().copied, 0u);
  turned({{"degrees", "180"}}, upright);
  EXPECT_EQ(ledger_.total().copied, upright.size_bytes());
}

/// Marks pixels, and turns the picture and its metadata: each place must still show its mark.
TEST_F(Turn, BoxesMasksPointsAndZonesMoveWithThePicture) {
  for (const char* degrees : {"0", "90", "180", "270"}) {
    for (const char* flip : {"none", "horizontal", "vertical"}) {
      Frame frame = Frame::allocate({kGray8, 50, 30});
      const auto mark = [&](std::size_t x, std::size_t y, std::uint8_t value) {
        (static_cast<std::uint8_t*>(frame.plane(0).data()) +
         static_cast<std::size_t>(frame.plane(0).byte_strides()[0]) * y)[x] = value;
      };
      for (std::size_t y = 0; y < 30; ++y)
        for (std::size_t x = 0; x < 50; ++x) mark(x, y, 0);
      for (std::size_t y = 4; y < 10; ++y)
        for (std::size_t x = 10; x < 21; ++x) mark(x, y, 100);
      mark(40, 20, 200);
      Tensor mask(ElementType::kU8, {6, 11});
      for (std::size_t k = 0; k < 66; ++k) mask.data<std::uint8_t>()[k] = k < 11 || k % 11 == 0 ? 1 : 0;
      for (std::size_t k = 0; k < 66; ++k)
        if (mask.data<std::uint8_t>()[k]) mark(10 + k % 11, 4 + k / 11, 101);
      Tensor points(ElementType::kF32, {1, 3});
      points.data<float>()[0] = 40.5f, points.data<float>()[1] = 20.5f, points.data<float>()[2] = 0.75f;
      metadata::Collection& known = metadata::of(frame);
      const auto object = known.add(metadata::Detection{{10, 4, 21, 10}, "a", 3, 0.5f, 8});
      known.add(metadata::Segmentation{{10, 4, 21, 10}, mask, {}}, object);
      known.add(metadata::TensorOutput{points, "p", "", "keypoints"}, object);
      known.add(metadata::Classification{"red", 1, 0.5f, "m"}, object);
      metadata::Zone zone;
      zone.name = "z";
      zone.points = {{0, 0}, {50, 0}, {50, 30}};
      known.add(zone);
      metadata::Zone line;
      line.shape = metadata::Zone::Shape::kLine;
      line.points = {{5, 25}, {45, 25}};  // The marked object is on its left.
      known.add(line);

      const Frame got = turned({{"degrees", degrees}, {"flip", flip}}, frame);
      const Pixels pixels = plane_of(got, 0, 1);
      const auto found = metadata::find(got);
      const auto box = found->all<metadata::Detection>()[0]->box;
      EXPECT_EQ(found->all<metadata::Detection>()[0].id, object);
      EXPECT_EQ(found->all<metadata::Detection>()[0]->track_id, 8);
      EXPECT_EQ(found->of<metadata::Classification>(object).size(), 1u);
      const auto masks = found->of<metadata::Segmentation>(object);
      ASSERT_EQ(masks.size(), 1u);
      EXPECT_EQ(masks[0]->box, box);
      const Tensor& turned_mask = masks[0]->mask;
      const std::size_t mask_width = turned_mask.shape()[1];
      std::size_t in_box = 0;
      for (std::size_t y = 0; y < pixels.height; ++y) {
        for (std::size_t x = 0; x < pixels.width; ++x) {
          const auto fx = static_cast<float>(x), fy = static_cast<float>(y);
          const bool is_in = fx >= box.x1 && fx + 1 <= box.x2 && fy >= box.y1 && fy + 1 <= box.y2;
          const auto value = pixels.get(y, x);
          in_box += is_in;
          ASSERT_EQ(is_in, value == 100 || value == 101) << x << "," << y << " " << degrees << flip;
          if (!is_in) continue;
          const std::size_t at =
              static_cast<std::size_t>(fy - box.y1) * mask_width + static_cast<std::size_t>(fx - box.x1);
          ASSERT_EQ(turned_mask.data<std::uint8_t>()[at] != 0, value == 101) << degrees << flip;
        }
      }
      EXPECT_EQ(in_box, 66u);
      const float* const point = found->of<metadata::TensorOutput>(object)[0]->tensor.data<float>();
      EXPECT_EQ(pixels.get(static_cast<std::size_t>(point[1]), static_cast<std::size_t>(point[0])), 200u);
      EXPECT_EQ(point[2], 0.75f);
      const auto zones = found->all<metadata::Zone>();
      for (const auto& corner : zones[0]->points) {
        EXPECT_TRUE(corner.x == 0 || corner.x == static_cast<float>(pixels.width));
        EXPECT_TRUE(corner.y == 0 || corner.y == static_cast<float>(pixels.height));
      }
      // The object is still on the left of one that looks along the line, with y downwards.
      const auto& ends = zones[1]->points;
      const float cross = (ends[1].x - ends[0].x) * ((box.y1 + box.y2) / 2 - ends[0].y) -
                          (ends[1].y - ends[0].y) * ((box.x1 + box.x2) / 2 - ends[0].x);
      EXPECT_LT(cross, 0) << degrees << flip;
      EXPECT_EQ(metadata::find(frame)->all<metadata::Detection>()[0]->box, (metadata::Box{10, 4, 21, 10}))
          << "the frame that went in is changed";

      // What a branch with turned pictures finds comes back to where it is in the picture that was turned.
      Frame branch = got;
      metadata::set(branch, found->copy());
      metadata::of(branch).add(
          metadata::Detection{{point[0] - 2.5f, point[1] - 1.5f, point[0] + 2.5f, point[1] + 1.5f}, "b"});
      const auto joins =
          std::get<std::unique_ptr<Transform>>(make_element("aggregate", {}, {"joins", &ledger_, {0}, {}, 2}));
      joins->open(0, {frame.info(), 25});
      Kept kept;
      joins->process({0, std::move(branch), {}, {}, 1}, kept);
      joins->process({0, std::move(frame)}, kept);
      const auto joined = metadata::find(kept.last);
      ASSERT_TRUE(joined);
      EXPECT_EQ(joined->all<metadata::Segmentation>().size(), 1u) << degrees << flip;
      EXPECT_EQ(joined->all<metadata::TensorOutput>().size(), 1u) << degrees << flip;
      EXPECT_EQ(joined->all<metadata::Zone>().size(), 2u) << degrees << flip;
      const auto objects = joined->all<metadata::Detection>();
      ASSERT_EQ(objects.size(), 2u) << degrees << flip;
      const bool lies = std::string(degrees) == "90" || std::string(degrees) == "270";
      EXPECT_EQ(objects[1]->box, lies ? (metadata::Box{39, 18, 42, 23}) : (metadata::Box{38, 19, 43, 22}));
    }
  }
}

TEST_F(Turn, AQuarterSwapsTheAspectOfPixels) {
  StreamInfo in;
  in.aspect_num = 4, in.aspect_den = 3;
  turned({{"degrees", "90"}}, painted({kNv12, 32, 16}), in);
  EXPECT_EQ(stream_.aspect_num, 3u);
  EXPECT_EQ(stream_.aspect_den, 4u);
  turned({{"degrees", "180"}}, painted({kNv12, 32, 16}), in);
  EXPECT_EQ(stream_.aspect_num, 4u);
}

TEST_F(Turn, FormatsWithChromaOfTwoColumnsAreRefused) {
  StreamInfo in;
  in.frame = {kYuy2, 32, 16};
  EXPECT_THAT(error_of(
                  [&] {
                    turn({{"degrees", "180"}})->open(0, in);
                  },
                  Code::kUnimplemented),
              HasSubstr("element 'turn': pictures of yuy2 share chroma"));
  EXPECT_NO_THROW(turn()->open(0, in)) << "nothing is to be turned";
  EXPECT_THAT(error_of(
                  [&] {
                    turn({{"degrees", "45"}});
                  },
                  Code::kInvalidArgument),
              HasSubstr("parameter 'degrees' is 45; it must be 0, 90, 180 or 270"));
}

TEST_F(Turn, TheSteadyStateAllocatesNothing) {
  const auto element = turn({{"degrees", "90"}});
  const Frame frame = painted({kNv12, 320, 180});
  StreamInfo in;
  in.frame = frame.info();
  element->open(0, in);
  element->allocate(0, {}, {});
  Kept kept;
  for (int i = 0; i < 5; ++i) element->process({0, frame}, kept);
  const auto before = tenon_test::allocations_of_this_thread();
  for (int i = 0; i < 20; ++i) element->process({0, frame}, kept);
  EXPECT_EQ(tenon_test::allocations_of_this_thread() - before, 0u);
}

}  // namespace turn_test
}  // namespace tenon::elements
