// SPDX-License-Identifier: Apache-2.0
// Encoding call by call: required buffers, and the content of a coded buffer.
#include <cstdint>
#include <string>

#include <tenon/drivers/vaapi/testing/client.hpp>

namespace tenon::va::test {
namespace encode_test {

class VaEncode : public VaTest {
 protected:
  void SetUp() override {
    VaTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    VAConfigID config = VA_INVALID_ID;
    const VAStatus status = vaCreateConfig(client, VAProfileH264High, VAEntrypointEncSlice, nullptr, 0, &config);
    if (status == VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT) GTEST_SKIP() << "libavcodec has no libx264";
    ASSERT_EQ(status, VA_STATUS_SUCCESS);
    ASSERT_EQ(vaCreateContext(client, config, 64, 64, VA_PROGRESSIVE, nullptr, 0, &context), VA_STATUS_SUCCESS);
    source = client.nv12(64, 64);
  }

  template <class T>
  VABufferID buffer(VABufferType type, T value) {
    VABufferID id = VA_INVALID_ID;
    EXPECT_EQ(vaCreateBuffer(client, context, type, sizeof value, 1, &value, &id), VA_STATUS_SUCCESS);
    return id;
  }
  VABufferID coded(unsigned size) {
    VABufferID id = VA_INVALID_ID;
    EXPECT_EQ(vaCreateBuffer(client, context, VAEncCodedBufferType, size, 1, nullptr, &id), VA_STATUS_SUCCESS);
    return id;
  }
  VAStatus encode(VABufferID to, bool is_idr, unsigned macroblocks_across = 4) {
    VAEncSequenceParameterBufferH264 sequence{};
    sequence.picture_width_in_mbs = static_cast<std::uint16_t>(macroblocks_across);
    sequence.picture_height_in_mbs = 4;
    VAEncPictureParameterBufferH264 picture{};
    picture.coded_buf = to;
    picture.pic_init_qp = 30;
    picture.pic_fields.bits.idr_pic_flag = is_idr;
    VAEncSliceParameterBufferH264 slice{};
    VABufferID buffers[] = {buffer(VAEncSequenceParameterBufferType, sequence),
                            buffer(VAEncPictureParameterBufferType, picture),
                            buffer(VAEncSliceParameterBufferType, slice)};
    EXPECT_EQ(vaBeginPicture(client, context, source), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaRenderPicture(client, context, buffers, 3), VA_STATUS_SUCCESS);
    const VAStatus status = vaEndPicture(client, context);
    for (const VABufferID one : buffers) vaDestroyBuffer(client, one);
    return status;
  }
  /// The types of the NAL units in a coded buffer.
  std::string units(VABufferID id, std::uint32_t* status = nullptr) {
    void* address = nullptr;
    EXPECT_EQ(vaMapBuffer(client, id, &address), VA_STATUS_SUCCESS);
    const auto& segment = *static_cast<const VACodedBufferSegment*>(address);
    EXPECT_EQ(segment.next, nullptr);
    if (status) *status = segment.status;
    const auto* bytes = static_cast<const std::uint8_t*>(segment.buf);
    std::string found;
    for (unsigned i = 0; i + 3 < segment.size; ++i)
      if (bytes[i] == 0 && bytes[i + 1] == 0 && bytes[i + 2] == 1) found += std::to_string(bytes[i + 3] & 31) + " ";
    EXPECT_EQ(vaUnmapBuffer(client, id), VA_STATUS_SUCCESS);
    return found;
  }

  VAContextID context = VA_INVALID_ID;
  VASurfaceID source = VA_INVALID_SURFACE;
};

TEST_F(VaEncode, GivesParameterSetsWithEachSequence) {
  const VABufferID to = coded(1 << 16);
  ASSERT_EQ(encode(to, true), VA_STATUS_SUCCESS);
  EXPECT_EQ(units(to).substr(0, 4), "7 8 ");
  EXPECT_NE(units(to).find("5 "), std::string::npos);
  ASSERT_EQ(encode(to, false), VA_STATUS_SUCCESS);
  EXPECT_EQ(units(to).find_first_not_of("1 "), std::string::npos) << "slices of a P picture and nothing else";
  ASSERT_EQ(encode(to, true), VA_STATUS_SUCCESS);
  EXPECT_NE(units(to).find("7 8 "), std::string::npos);
}

TEST_F(VaEncode, ABufferThatIsTooSmallSaysSo) {
  const VABufferID to = coded(16);
  ASSERT_EQ(encode(to, true), VA_STATUS_SUCCESS);
  std::uint32_t status = 0;
  units(to, &status);
  EXPECT_TRUE(status & VA_CODED_BUF_STATUS_SLICE_OVERFLOW_MASK);
}

TEST_F(VaEncode, WhatIsMissingOrWrongIsAStatus) {
  EXPECT_EQ(vaBeginPicture(client, context, source), VA_STATUS_SUCCESS);
  EXPECT_EQ(vaEndPicture(client, context), VA_STATUS_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(encode(VA_INVALID_ID, true), VA_STATUS_ERROR_INVALID_BUFFER);
  EXPECT_EQ(encode(source, true), VA_STATUS_ERROR_INVALID_BUFFER);
  const VABufferID to = coded(1 << 16);
  EXPECT_EQ(encode(to, true, 0), VA_STATUS_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(encode(to, true, 5), VA_STATUS_ERROR_INVALID_PARAMETER) << "wider than the surface";
  EXPECT_EQ(encode(to, false), VA_STATUS_SUCCESS) << "the first picture begins a sequence in any case";
  EXPECT_EQ(units(to).substr(0, 4), "7 8 ");
  VABufferID header = VA_INVALID_ID;
  VAEncPackedHeaderParameterBuffer packed{};
  ASSERT_EQ(vaCreateBuffer(client, context, VAEncPackedHeaderParameterBufferType, sizeof packed, 1, &packed, &header),
            VA_STATUS_SUCCESS);
  EXPECT_EQ(vaBeginPicture(client, context, source), VA_STATUS_SUCCESS);
  EXPECT_EQ(vaRenderPicture(client, context, &header, 1), VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE);
}

/// The same by HEVC, in 8 or 10 bits.
class VaEncodeHevc : public VaTest, public ::testing::WithParamInterface<VAProfile> {
 protected:
  void SetUp() override {
    VaTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    is_deep = GetParam() == VAProfileHEVCMain10;
    VAConfigID config = VA_INVALID_ID;
    const VAStatus status = vaCreateConfig(client, GetParam(), VAEntrypointEncSlice, nullptr, 0, &config);
    if (status == VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT) GTEST_SKIP() << "libavcodec has no libx265 of these bits";
    ASSERT_EQ(status, VA_STATUS_SUCCESS);
    ASSERT_EQ(vaCreateContext(client, config, 64, 64, VA_PROGRESSIVE, nullptr, 0, &context), VA_STATUS_SUCCESS);
    const unsigned format = is_deep ? VA_RT_FORMAT_YUV420_10 : VA_RT_FORMAT_YUV420;
    ASSERT_EQ(vaCreateSurfaces(client, format, 64, 64, &source, 1, nullptr, 0), VA_STATUS_SUCCESS);
    ASSERT_EQ(vaCreateBuffer(client, context, VAEncCodedBufferType, 1 << 16, 1, nullptr, &coded), VA_STATUS_SUCCESS);
  }

  VAStatus encode(bool is_idr, int quantiser = 30, unsigned width_px = 64) {
    VAEncSequenceParameterBufferHEVC sequence{};
    sequence.pic_width_in_luma_samples = static_cast<std::uint16_t>(width_px);
    sequence.pic_height_in_luma_samples = 64;
    VAEncPictureParameterBufferHEVC picture{};
    picture.coded_buf = coded;
    picture.pic_init_qp = static_cast<std::uint8_t>(quantiser);
    picture.pic_fields.bits.idr_pic_flag = is_idr;
    VAEncSliceParameterBufferHEVC slice{};
    VABufferID buffers[3];
    const auto make = [&](VABufferType type, auto value, VABufferID& id) {
      EXPECT_EQ(vaCreateBuffer(client, context, type, sizeof value, 1, &value, &id), VA_STATUS_SUCCESS);
    };
    make(VAEncSequenceParameterBufferType, sequence, buffers[0]);
    make(VAEncPictureParameterBufferType, picture, buffers[1]);
    make(VAEncSliceParameterBufferType, slice, buffers[2]);
    EXPECT_EQ(vaBeginPicture(client, context, source), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaRenderPicture(client, context, buffers, 3), VA_STATUS_SUCCESS);
    const VAStatus status = vaEndPicture(client, context);
    for (const VABufferID one : buffers) vaDestroyBuffer(client, one);
    return status;
  }

  /// The types of the NAL units that were coded. @source ITU-T H.265, table 7-1
  std::string units() {
    void* address = nullptr;
    EXPECT_EQ(vaMapBuffer(client, coded, &address), VA_STATUS_SUCCESS);
    const auto& segment = *static_cast<const VACodedBufferSegment*>(address);
    const auto* bytes = static_cast<const std::uint8_t*>(segment.buf);
    std::string found;
    for (unsigned i = 0; i + 3 < segment.size; ++i)
      if (bytes[i] == 0 && bytes[i + 1] == 0 && bytes[i + 2] == 1)
        found += std::to_string(bytes[i + 3] >> 1 & 63) + " ";
    EXPECT_EQ(vaUnmapBuffer(client, coded), VA_STATUS_SUCCESS);
    return found;
  }

  bool is_deep = false;
  VAContextID context = VA_INVALID_ID;
  VASurfaceID source = VA_INVALID_SURFACE;
  VABufferID coded = VA_INVALID_ID;
};

TEST_P(VaEncodeHevc, EachPictureIsCodedWhenItIsGiven) {
  ASSERT_EQ(encode(true), VA_STATUS_SUCCESS);
  EXPECT_EQ(units().substr(0, 9), "32 33 34 ") << "video, sequence and picture parameters";
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(encode(false), VA_STATUS_SUCCESS);
    EXPECT_EQ(units(), "1 ") << "a picture that others may refer to, and nothing else";
  }
  ASSERT_EQ(encode(true, 20), VA_STATUS_SUCCESS);
  EXPECT_EQ(units().substr(0, 9), "32 33 34 ");
}

TEST_P(VaEncodeHevc, WhatIsMissingOrWrongIsAStatus) {
  EXPECT_EQ(vaBeginPicture(client, context, source), VA_STATUS_SUCCESS);
  EXPECT_EQ(vaEndPicture(client, context), VA_STATUS_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(encode(true, 30, 0), VA_STATUS_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(encode(true, 30, 128), VA_STATUS_ERROR_INVALID_PARAMETER) << "wider than the surface by a whole block";
  EXPECT_EQ(encode(false, 255), VA_STATUS_SUCCESS) << "the first picture begins a sequence in any case";
  EXPECT_EQ(units().substr(0, 9), "32 33 34 ");
  EXPECT_EQ(encode(true, 30, 80), VA_STATUS_SUCCESS) << "rounded up to blocks";
}

INSTANTIATE_TEST_SUITE_P(, VaEncodeHevc, ::testing::Values(VAProfileHEVCMain, VAProfileHEVCMain10),
                         [](const auto& info) { return info.param == VAProfileHEVCMain ? "Main" : "Main10"; });

}  // namespace encode_test
}  // namespace tenon::va::test
