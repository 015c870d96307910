// SPDX-License-Identifier: Apache-2.0
// Video processing call by call: filters, their parameters, and refused calls.
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include <va/va.h>
#include <va/va_vpp.h>

#include <tenon/drivers/vaapi/testing/client.hpp>

namespace tenon::va::test {
namespace calls_process_test {

constexpr unsigned kWidth = 32, kHeight = 16;

class VaProcessing : public VaTest {
 protected:
  void SetUp() override {
    VaTest::SetUp();
    config_ = client.config(VAProfileNone, VAEntrypointVideoProc);
    ASSERT_EQ(vaCreateContext(client, config_, 0, 0, 0, nullptr, 0, &context), VA_STATUS_SUCCESS);
  }
  void TearDown() override {
    vaDestroyContext(client, context);
    vaDestroyConfig(client, config_);
  }

  using Luma = std::function<int(unsigned x, unsigned y)>;
  VASurfaceID picture(const Luma& luma) {
    const VASurfaceID id = client.nv12(kWidth, kHeight);
    visit(id, [&](const VAImage& image, std::uint8_t* bytes) {
      for (unsigned y = 0; y < kHeight; ++y)
        for (unsigned x = 0; x < kWidth; ++x)
          bytes[image.offsets[0] + y * image.pitches[0] + x] = static_cast<std::uint8_t>(luma(x, y));
      for (unsigned y = 0; y < kHeight / 2; ++y)
        std::memset(bytes + image.offsets[1] + y * image.pitches[1], static_cast<int>(100 + y), kWidth);
    });
    return id;
  }
  /// The samples of one plane, row by row.
  std::vector<int> plane(VASurfaceID id, unsigned number) {
    std::vector<int> samples;
    visit(id, [&](const VAImage& image, const std::uint8_t* bytes) {
      for (unsigned y = 0; y < (number ? kHeight / 2 : kHeight); ++y)
        for (unsigned x = 0; x < kWidth; ++x)
          samples.push_back(bytes[image.offsets[number] + y * image.pitches[number] + x]);
    });
    return samples;
  }
  VABufferID filter(VAProcFilterParameterBufferDeinterlacing parameters, unsigned size = sizeof parameters) {
    VABufferID id = VA_INVALID_ID;
    EXPECT_EQ(vaCreateBuffer(client, context, VAProcFilterParameterBufferType, size, 1, &parameters, &id),
              VA_STATUS_SUCCESS);
    return id;
  }
  static VAProcFilterParameterBufferDeinterlacing parameters(int algorithm, std::uint32_t flags = 0) {
    VAProcFilterParameterBufferDeinterlacing made{};
    made.type = VAProcFilterDeinterlacing;
    std::memcpy(&made.algorithm, &algorithm, sizeof algorithm);
    made.flags = flags;
    return made;
  }
  VAStatus render(VASurfaceID target, VAProcPipelineParameterBuffer pipeline) {
    VABufferID id = VA_INVALID_ID;
    EXPECT_EQ(vaCreateBuffer(client, context, VAProcPipelineParameterBufferType, sizeof pipeline, 1, &pipeline, &id),
              VA_STATUS_SUCCESS);
    EXPECT_EQ(vaBeginPicture(client, context, target), VA_STATUS_SUCCESS);
    const VAStatus rendered = vaRenderPicture(client, context, &id, 1), ended = vaEndPicture(client, context);
    EXPECT_EQ(vaDestroyBuffer(client, id), VA_STATUS_SUCCESS);
    return rendered ? rendered : ended ? ended : vaSyncSurface(client, target);
  }
  VAStatus deinterlace(VASurfaceID target, VASurfaceID source, VABufferID chain,
                       VASurfaceID past = VA_INVALID_SURFACE) {
    VAProcPipelineParameterBuffer pipeline{};
    pipeline.surface = source;
    pipeline.filters = &chain;
    pipeline.num_filters = 1;
    pipeline.forward_references = &past;
    pipeline.num_forward_references = past == VA_INVALID_SURFACE ? 0 : 1;
    return render(target, pipeline);
  }
  VAContextID context = VA_INVALID_ID;

 private:
  template <class Visit>
  void visit(VASurfaceID id, Visit look) {
    VAImage image{};
    void* bytes = nullptr;
    ASSERT_EQ(vaDeriveImage(client, id, &image), VA_STATUS_SUCCESS);
    ASSERT_EQ(vaMapBuffer(client, image.buf, &bytes), VA_STATUS_SUCCESS);
    look(image, static_cast<std::uint8_t*>(bytes));
    EXPECT_EQ(vaUnmapBuffer(client, image.buf), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaDestroyImage(client, image.image_id), VA_STATUS_SUCCESS);
  }
  VAConfigID config_ = VA_INVALID_ID;
};

TEST_F(VaProcessing, BobKeepsAFieldAndMakesTheOtherOfIt) {
  const VASurfaceID source = picture([](unsigned x, unsigned y) { return y % 2 ? 200 : 10 + int(x) + 4 * int(y); });
  const VASurfaceID target = client.nv12(kWidth, kHeight);
  ASSERT_EQ(deinterlace(target, source, filter(parameters(VAProcDeinterlacingBob))), VA_STATUS_SUCCESS);
  const std::vector<int> luma = plane(target, 0), chroma = plane(target, 1);
  for (unsigned y = 0; y < kHeight; ++y)
    for (unsigned x = 0; x < kWidth; ++x) {
      const int last = kHeight - 1;  // Has one neighbour only.
      ASSERT_EQ(luma[y * kWidth + x], 10 + int(x) + 4 * (int(y) == last ? last - 1 : int(y))) << x << "," << y;
    }
  for (unsigned y = 0; y + 1 < kHeight / 2; ++y) ASSERT_EQ(chroma[y * kWidth], int(100 + y)) << y;
  ASSERT_EQ(deinterlace(target, source, filter(parameters(VAProcDeinterlacingBob, VA_DEINTERLACING_BOTTOM_FIELD))),
            VA_STATUS_SUCCESS);
  for (const int sample : plane(target, 0)) ASSERT_EQ(sample, 200);
}

TEST_F(VaProcessing, MotionIsInterpolatedAndWhatStandsIsKept) {
  // The left half is still, the right half changed since the previous frame.
  const auto source = picture([](unsigned, unsigned y) { return y % 2 ? 180 : 60; });
  const auto past = picture([](unsigned x, unsigned y) { return (y % 2 ? 180 : 60) + (x < kWidth / 2 ? 3 : 50); });
  const VASurfaceID target = client.nv12(kWidth, kHeight);
  const VABufferID adaptive = filter(parameters(VAProcDeinterlacingMotionAdaptive));
  ASSERT_EQ(deinterlace(target, source, adaptive, past), VA_STATUS_SUCCESS);
  std::vector<int> luma = plane(target, 0);
  EXPECT_EQ(luma[5 * kWidth + 2], 180) << "stands: both fields";
  EXPECT_EQ(luma[5 * kWidth + kWidth - 2], 60) << "moved: one field";
  ASSERT_EQ(deinterlace(target, source, adaptive), VA_STATUS_SUCCESS) << "the first picture has none before it";
  EXPECT_EQ(plane(target, 0)[5 * kWidth + 2], 60);
  ASSERT_EQ(deinterlace(target, source, filter(parameters(VAProcDeinterlacingWeave))), VA_STATUS_SUCCESS);
  EXPECT_EQ(plane(target, 0), plane(source, 0));
  const VABufferID cut = filter(parameters(VAProcDeinterlacingMotionAdaptive, VA_DEINTERLACING_SCD_ENABLE));
  ASSERT_EQ(deinterlace(target, source, cut, past), VA_STATUS_SUCCESS);
  EXPECT_EQ(plane(target, 0)[5 * kWidth + 2], 60) << "another scene says nothing of motion";
}

TEST_F(VaProcessing, NamesItsFilters) {
  VAProcFilterType types[VAProcFilterCount] = {};
  unsigned count = 0;
  EXPECT_EQ(vaQueryVideoProcFilters(client, context, types, &count), VA_STATUS_ERROR_MAX_NUM_EXCEEDED);
  EXPECT_EQ(count, 1u);
  ASSERT_EQ(vaQueryVideoProcFilters(client, context, types, &count), VA_STATUS_SUCCESS);
  EXPECT_EQ(types[0], VAProcFilterDeinterlacing);
  VAProcFilterCapDeinterlacing caps[VAProcDeinterlacingCount] = {};
  count = 2;
  EXPECT_EQ(vaQueryVideoProcFilterCaps(client, context, VAProcFilterDeinterlacing, caps, &count),
            VA_STATUS_ERROR_MAX_NUM_EXCEEDED);
  ASSERT_EQ(vaQueryVideoProcFilterCaps(client, context, VAProcFilterDeinterlacing, caps, &count), VA_STATUS_SUCCESS);
  ASSERT_EQ(count, 3u);
  EXPECT_EQ(caps[0].type, VAProcDeinterlacingBob);
  EXPECT_EQ(caps[2].type, VAProcDeinterlacingMotionAdaptive);
  EXPECT_EQ(vaQueryVideoProcFilterCaps(client, context, VAProcFilterSharpening, caps, &count),
            VA_STATUS_ERROR_UNSUPPORTED_FILTER);
  VABufferID bob = filter(parameters(VAProcDeinterlacingBob));
  VABufferID adaptive = filter(parameters(VAProcDeinterlacingMotionAdaptive));
  VAProcPipelineCaps pipeline{};
  ASSERT_EQ(vaQueryVideoProcPipelineCaps(client, context, &bob, 1, &pipeline), VA_STATUS_SUCCESS);
  EXPECT_EQ(pipeline.num_forward_references, 0u);
  ASSERT_EQ(vaQueryVideoProcPipelineCaps(client, context, &adaptive, 1, &pipeline), VA_STATUS_SUCCESS);
  EXPECT_EQ(pipeline.num_forward_references, 1u);
}

TEST_F(VaProcessing, JudgesFiltersAndTheirParameters) {
  const VASurfaceID source = picture([](unsigned, unsigned) { return 90; }), target = client.nv12(kWidth, kHeight);
  EXPECT_EQ(deinterlace(target, source, filter(parameters(VAProcDeinterlacingMotionCompensated))),
            VA_STATUS_ERROR_UNSUPPORTED_FILTER);
  EXPECT_EQ(deinterlace(target, source, filter(parameters(99))), VA_STATUS_ERROR_UNSUPPORTED_FILTER);
  EXPECT_EQ(deinterlace(target, source, filter(parameters(VAProcDeinterlacingBob, VA_DEINTERLACING_FMD_ENABLE))),
            VA_STATUS_ERROR_UNSUPPORTED_FILTER);
  auto other = parameters(VAProcDeinterlacingBob);
  other.type = VAProcFilterNoiseReduction;
  EXPECT_EQ(deinterlace(target, source, filter(other)), VA_STATUS_ERROR_UNSUPPORTED_FILTER);
  EXPECT_EQ(deinterlace(target, source, filter(parameters(VAProcDeinterlacingBob), 8)), VA_STATUS_ERROR_INVALID_BUFFER);
  EXPECT_EQ(deinterlace(target, source, VA_INVALID_ID), VA_STATUS_ERROR_INVALID_BUFFER);
  EXPECT_EQ(deinterlace(target, source, filter(parameters(VAProcDeinterlacingMotionAdaptive)), 0x7fffff),
            VA_STATUS_ERROR_INVALID_SURFACE);
  EXPECT_EQ(deinterlace(target, source, filter(parameters(VAProcDeinterlacingMotionAdaptive)), client.nv12(64, 64)),
            VA_STATUS_ERROR_INVALID_PARAMETER)
      << "a frame before of another size";
  VABufferID two[] = {filter(parameters(VAProcDeinterlacingBob)), filter(parameters(VAProcDeinterlacingBob))};
  VAProcPipelineParameterBuffer pipeline{};
  pipeline.surface = source;
  pipeline.filters = two;
  pipeline.num_filters = 2;
  EXPECT_EQ(render(target, pipeline), VA_STATUS_ERROR_INVALID_FILTER_CHAIN);
  pipeline.filters = nullptr;
  EXPECT_EQ(render(target, pipeline), VA_STATUS_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(deinterlace(target, source, filter(parameters(VAProcDeinterlacingNone))), VA_STATUS_SUCCESS);
}

TEST_F(VaProcessing, JudgesColourStandards) {
  const VASurfaceID source = picture([](unsigned, unsigned) { return 90; }), target = client.nv12(kWidth, kHeight);
  const auto with = [&](std::uint32_t from, std::uint32_t to) {
    VAProcPipelineParameterBuffer pipeline{};
    pipeline.surface = source;
    std::memcpy(&pipeline.surface_color_standard, &from, sizeof from);
    std::memcpy(&pipeline.output_color_standard, &to, sizeof to);
    return render(target, pipeline);
  };
  EXPECT_EQ(with(VAProcColorStandardNone, VAProcColorStandardNone), VA_STATUS_SUCCESS);
  EXPECT_EQ(with(VAProcColorStandardBT601, VAProcColorStandardBT709), VA_STATUS_SUCCESS);
  EXPECT_EQ(with(VAProcColorStandardGenericFilm, VAProcColorStandardNone), VA_STATUS_ERROR_INVALID_PARAMETER)
      << "the caps do not name it";
  EXPECT_EQ(with(VAProcColorStandardNone, VAProcColorStandardCount), VA_STATUS_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(with(0xffffffff, VAProcColorStandardNone), VA_STATUS_ERROR_INVALID_PARAMETER);
}

TEST_F(VaProcessing, VideoDecodersNameTheFormatsThatTheyWrite) {
  const auto formats = [&](VAProfile profile, std::uint32_t rt_format) {
    VAConfigAttrib wanted{VAConfigAttribRTFormat, rt_format};
    VAConfigID id = VA_INVALID_ID;
    EXPECT_EQ(vaCreateConfig(client, profile, VAEntrypointVLD, &wanted, 1, &id), VA_STATUS_SUCCESS);
    std::vector<VASurfaceAttrib> all(64);
    unsigned count = 64;
    EXPECT_EQ(vaQuerySurfaceAttributes(client, id, all.data(), &count), VA_STATUS_SUCCESS);
    EXPECT_EQ(vaDestroyConfig(client, id), VA_STATUS_SUCCESS);
    std::vector<std::uint32_t> found;
    for (unsigned i = 0; i < count; ++i)
      if (all[i].type == VASurfaceAttribPixelFormat) found.push_back(static_cast<std::uint32_t>(all[i].value.value.i));
    return found;
  };
  using Codes = std::vector<std::uint32_t>;
  EXPECT_EQ(formats(VAProfileH264High, VA_RT_FORMAT_YUV420), Codes{VA_FOURCC_NV12});
  EXPECT_EQ(formats(VAProfileHEVCMain10, VA_RT_FORMAT_YUV420_10), Codes{VA_FOURCC_P010});
  EXPECT_EQ(formats(VAProfileHEVCMain10, VA_RT_FORMAT_YUV420 | VA_RT_FORMAT_YUV420_10),
            (Codes{VA_FOURCC_NV12, VA_FOURCC_P010}));
  EXPECT_GT(formats(VAProfileJPEGBaseline, VA_RT_FORMAT_YUV422).size(), 1u) << "pictures of many kinds";
}

}  // namespace calls_process_test
}  // namespace tenon::va::test
