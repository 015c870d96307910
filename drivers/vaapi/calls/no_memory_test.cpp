// SPDX-License-Identifier: Apache-2.0
// One of the driver's allocations fails while the first picture of a stream is decoded: at most that picture is lost. The pictures after
// it need nothing of it but the parameter sets.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include <tenon/drivers/handles/testing/failing_allocation.hpp>
#include <tenon/drivers/vaapi/testing/client.hpp>
#include <tenon/drivers/vaapi/testing/fields.hpp>

namespace tenon::va::test {
namespace no_memory_test {

constexpr unsigned kWidth_mbs = 8, kWidth_px = kWidth_mbs * 16, kHeight_px = FieldStream::kFrameRows_mbs * 16;
constexpr std::size_t kPictures = 3;

class VaWithoutMemory : public VaTest {
 protected:
  void SetUp() override {
    VaTest::SetUp();
    FieldStream stream(kWidth_mbs);
    for (std::size_t i = 0; i < kPictures; ++i) stream.frame({FieldStream::kFrame, false, true});
    const std::string bytes = stream.bytes(), start{std::begin(kStartCode), std::end(kStartCode)};
    for (std::size_t at = 0; at < bytes.size();) {
      const std::size_t from = at + start.size();
      at = std::min(bytes.find(start, from), bytes.size());
      units_.emplace_back(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                          bytes.begin() + static_cast<std::ptrdiff_t>(at));
    }
    units_.erase(units_.begin(), units_.begin() + 2);  // The parameter sets: VA has its own.
    config_ = client.config(VAProfileH264Main, VAEntrypointVLD);
  }
  void TearDown() override { EXPECT_EQ(vaDestroyConfig(client, config_), VA_STATUS_SUCCESS); }

  handles::test::Allocations in_first_{"tenon_drv_video"};  ///< In the first picture that was decoded last.

  /// The luma of each picture. @param which  The allocation that fails in the first picture.
  std::vector<std::vector<std::uint8_t>> decode(long which) {
    VAContextID context = VA_INVALID_ID;
    EXPECT_EQ(vaCreateContext(client, config_, kWidth_px, kHeight_px, 0, nullptr, 0, &context), VA_STATUS_SUCCESS);
    std::vector<std::vector<std::uint8_t>> pictures;
    for (std::size_t i = 0; i < kPictures; ++i) {
      VASurfaceID surface = client.nv12(kWidth_px, kHeight_px);
      in_first_.failing = which;
      if (i == 0) {
        in_first_.count = 0;
        handles::test::counted = &in_first_;
      }
      decode(context, surface, i);
      vaSyncSurface(client, surface);
      handles::test::counted = nullptr;
      pictures.push_back(luma_of(surface));
      EXPECT_EQ(vaDestroySurfaces(client, &surface, 1), VA_STATUS_SUCCESS);
    }
    EXPECT_EQ(vaDestroyContext(client, context), VA_STATUS_SUCCESS);
    return pictures;
  }

 private:
  /// Whatever a call answers: a client goes on with the next picture.
  void decode(VAContextID context, VASurfaceID target, std::size_t index) {
    VAPictureParameterBufferH264 picture{};
    picture.CurrPic.picture_id = target;
    picture.picture_width_in_mbs_minus1 = kWidth_mbs - 1;
    picture.picture_height_in_mbs_minus1 = FieldStream::kFrameRows_mbs - 1;
    picture.num_ref_frames = 2;
    picture.seq_fields.bits.chroma_format_idc = 1;
    picture.seq_fields.bits.direct_8x8_inference_flag = 1;
    picture.seq_fields.bits.log2_max_pic_order_cnt_lsb_minus4 = 4;
    picture.pic_fields.bits.reference_pic_flag = 1;
    std::vector<VABufferID> ids;
    const auto add = [&](VABufferType type, void* data, std::size_t bytes) {
      VABufferID id = VA_INVALID_ID;
      if (vaCreateBuffer(client, context, type, static_cast<unsigned>(bytes), 1, data, &id) == VA_STATUS_SUCCESS)
        ids.push_back(id);
    };
    add(VAPictureParameterBufferType, &picture, sizeof picture);
    for (std::size_t slice = 0; slice < 2; ++slice) {
      std::vector<std::uint8_t>& unit = units_.at(2 * index + slice);
      VASliceParameterBufferH264 parameters{};
      parameters.slice_data_size = static_cast<std::uint32_t>(unit.size());
      add(VASliceParameterBufferType, &parameters, sizeof parameters);
      add(VASliceDataBufferType, unit.data(), unit.size());
    }
    if (vaBeginPicture(client, context, target) == VA_STATUS_SUCCESS) {
      vaRenderPicture(client, context, ids.data(), static_cast<int>(ids.size()));
      vaEndPicture(client, context);
    }
    for (const VABufferID id : ids) EXPECT_EQ(vaDestroyBuffer(client, id), VA_STATUS_SUCCESS);
  }
  std::vector<std::uint8_t> luma_of(VASurfaceID surface) {
    VAImage image{};
    void* bytes = nullptr;
    std::vector<std::uint8_t> luma;
    EXPECT_EQ(vaDeriveImage(client, surface, &image), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaMapBuffer(client, image.buf, &bytes), VA_STATUS_SUCCESS);
    for (unsigned y = 0; bytes && y < kHeight_px; ++y) {
      const auto* row = static_cast<std::uint8_t*>(bytes) + image.offsets[0] + y * image.pitches[0];
      luma.insert(luma.end(), row, row + kWidth_px);
    }
    EXPECT_EQ(vaUnmapBuffer(client, image.buf), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaDestroyImage(client, image.image_id), VA_STATUS_SUCCESS);
    return luma;
  }

  std::vector<std::vector<std::uint8_t>> units_;  ///< Two slices of each picture.
  VAConfigID config_ = VA_INVALID_ID;
};

TEST_F(VaWithoutMemory, OnePictureIsLostAtMost) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer has its own operator new";
#endif
  const auto whole = decode(0);
  const long count = in_first_.count;
  ASSERT_GT(count, 10) << "the driver's allocations are not seen";
  ASSERT_NE(std::count(whole[1].begin(), whole[1].end(), whole[1][0]), static_cast<std::ptrdiff_t>(whole[1].size()));
  for (long which = 1; which <= count; ++which) {
    const auto pictures = decode(which);
    for (std::size_t i = 1; i < kPictures; ++i)
      EXPECT_TRUE(pictures[i] == whole[i])
          << "picture " << i << " after allocation " << which << " of the first failed";
  }
}

}  // namespace no_memory_test
}  // namespace tenon::va::test
