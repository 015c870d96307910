// SPDX-License-Identifier: Apache-2.0
// Images of Vulkan: formats, tilings, layouts, frames, and pictures in dma-bufs.
#include <tenon/frameworks/vulkan/testing/vulkan.hpp>

#include <cstring>

#include <tenon/core/frame.hpp>
#include <tenon/frameworks/dmabuf/dmabuf.hpp>

namespace tenon::vulkan {
namespace image_test {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class VulkanImages : public VulkanFixture {};

TEST_F(VulkanImages, EveryCommonFormatKeepsItsPixels) {
  const Context pictures = images(context);
  for (const ElementType type : {ElementType::kU8, ElementType::kU16, ElementType::kF16, ElementType::kF32})
    for (const std::size_t channels : {1u, 2u, 4u}) {
      const Shape shape{6, 10, channels};
      const Tensor picture = allocate_image(pictures, type, shape);
      const std::size_t size = picture.size_bytes();
      write(picture, counted(size, 3));
      EXPECT_EQ(bytes_of(picture), counted(size, 3)) << to_string(picture);
      const Tensor part = picture.slice({1, 2, 0}, {4, 7, channels});
      EXPECT_EQ(bytes_of(part).size(), part.size_bytes());
      EXPECT_EQ(bytes_of(part)[0], counted(size, 3)[(10 + 2) * channels * size_bytes(type)]);
      EXPECT_EQ(layout(picture), VK_IMAGE_LAYOUT_GENERAL);
    }
  EXPECT_THAT(error_of(
                  [&] {
                    allocate_image(pictures, element::u8, {4, 4, 3});
                  },
                  Code::kUnimplemented),
              HasSubstr("no image format of 3 channels of u8"));
  EXPECT_THAT(error_of([&] { allocate_image(pictures, element::u8, {4}); }, Code::kInvalidArgument),
              HasSubstr("is not a picture"));
  EXPECT_THAT(error_of(
                  [&] {
                    allocate_image(pictures, element::u8, {4, std::size_t{1} << 24});
                  },
                  Code::kUnimplemented),
              HasSubstr("exceeds the largest image"));
  EXPECT_THAT(error_of(
                  [&] {
                    allocate_image(context, element::u8, {4, 4});
                  },
                  Code::kInvalidArgument),
              HasSubstr("vulkan::images(context)"));
  EXPECT_THAT(error_of([&] { image(Tensor(element::u8, {4})); }, Code::kInvalidArgument), HasSubstr("no vulkan.image"));
}

TEST_F(VulkanImages, RowsThatTheHostSeesAreShared) {
  const Tensor picture = allocate_image(images(context), element::u8, {5, 30, 4}, Tiling::kLinear);
  ASSERT_TRUE(picture.is_host_addressable());
  Ledger ledger;
  const Tensor here = router->map(picture, host_context(), MapOptions{Access::kReadWrite, ZeroCopy::kRequire, &ledger});
  for (std::size_t y = 0; y < 5; ++y)
    std::memset(static_cast<std::byte*>(here.data()) + y * static_cast<std::size_t>(here.byte_strides()[0]),
                static_cast<int>(y + 1), 120);
  std::vector<std::uint8_t> expected;
  for (std::size_t i = 0; i < 600; ++i) expected.push_back(static_cast<std::uint8_t>(i / 120 + 1));
  EXPECT_EQ(bytes_of(picture), expected) << "the queue reads elsewhere";
  EXPECT_EQ(ledger.total().copied, 0u);
  EXPECT_THAT(error_of([&] { set_layout(picture, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL); }, Code::kInvalidArgument),
              HasSubstr("VK_IMAGE_LAYOUT_GENERAL"));
}

TEST_F(VulkanImages, PixelsPassBetweenBuffersAndImagesOnTheDevice) {
  const Tensor bytes = allocate(context, MemoryType::kDevice, {element::u8, {8, 16, 4}, {}});
  write(bytes, counted(512, 1));
  Ledger ledger;
  MapOptions options;
  options.ledger = &ledger;
  const Tensor picture = router->map(bytes.slice({2, 4, 0}, {6, 12, 4}), images(context), options);
  EXPECT_EQ(ledger.total().copied, 4u * 8 * 4);
  EXPECT_EQ(ledger.total().transferred, 0u);
  EXPECT_EQ(bytes_of(picture), bytes_of(bytes.slice({2, 4, 0}, {6, 12, 4})));
  const Tensor back = router->map(picture, context, options);
  EXPECT_EQ(bytes_of(back), bytes_of(picture));
  EXPECT_THAT(router->explain(describe(bytes), images(make_context())), HasSubstr("another VkDevice"));
}

TEST_F(VulkanImages, CopiesLeaveTheLayoutThatAnImageRestsIn) {
  const Tensor picture = allocate_image(images(context), element::u8, {4, 16});
  write(picture, counted(64, 1));
  ASSERT_EQ(layout(picture), VK_IMAGE_LAYOUT_GENERAL);
  const Ref<detail::Native>& native = context.as<BufferContext>()->native_ref();
  // A user's own transition, as of a shader that reads.
  native
      ->submit([&](VkCommandBuffer commands) {
        detail::image_layout(*native, commands, *detail::find_image(picture), VK_IMAGE_LAYOUT_GENERAL,
                             VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
      })
      .wait();
  set_layout(picture, VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
  EXPECT_EQ(bytes_of(picture), counted(64, 1));
  write(picture, counted(64, 9));
  EXPECT_EQ(layout(picture), VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL);
  EXPECT_EQ(bytes_of(picture), counted(64, 9));
  EXPECT_THAT(error_of([&] { set_layout(picture, VK_IMAGE_LAYOUT_UNDEFINED); }, Code::kInvalidArgument),
              HasSubstr("with contents"));
}

TEST_F(VulkanImages, FramesAreOneImageOrOnePerPlane) {
  const Context pictures = images(context);
  for (const PixelFormat format : {kNv12, kP010, kI420, kBgra, kRgba, kGray8, kGray16}) {
    const Frame frame = allocate_frame(pictures, {format, 64, 48});
    for (std::size_t p = 0; p < frame.plane_count(); ++p)
      write(frame.plane(p), counted(frame.plane(p).size_bytes(), static_cast<std::uint8_t>(p + 1)));
    for (std::size_t p = 0; p < frame.plane_count(); ++p)
      EXPECT_EQ(bytes_of(frame.plane(p)), counted(frame.plane(p).size_bytes(), static_cast<std::uint8_t>(p + 1)))
          << to_string(format) << " plane " << p;
    if (device(context).ycbcr && frame.plane_count() > 1) {
      EXPECT_EQ(image(frame.plane(0)), image(frame.plane(1))) << "one image of all planes";
    }
    Ledger ledger;
    MapOptions options;
    options.ledger = &ledger;
    const Frame here = router->map(frame, host_context(), options);
    EXPECT_EQ(std::memcmp(here.plane(0).data(), counted(64, 1).data(), 64), 0);
    EXPECT_EQ(ledger.total().copied, frame.size_bytes());
  }
  EXPECT_THAT(error_of(
                  [&] {
                    allocate_frame(pictures, {kRgb24, 64, 48});
                  },
                  Code::kUnimplemented),
              HasSubstr("plane 0 of rgb cannot be an image"));
}

TEST_F(VulkanImages, PicturesPassAsDmabufsBothWays) {
  const Context pictures = images(context);
  if (!has(VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME) || !has_dmabufs()) {
    EXPECT_THAT(error_of(
                    [&] {
                      allocate_exported_image(pictures, element::u8, {16, 64});
                    },
                    Code::kUnimplemented),
                AnyOf(HasSubstr("VK_EXT_image_drm_format_modifier"), HasSubstr("exports no dma-bufs")));
    GTEST_SKIP() << "no DRM modifiers";
  }
  router->add(dmabuf::context());
  Ledger ledger;
  const MapOptions options{Access::kReadWrite, ZeroCopy::kRequire, &ledger};
  const Tensor own = allocate_exported_image(pictures, element::u8, {16, 64, 4});
  write(own, counted(4096, 1));
  const Tensor as_dmabuf = router->map(own, dmabuf::context(), options);
  EXPECT_EQ(bytes_of(as_dmabuf), counted(4096, 1));
  write(as_dmabuf, counted(4096, 8));
  EXPECT_EQ(bytes_of(own), counted(4096, 8));
  const Frame theirs = Frame::over({kNv12, 64, 48}, dmabuf::allocate(32768), [] {
    Requirements wanted;
    wanted.pitch_alignment = 256;
    return wanted;
  }());
  // With the stand-in's pitch rule; a GPU may have another.
  Ledger other;
  const Tensor luma = theirs.plane(0);
  const Step step = detail::dmabuf_to_image().step(describe(luma), pictures, Access::kRead);
  if (const auto* refused = std::get_if<Refusal>(&step)) GTEST_SKIP() << refused->reason;
  for (std::size_t p = 0; p < 2; ++p) {
    const Tensor seen = router->map(theirs.plane(p), pictures, options);
    write(seen, counted(seen.size_bytes(), static_cast<std::uint8_t>(40 + p)));
  }
  for (std::size_t p = 0; p < 2; ++p)
    EXPECT_EQ(bytes_of(theirs.plane(p)), counted(theirs.plane(p).size_bytes(), static_cast<std::uint8_t>(40 + p)));
  EXPECT_EQ(ledger.total().copied, 0u);
  Description tiled = describe(luma);
  tiled.modifier = 0x0123456789abcdefull;
  const Step judged = detail::dmabuf_to_image().step(tiled, pictures, Access::kRead);
  EXPECT_THAT(std::get<Refusal>(judged).reason, HasSubstr("DRM modifier 81985529216486895"));
}

}  // namespace image_test
}  // namespace tenon::vulkan
