// SPDX-License-Identifier: Apache-2.0
// Decoding by hand: what is refused, and with which status.
#include <cstdint>
#include <vector>

#include <tenon/drivers/vaapi/testing/client.hpp>

namespace tenon::va::test {
namespace {

class VaDecoding : public VaTest {
 protected:
  void SetUp() override {
    VaTest::SetUp();
    config_ = client.config(VAProfileH264High, VAEntrypointVLD);
    target = client.nv12(64, 64);
    ASSERT_EQ(vaCreateContext(client, config_, 64, 64, VA_PROGRESSIVE, &target, 1, &context), VA_STATUS_SUCCESS);
  }
  void TearDown() override {
    vaDestroyContext(client, context);
    vaDestroyConfig(client, config_);
  }
  static VAPictureParameterBufferH264 parameters() {
    VAPictureParameterBufferH264 picture{};
    picture.picture_width_in_mbs_minus1 = picture.picture_height_in_mbs_minus1 = 3;
    picture.num_ref_frames = 1;
    picture.seq_fields.bits.chroma_format_idc = 1;
    picture.seq_fields.bits.frame_mbs_only_flag = 1;
    return picture;
  }
  template <class T>
  VABufferID buffer(VABufferType type, std::vector<T> values) {
    VABufferID id = VA_INVALID_ID;
    EXPECT_EQ(
        vaCreateBuffer(client, context, type, sizeof(T), static_cast<unsigned>(values.size()), values.data(), &id),
        VA_STATUS_SUCCESS);
    return id;
  }
  /// What vaEndPicture says.
  VAStatus decode(const VAPictureParameterBufferH264& picture, const std::vector<std::uint8_t>& slice) {
    VASliceParameterBufferH264 parameters{};
    parameters.slice_data_size = static_cast<std::uint32_t>(slice.size());
    parameters.slice_data_flag = VA_SLICE_DATA_FLAG_ALL;
    VABufferID ids[] = {buffer<VAPictureParameterBufferH264>(VAPictureParameterBufferType, {picture}),
                        buffer<VASliceParameterBufferH264>(VASliceParameterBufferType, {parameters}),
                        buffer(VASliceDataBufferType, slice)};
    EXPECT_EQ(vaBeginPicture(client, context, target), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaRenderPicture(client, context, ids, 3), VA_STATUS_SUCCESS);
    const VAStatus ended = vaEndPicture(client, context);
    for (const VABufferID id : ids) EXPECT_EQ(vaDestroyBuffer(client, id), VA_STATUS_SUCCESS);
    return ended;
  }
  VASurfaceID target = VA_INVALID_SURFACE;
  VAContextID context = VA_INVALID_ID;

 private:
  VAConfigID config_ = VA_INVALID_ID;
};

const std::vector<std::uint8_t> kNoSlice{0x65, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/// VA-API has no field for the offsets of the parameter set.
TEST_F(VaDecoding, PictureOrderOfTypeOneIsRefused) {
  auto picture = parameters();
  picture.seq_fields.bits.pic_order_cnt_type = 1;
  EXPECT_EQ(decode(picture, kNoSlice), VA_STATUS_ERROR_UNIMPLEMENTED);
}

TEST_F(VaDecoding, WhatCannotBeDecodedIsToldBySync) {
  EXPECT_EQ(decode(parameters(), kNoSlice), VA_STATUS_SUCCESS) << "the call was right";
  EXPECT_EQ(vaSyncSurface(client, target), VA_STATUS_ERROR_DECODING_ERROR);
  VASurfaceStatus status{};
  EXPECT_EQ(vaQuerySurfaceStatus(client, target, &status), VA_STATUS_SUCCESS);
  EXPECT_EQ(status, VASurfaceReady);
}

}  // namespace
}  // namespace tenon::va::test
