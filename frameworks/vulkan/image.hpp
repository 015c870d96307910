// SPDX-License-Identifier: Apache-2.0
// 2-D images: formats, images as memory, and the layout and the family that each rests in.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include <tenon/core/element_type.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/fd.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/small_vector.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/vulkan/memory.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {

/// What shaders read from an image of integers: values scaled to 0..1, as samplers filter, or the integers themselves.
enum class Samples : std::uint8_t { kNormalised, kInteger };

/// How the pixels of an image lie.
enum class Tiling : std::uint8_t {
  kOptimal,  ///< As the device likes it. Its bytes count as packed rows.
  kLinear,   ///< In rows, which the host reads and writes in place: such images rest in VK_IMAGE_LAYOUT_GENERAL.
};

namespace detail {

/// One plane of an image: where its rows count as bytes of the memory.
struct PlaneOfImage {
  VkImageAspectFlags aspect = VK_IMAGE_ASPECT_COLOR_BIT;
  std::size_t width_px = 0, height_px = 0, pixel_bytes = 1;
  std::size_t base = 0, pitch = 0;
  std::size_t row_bytes() const { return width_px * pixel_bytes; }
  std::size_t end() const { return base + pitch * height_px; }
};
using Planes = SmallVector<PlaneOfImage, 3>;

/// An image and its memory. The image goes first.
struct ImageBlock {
  UniqueFd fd;
  Owned<VkDeviceMemory> memory;
  Owned<VkImage> image;
  Planes planes;
  std::byte* mapped = nullptr;
  std::size_t size = 0;  ///< The bytes that tensors lie in.
  std::uint64_t modifier = kModifierLinear;
  std::uint32_t rests_in = VK_QUEUE_FAMILY_IGNORED;
  VkImageLayout layout = VK_IMAGE_LAYOUT_UNDEFINED;
};

/// The format with `channels` elements per pixel; VK_FORMAT_UNDEFINED where there is none.
VkFormat format_of(ElementType type, std::size_t channels, Samples samples);
/// The reverse; 0 channels for formats that are no rows of elements.
std::pair<ElementType, std::size_t> elements_of(VkFormat format);

/// [h, w] or [h, w, c] as pixels; nothing for other shapes.
struct Picture {
  std::size_t width_px, height_px, channels;
};
std::optional<Picture> picture_of(const Shape& shape);

/// What the device can do with images of a format and tiling; 0: nothing.
VkFormatFeatureFlags features_of(const Native& native, VkFormat format, VkImageTiling tiling);
/// With a DRM modifier, of one plane of memory.
VkFormatFeatureFlags features_of(const Native& native, VkFormat format, std::uint64_t modifier);

/// An image of our own; in VK_IMAGE_LAYOUT_UNDEFINED. @errors those of native calls.
ImageBlock make_image(const Ref<Native>& native, VkFormat format, std::size_t width, std::size_t height,
                      std::size_t pixel_bytes, Tiling tiling);
/// One whose rows other APIs import as a dma-buf. @errors as above.
ImageBlock make_exported_image(const Ref<Native>& native, VkFormat format, std::size_t width, std::size_t height,
                               std::size_t pixel_bytes);
/// Why the device makes no image of such rows in that memory; empty when it does. It makes one without memory, to see.
std::string layout_obstacle(const Native& native, VkFormat format, const PlaneOfImage& plane, std::uint64_t modifier,
                            std::size_t memory_bytes);
/// A picture in a dma-buf; `fd` stays the caller's. @errors those of native calls.
ImageBlock import_image(const Ref<Native>& native, int fd, std::size_t size, VkFormat format, const PlaneOfImage& plane,
                        std::uint64_t modifier);

}  // namespace detail

/// The layout that an image rests in between uses: Tenon's copies find it in that layout and leave it so. Shared with the user's
/// submissions, which say so by set_layout(). @thread any; the order of uses is that of the points.
class ImageState {
 public:
  ImageState(VkImage image, detail::Planes planes, VkImageLayout layout, std::uint32_t rests_in)
      : image_(image), planes_(std::move(planes)), layout_(layout), rests_in_(rests_in) {}
  VkImage image() const { return image_; }
  const detail::Planes& planes() const { return planes_; }
  VkImageLayout layout() const { return layout_.load(std::memory_order_acquire); }
  void set_layout(VkImageLayout layout) const { layout_.store(layout, std::memory_order_release); }
  std::uint32_t rests_in() const { return rests_in_; }

 private:
  VkImage image_;
  detail::Planes planes_;
  mutable std::atomic<VkImageLayout> layout_;
  std::uint32_t rests_in_;
};

/// An image as memory: ours or a user's.
class ImageMemory final : public Memory {
 public:
  ImageMemory(Context context, const Properties& properties, Ref<detail::Native> native, detail::ImageBlock block)
      : Memory(std::move(context), kImageMemory, properties),
        native_(std::move(native)),
        block_(std::move(block)),
        state_(block_.image.get(), block_.planes, block_.layout, block_.rests_in) {}
  /// A user's.
  ImageMemory(Context context, const Properties& properties, Ref<detail::Native> native, VkImage image,
              detail::Planes planes, VkImageLayout layout, std::function<void()> release)
      : Memory(std::move(context), kImageMemory, properties),
        native_(std::move(native)),
        state_(image, std::move(planes), layout, VK_QUEUE_FAMILY_IGNORED),
        release_(std::move(release)) {}
  ~ImageMemory() override;
  const ImageState& state() const { return state_; }
  int borrow_fd() const override { return block_.fd.get(); }

 private:
  Ref<detail::Native> native_;
  detail::ImageBlock block_;
  ImageState state_;
  std::function<void()> release_;
};

/// A picture in a dma-buf as an image.
class ImageView final : public View {
 public:
  ImageView(Context context, Access access, Ref<detail::Native> native, detail::ImageBlock block, std::uint64_t key)
      : View(std::move(context), kImageMemory, access, nullptr, key),
        native_(std::move(native)),
        block_(std::move(block)),
        state_(block_.image.get(), block_.planes, block_.layout, block_.rests_in) {}
  const ImageState& state() const { return state_; }

 private:
  Ref<detail::Native> native_;
  detail::ImageBlock block_;
  ImageState state_;
};

namespace detail {

/// A tensor's image; null for tensors of other kinds.
const ImageState* find_image(const Tensor& tensor);

/// Takes an image that others see for the queue, or gives it back to them, in VK_IMAGE_LAYOUT_GENERAL.
void image_turn(const Native& native, VkCommandBuffer commands, const ImageState& image, bool take);
/// Brings an image from the layout that it rests in to that of a copy, or back.
void image_layout(const Native& native, VkCommandBuffer commands, const ImageState& image, VkImageLayout from,
                  VkImageLayout to);

/// The plane that a tensor begins in.
const PlaneOfImage& plane_of(const Tensor& tensor, const ImageState& image);

/// The pixels that are exactly `tensor`; nothing if it begins or ends within a pixel, or does not run along the rows.
struct ImageRegion {
  VkOffset3D origin{};
  VkExtent3D size{};
};
std::optional<ImageRegion> region_of(const Tensor& tensor, const PlaneOfImage& plane);

}  // namespace detail

/// The VkImage of a tensor. Work on it must be ordered as on buffer(), begins in layout(tensor) and ends in it.
/// @errors kInvalidArgument: a tensor of another kind.
VkImage image(const Tensor& tensor);
VkImageLayout layout(const Tensor& tensor);
/// Says that work noted by wrote() or reads() leaves the image in another layout. @errors kInvalidArgument: a tensor of
/// another kind; a layout other than GENERAL for an image that the host or other APIs see.
void set_layout(const Tensor& tensor, VkImageLayout layout);

}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
