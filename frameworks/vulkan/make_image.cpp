// SPDX-License-Identifier: Apache-2.0
// Makes images and frames of them as tensors: new ones, and a user's.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/frameworks/cpu/client.hpp>
#include <tenon/frameworks/vulkan/make.hpp>
#include <tenon/frameworks/vulkan/transfer.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {
namespace detail {

/// One image for all planes of a pixel format; VK_FORMAT_UNDEFINED where Vulkan has none.
TENON_INLINE VkFormat format_of(PixelFormat format) {
  switch (format.fourcc) {
    case kNv12.fourcc:
      return VK_FORMAT_G8_B8R8_2PLANE_420_UNORM;
    case kP010.fourcc:
      return VK_FORMAT_G10X6_B10X6R10X6_2PLANE_420_UNORM_3PACK16;
    case kI420.fourcc:
      return VK_FORMAT_G8_B8_R8_3PLANE_420_UNORM;
    case kBgra.fourcc:
    case kBgrx.fourcc:
      return VK_FORMAT_B8G8R8A8_UNORM;
    case kRgba.fourcc:
    case kRgbx.fourcc:
      return VK_FORMAT_R8G8B8A8_UNORM;
    case kGray8.fourcc:
      return VK_FORMAT_R8_UNORM;
    case kGray16.fourcc:
      return VK_FORMAT_R16_UNORM;
    default:
      return VK_FORMAT_UNDEFINED;
  }
}

/// The planes of such an image, packed one after another.
TENON_INLINE Planes planes_of(const FrameInfo& info) {
  constexpr VkImageAspectFlagBits kAspects[] = {VK_IMAGE_ASPECT_PLANE_0_BIT, VK_IMAGE_ASPECT_PLANE_1_BIT,
                                                VK_IMAGE_ASPECT_PLANE_2_BIT};
  const PixelFormatInfo& format = format_info(info.format);
  Planes planes;
  std::size_t base = 0;
  for (std::size_t p = 0; p < format.plane_count; ++p) {
    const PlaneExtent extent = plane_extent(info, format, p);
    PlaneOfImage plane;
    plane.aspect = format.plane_count == 1 ? VK_IMAGE_ASPECT_COLOR_BIT : kAspects[p];
    plane.width_px = extent.width_px, plane.height_px = extent.height_px;
    plane.pixel_bytes = extent.row_bytes / std::max<std::size_t>(extent.width_px, 1);
    plane.base = base, plane.pitch = extent.row_bytes;
    base = plane.end();
    planes.push_back(plane);
  }
  return planes;
}

TENON_INLINE Frame frame_over(const FrameInfo& info, const Ref<Memory>& memory, const Planes& planes) {
  std::vector<Tensor> tensors;
  for (std::size_t p = 0; p < planes.size(); ++p)
    tensors.emplace_back(TensorInfo{format_info(info.format).sample, plane_shape(info, p), {}}, memory, planes[p].base);
  return Frame(info, std::move(tensors));
}

TENON_INLINE void check_image(const UserImage& image, const char* function) {
  const std::string prefix = std::string("vulkan::") + function + ": ";
  if (!image.image) throw Error(Code::kInvalidArgument, prefix + "a null VkImage");
  if (image.width_px == 0 || image.height_px == 0)
    throw Error(Code::kInvalidArgument, prefix + "an image without pixels");
  constexpr VkImageUsageFlags kNeeded = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT;
  if ((image.usage & kNeeded) != kNeeded)
    throw Error(Code::kInvalidArgument,
                prefix + "the image's usage is " + std::to_string(image.usage) +
                    "; Tenon copies it: make it with VK_IMAGE_USAGE_TRANSFER_SRC_BIT and _DST_BIT");
}

TENON_INLINE Ref<Memory> user_image(const Context& context, const UserImage& image, Planes planes,
                                    cpu::client::ReleaseGuard& guard) {
  Memory::Properties properties;
  properties.size_bytes = planes[planes.size() - 1].end();
  properties.identity = identity_of(image.image);
  Ref<Memory> memory = make_ref<ImageMemory>(context, properties, image_context(context, "wrap_image").native_ref(),
                                             image.image, std::move(planes), image.layout, guard.get());
  guard.disarm();
  return memory;
}

}  // namespace detail

TENON_INLINE Tensor allocate_image(const Context& context, ElementType type, const Shape& shape, Tiling tiling,
                                   Samples samples) {
  ImageContext& images = detail::image_context(context, "allocate_image");
  if (const auto refused = images.refusal(type, shape, samples, tiling))
    throw Error(detail::picture_of(shape) ? Code::kUnimplemented : Code::kInvalidArgument,
                "vulkan::allocate_image: " + refused->reason);
  const detail::Picture picture = detail::picture_of(shape).value();
  const std::size_t pixel = size_bytes(type) * picture.channels;
  Ref<Memory> memory = images.make(detail::format_of(type, picture.channels, samples), picture.width_px,
                                   picture.height_px, pixel, tiling);
  const detail::PlaneOfImage& plane = static_cast<const ImageMemory&>(*memory).state().planes()[0];
  TensorInfo info{type, shape, {}};
  if (plane.pitch != plane.row_bytes()) {
    info.strides = {static_cast<std::ptrdiff_t>(plane.pitch), static_cast<std::ptrdiff_t>(pixel)};
    if (shape.size() == 3) info.strides.push_back(static_cast<std::ptrdiff_t>(size_bytes(type)));
  }
  return Tensor(std::move(info), std::move(memory), plane.base);
}

TENON_INLINE Tensor allocate_exported_image(const Context& context, ElementType type, const Shape& shape) {
  ImageContext& images = detail::image_context(context, "allocate_exported_image");
  const auto refuse = [](const std::string& why) {
    throw Error(Code::kUnimplemented, "vulkan::allocate_exported_image: " + why);
  };
  const Device& device = images.native().device();
  const auto picture = detail::picture_of(shape);
  if (!picture)
    throw Error(Code::kInvalidArgument, "vulkan::allocate_exported_image: " + to_string(shape) + " is not a picture");
  if (!images.native().enabled(VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME))
    refuse(device.name + " lacks VK_EXT_image_drm_format_modifier");
  if (images.native().dmabuf_export() == FdKind::kNone) refuse(device.name + " exports no dma-bufs");
  const VkFormat format = detail::format_of(type, picture->channels, Samples::kNormalised);
  const std::size_t pixel = size_bytes(type) * picture->channels;
  if (const auto refused =
          images.refusal(format, picture->width_px, picture->height_px,
                         format ? detail::features_of(images.native(), format, std::uint64_t{kModifierLinear}) : 0u,
                         "rows of " + std::string(tenon::v1::name(type)) + " " + to_string(shape)))
    refuse(refused->reason);
  detail::ImageBlock block =
      detail::make_exported_image(images.native_ref(), format, picture->width_px, picture->height_px, pixel);
  const detail::PlaneOfImage plane = block.planes[0];
  TensorInfo info{type, shape, {static_cast<std::ptrdiff_t>(plane.pitch), static_cast<std::ptrdiff_t>(pixel)}};
  if (shape.size() == 3) info.strides.push_back(static_cast<std::ptrdiff_t>(size_bytes(type)));
  return Tensor(std::move(info), images.over(std::move(block)), plane.base);
}

TENON_INLINE Tensor adopt_image(const Context& context, const UserImage& image, std::function<void()> release) {
  cpu::client::ReleaseGuard guard(release ? std::move(release) : [] {});
  detail::image_context(context, "wrap_image");
  detail::check_image(image, "wrap_image");
  const auto [type, channels] = detail::elements_of(image.format);
  if (channels == 0)
    throw Error(Code::kUnimplemented, "vulkan::wrap_image: VkFormat " + std::to_string(image.format) +
                                          " has no element type; convert it in a shader, or wrap_frame()");
  const std::size_t pixel = size_bytes(type) * channels;
  detail::Planes planes;
  planes.push_back({VK_IMAGE_ASPECT_COLOR_BIT, image.width_px, image.height_px, pixel, 0, image.width_px * pixel});
  const Shape shape =
      channels == 1 ? Shape{image.height_px, image.width_px} : Shape{image.height_px, image.width_px, channels};
  return Tensor({type, shape, {}}, detail::user_image(context, image, std::move(planes), guard));
}

TENON_INLINE Tensor wrap_image(const Context& context, const UserImage& image) {
  return adopt_image(context, image, {});
}

TENON_INLINE Frame adopt_frame(const Context& context, const UserImage& image, const FrameInfo& info,
                               std::function<void()> release) {
  cpu::client::ReleaseGuard guard(release ? std::move(release) : [] {});
  detail::image_context(context, "wrap_frame");
  detail::check_image(image, "wrap_frame");
  const VkFormat format = detail::format_of(info.format);
  if (format == VK_FORMAT_UNDEFINED || format != image.format || info.width_px != image.width_px ||
      info.height_px != image.height_px)
    throw Error(Code::kInvalidArgument,
                "vulkan::wrap_frame: an image of VkFormat " + std::to_string(image.format) + " and " +
                    std::to_string(image.width_px) + "x" + std::to_string(image.height_px) + " px is no " +
                    to_string(info.format) + " of " + std::to_string(info.width_px) + "x" +
                    std::to_string(info.height_px) + " px (VkFormat " + std::to_string(format) + ")");
  const detail::Planes planes = detail::planes_of(info);
  return detail::frame_over(info, detail::user_image(context, image, planes, guard), planes);
}

TENON_INLINE Frame wrap_frame(const Context& context, const UserImage& image, const FrameInfo& info) {
  return adopt_frame(context, image, info, {});
}

TENON_INLINE Frame allocate_frame(const Context& context, const FrameInfo& info) {
  ImageContext& images = detail::image_context(context, "allocate_frame");
  const VkFormat format = detail::format_of(info.format);
  const PixelFormatInfo& known = format_info(info.format);
  const bool even = info.width_px % 2 == 0 && info.height_px % 2 == 0;
  const VkFormatFeatureFlags features =
      format ? detail::features_of(images.native(), format, VK_IMAGE_TILING_OPTIMAL) : 0u;
  const bool whole = known.plane_count == 1 || (images.native().device().ycbcr && even);
  if (whole && format && !images.refusal(format, info.width_px, info.height_px, features, std::string(known.name))) {
    detail::ImageBlock block =
        detail::make_image(images.native_ref(), format, info.width_px, info.height_px, 1, Tiling::kOptimal);
    block.planes = detail::planes_of(info);
    block.size = block.planes[block.planes.size() - 1].end();
    const detail::Planes planes = block.planes;
    return detail::frame_over(info, images.over(std::move(block)), planes);
  }
  std::vector<Tensor> planes;
  for (std::size_t p = 0; p < known.plane_count; ++p) {
    try {
      planes.push_back(allocate_image(context, known.sample, plane_shape(info, p)));
    } catch (const Error& error) {
      if (error.code() != Code::kUnimplemented) throw;
      throw Error(Code::kUnimplemented, "plane " + std::to_string(p) + " of " + std::string(known.name) +
                                            " cannot be an image: " + error.what());
    }
  }
  return Frame(info, std::move(planes));
}

}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
