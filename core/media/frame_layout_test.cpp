// SPDX-License-Identifier: Apache-2.0
// The tables of formats: names and fourccs are unique, and components lie inside their planes.
#include <tenon/core/frame_layout.hpp>

#include <set>
#include <span>
#include <string>

#include <gtest/gtest.h>

#include <tenon/core/carried_formats.hpp>
#include <tenon/core/error.hpp>

namespace frame_layout_test {

using namespace tenon;

std::span<const PixelFormatInfo> known() {
  std::size_t count = 0;
  const PixelFormatInfo* const all = all_formats(count);
  return {all, count};
}

TEST(PixelFormats, HaveNamesAndFourccsOfTheirOwn) {
  std::set<std::string_view> names;
  std::set<std::uint32_t> fourccs;
  for (const PixelFormatInfo& one : known()) {
    EXPECT_TRUE(names.insert(one.name).second) << one.name;
    EXPECT_TRUE(fourccs.insert(one.format.fourcc).second) << one.name;
    EXPECT_EQ(format_from_name(one.name), one.format) << one.name;
    EXPECT_EQ(to_string(one.format), one.name);
  }
}

TEST(PixelFormats, AreKnownInBothByteOrdersWhereThereAreTwo) {
  for (const PixelFormatInfo& one : known()) {
    if (is_big_endian(one.format)) continue;
    const PixelFormatInfo* const other = find_format(big_endian(one.format).fourcc);
    ASSERT_EQ(other != nullptr, one.sample != ElementType::kU8) << one.name;
    if (!other) continue;
    EXPECT_EQ(other->name, std::string(one.name) + "be");
    EXPECT_EQ(other->sample, one.sample) << one.name;
    EXPECT_EQ(other->plane_count, one.plane_count) << one.name;
  }
}

TEST(FrameLayouts, LieInsideThePlanesOfEveryFormat) {
  std::size_t read = 0;
  for (const PixelFormatInfo& one : known()) {
    if (!is_readable(one.format)) {
      EXPECT_THROW(frame_layout({one.format, 16, 8}), Error) << one.name;
      continue;
    }
    ++read;
    for (const std::uint32_t width : {1u, 2u, 7u, 16u}) {
      const FrameInfo info{one.format, width, 5};
      const FrameLayout layout = frame_layout(info);
      EXPECT_EQ(layout.sample_type(), one.sample) << one.name;
      EXPECT_EQ(layout.plane_count + layout.has_alpha_plane, one.plane_count) << one.name;
      for (std::size_t k = 0; k < layout.component_count; ++k) {
        const FrameComponent& c = layout.components[k];
        const PlaneExtent extent = plane_extent(info, c.plane);
        const std::size_t last = ((width - 1u) >> c.shift_x) * c.step + c.offset;
        EXPECT_LT(last, std::size_t{extent.width_px} * extent.channels) << one.name << " component " << k;
        EXPECT_LT(4u >> c.shift_y, extent.height_px) << one.name << " component " << k;
      }
    }
  }
  EXPECT_EQ(read, readable_formats().size());
}

TEST(FrameLayouts, TakeAndGiveValuesOfWideSamples) {
  const auto layout = [](PixelFormat format) { return frame_layout({format, 8, 8}); };
  EXPECT_EQ(layout(kP010).value_of(0xffc0), 1023);
  EXPECT_EQ(layout(kP010).sample_of(1023), 0xffc0);
  EXPECT_EQ(layout(big_endian(kP010)).value_of(0xc0ff), 1023);
  EXPECT_EQ(layout(kI420p10).value_of(0x03ff), 1023);
  EXPECT_EQ(layout(kI420p10).value_of(0xffff), 1023) << "bits above the value mean nothing";
  EXPECT_EQ(layout(big_endian(kGray16)).value_of(0x3412), 0x1234);
  EXPECT_EQ(layout(big_endian(kGray16)).sample_of(0x1234), 0x3412);
}

TEST(FrameLayouts, SayWhyAFormatIsNotRead) {
  const auto why = [](PixelFormat format) -> std::string {
    try {
      frame_layout({format, 16, 16});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Code::kUnimplemented);
      return error.what();
    }
    return {};
  };
  EXPECT_NE(why({kNv12.fourcc, 1}).find("tiled"), std::string::npos);
  EXPECT_NE(why(kGrayF32).find("real numbers"), std::string::npos);
  EXPECT_NE(why(kRgb565).find("share a word"), std::string::npos);
  EXPECT_NE(why(big_endian(kRgb10a2)).find("share a word"), std::string::npos);
  EXPECT_NE(why({fourcc('Z', 'Z', 'Z', 'Z')}).find("not known"), std::string::npos);
  EXPECT_EQ(why(kI420p10), "");
}

}  // namespace frame_layout_test
