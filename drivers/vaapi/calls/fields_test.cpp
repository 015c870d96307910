// SPDX-License-Identifier: Apache-2.0
// Two fields that are decoded into one surface, by a client that waits for each of them, and by one that does not.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include <tenon/drivers/vaapi/testing/client.hpp>
#include <tenon/drivers/vaapi/testing/fields.hpp>

namespace tenon::va::test {
namespace fields_test {

/// Three frames of two fields each, and the slices of these.
struct Fields {
  using Picture = FieldStream::Picture;
  static constexpr unsigned kHeight = FieldStream::kFrameRows_mbs * 16;

  explicit Fields(unsigned width_mbs) : width_mbs(width_mbs) {
    constexpr auto kTop = FieldStream::kTop, kBottom = FieldStream::kBottom;
    const Picture pictures[kCount] = {{kTop, false, true}, {kBottom, true}, {kTop, true},
                                      {kBottom, true},     {kBottom, true}, {kTop, true}};
    FieldStream stream(width_mbs);
    for (std::size_t i = 0; i < kCount; i += 2) stream.frame(pictures[i], pictures[i + 1]);
    const std::string bytes = stream.bytes(), start{std::begin(kStartCode), std::end(kStartCode)};
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t from = at + start.size();
      at = std::min(bytes.find(start, from), bytes.size());
      units.emplace_back(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                         bytes.begin() + static_cast<std::ptrdiff_t>(at));
    }
    units.erase(units.begin(), units.begin() + 2);  // The parameter sets: VA has its own.
  }
  unsigned width_px() const { return width_mbs * 16; }

  static constexpr std::size_t kCount = 6;
  unsigned width_mbs;
  std::vector<std::vector<std::uint8_t>> units;  ///< Two slices each.
};

class VaFields : public VaTest {
 protected:
  void SetUp() override {
    VaTest::SetUp();
    config_ = client.config(VAProfileH264Main, VAEntrypointVLD);
    EXPECT_EQ(vaCreateContext(client, config_, 128, Fields::kHeight, 0, nullptr, 0, &context_), VA_STATUS_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(vaDestroyContext(client, context_), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaDestroyConfig(client, config_), VA_STATUS_SUCCESS);
  }

  /// The luma of all frames.
  std::vector<std::uint8_t> decode(Fields fields, bool waits_for_each) {
    std::vector<VASurfaceID> frames;
    for (std::size_t i = 0; i < Fields::kCount; ++i) {
      if (i % 2 == 0) frames.push_back(client.nv12(fields.width_px(), Fields::kHeight));
      field(fields, frames.back(), i);
      if (waits_for_each) {
        EXPECT_EQ(vaSyncSurface(client, frames.back()), VA_STATUS_SUCCESS) << "field " << i;
      }
    }
    std::vector<std::uint8_t> luma;
    for (VASurfaceID& frame : frames) {
      EXPECT_EQ(vaSyncSurface(client, frame), VA_STATUS_SUCCESS);
      append_luma(frame, fields.width_px(), luma);
      EXPECT_EQ(vaDestroySurfaces(client, &frame, 1), VA_STATUS_SUCCESS);
    }
    EXPECT_EQ(luma.size(), 3u * fields.width_px() * Fields::kHeight);
    return luma;
  }

 private:
  void field(Fields& fields, VASurfaceID target, std::size_t index) {
    VAPictureParameterBufferH264 picture{};
    picture.CurrPic.picture_id = target;
    picture.picture_width_in_mbs_minus1 = static_cast<std::uint16_t>(fields.width_mbs - 1);
    picture.picture_height_in_mbs_minus1 = FieldStream::kFrameRows_mbs - 1;
    picture.num_ref_frames = 2;
    picture.seq_fields.bits.chroma_format_idc = 1;
    picture.seq_fields.bits.direct_8x8_inference_flag = 1;
    picture.seq_fields.bits.log2_max_pic_order_cnt_lsb_minus4 = 4;
    picture.pic_fields.bits.field_pic_flag = 1;
    picture.pic_fields.bits.reference_pic_flag = 1;
    std::vector<VABufferID> ids{buffer(VAPictureParameterBufferType, &picture, sizeof picture)};
    for (std::size_t slice = 0; slice < 2; ++slice) {
      std::vector<std::uint8_t>& unit = fields.units.at(2 * index + slice);
      VASliceParameterBufferH264 parameters{};
      parameters.slice_data_size = static_cast<std::uint32_t>(unit.size());
      parameters.num_ref_idx_l0_active_minus1 = index < 2 ? 0 : 1;
      ids.push_back(buffer(VASliceParameterBufferType, &parameters, sizeof parameters));
      ids.push_back(buffer(VASliceDataBufferType, unit.data(), unit.size()));
    }
    EXPECT_EQ(vaBeginPicture(client, context_, target), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaRenderPicture(client, context_, ids.data(), static_cast<int>(ids.size())), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaEndPicture(client, context_), VA_STATUS_SUCCESS);
    for (const VABufferID id : ids) EXPECT_EQ(vaDestroyBuffer(client, id), VA_STATUS_SUCCESS);
  }
  VABufferID buffer(VABufferType type, void* data, std::size_t bytes) {
    VABufferID id = VA_INVALID_ID;
    EXPECT_EQ(vaCreateBuffer(client, context_, type, static_cast<unsigned>(bytes), 1, data, &id), VA_STATUS_SUCCESS);
    return id;
  }
  void append_luma(VASurfaceID frame, unsigned width, std::vector<std::uint8_t>& to) {
    VAImage image{};
    void* bytes = nullptr;
    ASSERT_EQ(vaDeriveImage(client, frame, &image), VA_STATUS_SUCCESS);
    ASSERT_EQ(vaMapBuffer(client, image.buf, &bytes), VA_STATUS_SUCCESS);
    for (unsigned y = 0; y < Fields::kHeight; ++y) {
      const auto* row = static_cast<std::uint8_t*>(bytes) + image.offsets[0] + y * image.pitches[0];
      to.insert(to.end(), row, row + width);
    }
    EXPECT_EQ(vaUnmapBuffer(client, image.buf), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaDestroyImage(client, image.image_id), VA_STATUS_SUCCESS);
  }

  VAConfigID config_ = VA_INVALID_ID;
  VAContextID context_ = VA_INVALID_ID;
};

/// The clients of va_programs_test do not wait between fields; this test does.
TEST_F(VaFields, MayBeWaitedForOneByOne) {
  const std::vector<std::uint8_t> together = decode(Fields(6), false);
  EXPECT_EQ(decode(Fields(6), true), together);
  // Both fields of the first frame contain noise between 16 and 235.
  for (const unsigned row : {0u, 1u}) {
    const auto begin = together.begin() + row * 96;
    EXPECT_GT(*std::max_element(begin, begin + 96) - *std::min_element(begin, begin + 96), 10) << "row " << row;
  }
}

/// The picture's parameters stay the same; libavcodec forgets them with the sequence.
TEST_F(VaFields, MayChangeTheirSizeInOneContext) {
  const std::vector<std::uint8_t> small = decode(Fields(4), false);
  decode(Fields(8), false);
  EXPECT_EQ(decode(Fields(4), true), small);
}

}  // namespace fields_test
}  // namespace tenon::va::test
