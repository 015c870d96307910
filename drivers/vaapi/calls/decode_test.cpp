// SPDX-License-Identifier: Apache-2.0
// Decoding call by call: refused calls, and their status.
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
  /// Returns the status of vaEndPicture.
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

/// Refused, because VA-API has no field for the offsets of the parameter set.
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

/// A grey JPEG large enough to take a while.
class VaLongDecoding : public VaTest {
 protected:
  static constexpr unsigned kSide = 4096;
  void SetUp() override {
    VaTest::SetUp();
    config_ = client.config(VAProfileJPEGBaseline, VAEntrypointVLD);
    target = client.nv12(kSide, kSide);
    ASSERT_EQ(vaCreateContext(client, config_, kSide, kSide, VA_PROGRESSIVE, &target, 1, &context), VA_STATUS_SUCCESS);
  }
  void TearDown() override {
    vaDestroyContext(client, context);
    vaDestroyConfig(client, config_);
    vaDestroySurfaces(client, &target, 1);
  }
  template <class T>
  VABufferID buffer(VABufferType type, T& value, std::size_t bytes = sizeof(T)) {
    VABufferID id = VA_INVALID_ID;
    EXPECT_EQ(vaCreateBuffer(client, context, type, static_cast<unsigned>(bytes), 1, &value, &id), VA_STATUS_SUCCESS);
    return id;
  }
  /// Begins to decode it; every block is two bits: no difference, and the end.
  void begin() {
    VAPictureParameterBufferJPEGBaseline picture{};
    picture.picture_width = picture.picture_height = kSide;
    picture.num_components = 3;
    VASliceParameterBufferJPEGBaseline scan{};
    scan.num_components = 3;
    for (std::uint8_t i = 0; i < 3; ++i) {
      picture.components[i] = {static_cast<std::uint8_t>(i + 1), static_cast<std::uint8_t>(i == 0 ? 2 : 1),
                               static_cast<std::uint8_t>(i == 0 ? 2 : 1), 0};
      scan.components[i].component_selector = static_cast<std::uint8_t>(i + 1);
    }
    VAIQMatrixBufferJPEGBaseline matrix{};
    matrix.load_quantiser_table[0] = 1;
    for (std::uint8_t& value : matrix.quantiser_table[0]) value = 16;
    VAHuffmanTableBufferJPEGBaseline huffman{};
    huffman.load_huffman_table[0] = 1;
    huffman.huffman_table[0].num_dc_codes[0] = huffman.huffman_table[0].num_ac_codes[0] = 1;
    std::vector<std::uint8_t> bits(std::size_t{kSide / 16} * (kSide / 16) * 12 / 8 + 8);
    scan.slice_data_size = static_cast<std::uint32_t>(bits.size());
    scan.num_mcus = kSide / 16 * (kSide / 16);
    VABufferID ids[] = {buffer(VAPictureParameterBufferType, picture), buffer(VAIQMatrixBufferType, matrix),
                        buffer(VAHuffmanTableBufferType, huffman), buffer(VASliceParameterBufferType, scan),
                        buffer(VASliceDataBufferType, bits[0], bits.size())};
    EXPECT_EQ(vaBeginPicture(client, context, target), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaRenderPicture(client, context, ids, 5), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaEndPicture(client, context), VA_STATUS_SUCCESS);
    for (const VABufferID id : ids) EXPECT_EQ(vaDestroyBuffer(client, id), VA_STATUS_SUCCESS) << "read already";
  }
  /// The last byte of the luma plane.
  int corner() {
    VAImage image{};
    void* bytes = nullptr;
    EXPECT_EQ(vaDeriveImage(client, target, &image), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaMapBuffer(client, image.buf, &bytes), VA_STATUS_SUCCESS);
    const int value = static_cast<std::uint8_t*>(bytes)[image.offsets[0] + image.pitches[0] * (kSide - 1) + kSide - 1];
    EXPECT_EQ(vaUnmapBuffer(client, image.buf), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaDestroyImage(client, image.image_id), VA_STATUS_SUCCESS);
    return value;
  }
  VASurfaceID target = VA_INVALID_SURFACE;
  VAContextID context = VA_INVALID_ID;

 private:
  VAConfigID config_ = VA_INVALID_ID;
};

TEST_F(VaLongDecoding, RunsOnAndIsWaitedFor) {
  begin();
  VASurfaceStatus status{};
  EXPECT_EQ(vaQuerySurfaceStatus(client, target, &status), VA_STATUS_SUCCESS);
  EXPECT_EQ(status, VASurfaceRendering);
  EXPECT_EQ(vaSyncSurface2(client, target, 0), VA_STATUS_ERROR_TIMEDOUT);
  EXPECT_EQ(vaSyncSurface2(client, target, 1000), VA_STATUS_ERROR_TIMEDOUT);
  EXPECT_EQ(vaSyncSurface(client, target), VA_STATUS_SUCCESS);
  EXPECT_EQ(vaQuerySurfaceStatus(client, target, &status), VA_STATUS_SUCCESS);
  EXPECT_EQ(status, VASurfaceReady);
  EXPECT_EQ(vaSyncSurface2(client, target, 0), VA_STATUS_SUCCESS);
  EXPECT_EQ(corner(), 128);
}

/// Readers of pixels need not call vaSyncSurface, nor need importers that map the dma-buf.
TEST_F(VaLongDecoding, PixelsAreSeenWhenTheyAreThere) {
  begin();
  EXPECT_EQ(corner(), 128) << "mapped";
  begin();
  begin();
  VADRMPRIMESurfaceDescriptor shared{};
  EXPECT_EQ(vaExportSurfaceHandle(client, target, VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2, VA_EXPORT_SURFACE_READ_ONLY,
                                  &shared),
            VA_STATUS_SUCCESS);
  EXPECT_EQ(vaSyncSurface2(client, target, 0), VA_STATUS_SUCCESS) << "exported";
  const UniqueFd fd(shared.objects[0].fd);
  begin();
  EXPECT_EQ(vaSyncSurface2(client, target, 0), VA_STATUS_SUCCESS) << "any holder of the descriptor may read it now";
}

TEST_F(VaLongDecoding, WhatBeganIsDoneWhenTheContextOrTheSurfaceGoes) {
  begin();
  EXPECT_EQ(vaDestroyContext(client, context), VA_STATUS_SUCCESS);
  EXPECT_EQ(vaSyncSurface(client, target), VA_STATUS_SUCCESS);
  EXPECT_EQ(corner(), 128);
  VAConfigID config = client.config(VAProfileJPEGBaseline, VAEntrypointVLD);
  ASSERT_EQ(vaCreateContext(client, config, kSide, kSide, VA_PROGRESSIVE, &target, 1, &context), VA_STATUS_SUCCESS);
  begin();
  EXPECT_EQ(vaDestroySurfaces(client, &target, 1), VA_STATUS_SUCCESS);
  EXPECT_EQ(vaSyncSurface(client, target), VA_STATUS_ERROR_INVALID_SURFACE);
  EXPECT_EQ(vaDestroyConfig(client, config), VA_STATUS_SUCCESS);
}

}  // namespace
}  // namespace tenon::va::test
