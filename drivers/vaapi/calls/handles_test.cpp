// SPDX-License-Identifier: Apache-2.0
// Null, foreign, stale and wrong-kind ids, and calls in any order: each gives the status that va.h names.
#include <array>
#include <random>

#include <tenon/drivers/vaapi/testing/client.hpp>

namespace tenon::va::test {
namespace calls_handles_test {

using VaHandles = VaTest;

TEST_F(VaHandles, EveryCallJudgesItsIds) {
  const VAConfigID config = client.config(VAProfileH264High, VAEntrypointVLD);
  const VASurfaceID surface = client.nv12(64, 64);
  VAContextID context = VA_INVALID_ID;
  ASSERT_EQ(vaCreateContext(client, config, 64, 64, VA_PROGRESSIVE, nullptr, 0, &context), VA_STATUS_SUCCESS);
  Client other;
  ASSERT_TRUE(other.works());
  const VASurfaceID foreign = other.nv12(64, 64);
  for (const VAGenericID bad : {VAGenericID{0}, VAGenericID{VA_INVALID_ID}, VAGenericID{0x80000000}, foreign, config}) {
    SCOPED_TRACE(bad);
    VASurfaceID list = bad;
    VASurfaceStatus status{};
    VAImage image{};
    void* address = nullptr;
    EXPECT_EQ(vaDestroySurfaces(client, &list, 1), VA_STATUS_ERROR_INVALID_SURFACE);
    EXPECT_EQ(vaSyncSurface(client, bad), VA_STATUS_ERROR_INVALID_SURFACE);
    EXPECT_EQ(vaQuerySurfaceStatus(client, bad, &status), VA_STATUS_ERROR_INVALID_SURFACE);
    EXPECT_EQ(vaDeriveImage(client, bad, &image), VA_STATUS_ERROR_INVALID_SURFACE);
    EXPECT_EQ(vaGetImage(client, bad, 0, 0, 1, 1, bad), VA_STATUS_ERROR_INVALID_SURFACE);
    EXPECT_EQ(vaGetImage(client, surface, 0, 0, 1, 1, bad), VA_STATUS_ERROR_INVALID_IMAGE);
    EXPECT_EQ(vaDestroyImage(client, bad), VA_STATUS_ERROR_INVALID_IMAGE);
    EXPECT_EQ(vaMapBuffer(client, bad, &address), VA_STATUS_ERROR_INVALID_BUFFER);
    EXPECT_EQ(vaUnmapBuffer(client, bad), VA_STATUS_ERROR_INVALID_BUFFER);
    EXPECT_EQ(vaDestroyBuffer(client, bad), VA_STATUS_ERROR_INVALID_BUFFER);
    EXPECT_EQ(vaBeginPicture(client, bad, surface), VA_STATUS_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(vaBeginPicture(client, context, bad), VA_STATUS_ERROR_INVALID_SURFACE);
    EXPECT_EQ(vaEndPicture(client, bad), VA_STATUS_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(vaDestroyContext(client, bad), VA_STATUS_ERROR_INVALID_CONTEXT);
    EXPECT_EQ(vaDestroySubpicture(client, bad), VA_STATUS_ERROR_INVALID_SUBPICTURE);
    if (bad != config) {
      VAContextID made = 0;
      EXPECT_EQ(vaCreateContext(client, bad, 64, 64, 0, nullptr, 0, &made), VA_STATUS_ERROR_INVALID_CONFIG);
      EXPECT_EQ(vaDestroyConfig(client, bad), VA_STATUS_ERROR_INVALID_CONFIG);
    }
  }
}

TEST_F(VaHandles, PicturesAreBegunRenderedAndEndedInThisOrder) {
  const VAConfigID config = client.config(VAProfileH264High, VAEntrypointVLD);
  const VASurfaceID surface = client.nv12(64, 64);
  VAContextID context = VA_INVALID_ID;
  ASSERT_EQ(vaCreateContext(client, config, 64, 64, VA_PROGRESSIVE, nullptr, 0, &context), VA_STATUS_SUCCESS);
  EXPECT_EQ(vaEndPicture(client, context), VA_STATUS_ERROR_OPERATION_FAILED);
  VABufferID buffer = VA_INVALID_ID;
  EXPECT_EQ(vaCreateBuffer(client, context, VAEncCodedBufferType, 16, 1, nullptr, &buffer),
            VA_STATUS_ERROR_UNSUPPORTED_BUFFERTYPE);
  EXPECT_EQ(vaCreateBuffer(client, context, VASliceDataBufferType, 0xffffffff, 0xffffffff, nullptr, &buffer),
            VA_STATUS_ERROR_ALLOCATION_FAILED);
  ASSERT_EQ(vaCreateBuffer(client, context, VAPictureParameterBufferType, 8, 1, nullptr, &buffer), VA_STATUS_SUCCESS);
  EXPECT_EQ(vaRenderPicture(client, context, &buffer, 1), VA_STATUS_ERROR_OPERATION_FAILED);
  ASSERT_EQ(vaBeginPicture(client, context, surface), VA_STATUS_SUCCESS);
  EXPECT_EQ(vaRenderPicture(client, context, &buffer, 1), VA_STATUS_ERROR_INVALID_BUFFER) << "too short for its type";
  EXPECT_EQ(vaEndPicture(client, context), VA_STATUS_ERROR_INVALID_PARAMETER) << "nothing was rendered";
  EXPECT_EQ(vaDestroyContext(client, context), VA_STATUS_SUCCESS);
  EXPECT_EQ(vaDestroyBuffer(client, buffer), VA_STATUS_SUCCESS) << "a buffer outlives its context";
}

TEST_F(VaHandles, GarbageInEveryBufferIsAStatus) {
  std::mt19937 random(7);
  std::vector<VAProfile> profiles(static_cast<std::size_t>(vaMaxNumProfiles(client)));
  int count = 0;
  ASSERT_EQ(vaQueryConfigProfiles(client, profiles.data(), &count), VA_STATUS_SUCCESS);
  for (int i = 0; i < count; ++i) {
    const VAProfile profile = profiles[static_cast<std::size_t>(i)];
    if (profile == VAProfileNone) continue;
    SCOPED_TRACE(vaProfileStr(profile));
    const VAConfigID config = client.config(profile, VAEntrypointVLD);
    const VASurfaceID surface = client.nv12(64, 64);
    VAContextID context = VA_INVALID_ID;
    ASSERT_EQ(vaCreateContext(client, config, 64, 64, VA_PROGRESSIVE, nullptr, 0, &context), VA_STATUS_SUCCESS);
    for (int round = 0; round < 60; ++round) {
      EXPECT_EQ(vaBeginPicture(client, context, surface), VA_STATUS_SUCCESS);
      std::vector<VABufferID> buffers;
      for (const VABufferType type : {VAPictureParameterBufferType, VAIQMatrixBufferType, VASliceParameterBufferType,
                                      VASliceDataBufferType, VAHuffmanTableBufferType}) {
        std::vector<std::uint8_t> bytes(8192);
        // Mostly small numbers, so that some get past the first checks.
        for (auto& byte : bytes) byte = static_cast<std::uint8_t>(round % 3 ? random() % 4 : random());
        VABufferID buffer = VA_INVALID_ID;
        if (vaCreateBuffer(client, context, type, static_cast<unsigned>(bytes.size()), 1, bytes.data(), &buffer) ==
            VA_STATUS_SUCCESS)
          buffers.push_back(buffer);
      }
      for (VABufferID buffer : buffers) vaRenderPicture(client, context, &buffer, 1);
      vaEndPicture(client, context);
      vaSyncSurface(client, surface);
      for (const VABufferID buffer : buffers) EXPECT_EQ(vaDestroyBuffer(client, buffer), VA_STATUS_SUCCESS);
    }
    EXPECT_EQ(vaDestroyContext(client, context), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaDestroyConfig(client, config), VA_STATUS_SUCCESS);
  }
}

TEST_F(VaHandles, ConfigurationsTellAndRefuse) {
  VAConfigID id = 0;
  EXPECT_EQ(vaCreateConfig(client, VAProfileVC1Main, VAEntrypointVLD, nullptr, 0, &id),
            VA_STATUS_ERROR_UNSUPPORTED_PROFILE);
  EXPECT_EQ(vaCreateConfig(client, VAProfileH264High, VAEntrypointMoComp, nullptr, 0, &id),
            VA_STATUS_ERROR_UNSUPPORTED_ENTRYPOINT);
  VAConfigAttrib wish{VAConfigAttribRTFormat, VA_RT_FORMAT_YUV444};
  EXPECT_EQ(vaCreateConfig(client, VAProfileH264High, VAEntrypointVLD, &wish, 1, &id),
            VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT);
  wish = {VAConfigAttribEncryption, 1};
  EXPECT_EQ(vaCreateConfig(client, VAProfileH264High, VAEntrypointVLD, &wish, 1, &id), VA_STATUS_ERROR_INVALID_VALUE);
  const VAConfigID config = client.config(VAProfileH264High, VAEntrypointVLD);
  unsigned count = 0;
  EXPECT_EQ(vaQuerySurfaceAttributes(client, config, nullptr, &count), VA_STATUS_SUCCESS);
  ASSERT_GT(count, 5u);
  std::vector<VASurfaceAttrib> attributes(count);
  unsigned less = count - 1;
  EXPECT_EQ(vaQuerySurfaceAttributes(client, config, attributes.data(), &less), VA_STATUS_ERROR_MAX_NUM_EXCEEDED);
  EXPECT_EQ(less, count);
  EXPECT_EQ(vaQuerySurfaceAttributes(client, config, attributes.data(), &count), VA_STATUS_SUCCESS);
}

}  // namespace calls_handles_test
}  // namespace tenon::va::test
