// SPDX-License-Identifier: Apache-2.0
// Copies by the device's queue, by way of staging memory where the host is on one side.
#include <tenon/frameworks/vulkan/transfer.hpp>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include <tenon/core/error.hpp>
#include <tenon/core/rows.hpp>
#include <tenon/frameworks/vulkan/timeline.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {
namespace detail {

/// Staging memory, and what else lives until a copy is over.
class CopySides final : public RefCounted {
 public:
  CopySides(Ref<Native> native, std::size_t size, Ref<Memory> memory, Ref<Memory> other = {})
      : native_(std::move(native)), memory_(std::move(memory)), other_(std::move(other)) {
    if (size != 0) staging_ = native_->take_staging(size);
  }
  ~CopySides() override {
    if (staging_.buffer) native_->give_back_staging(staging_);
  }
  const Staging& staging() const { return staging_; }

 private:
  Ref<Native> native_;
  Ref<Memory> memory_, other_;
  Staging staging_;
};

TENON_INLINE void finish(const TimelinePoint& end, const Ref<CopySides>& sides, Deadline deadline) {
  try {
    end.timeline()->wait(end.value(), deadline);
  } catch (...) {
    keep_until(end, sides);
    throw;
  }
}

/// The host sees what copies wrote to staging memory.
TENON_INLINE void barrier_to_host(const Native& native, VkCommandBuffer commands) {
  auto barrier = typed<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  barrier.srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
  native.calls().vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT,
                                      VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &barrier,
                                      0, nullptr, 0, nullptr);
}

/// What an earlier submission wrote, a copy reads: submissions of one queue begin in order, but overlap.
TENON_INLINE void barrier_before(const Native& native, VkCommandBuffer commands) {
  auto barrier = typed<VkMemoryBarrier>(VK_STRUCTURE_TYPE_MEMORY_BARRIER);
  barrier.srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT;
  barrier.dstAccessMask = VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT;
  native.calls().vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0,
                                      1, &barrier, 0, nullptr, 0, nullptr);
}

/// An image in the layout of a copy, for as long as that is recorded.
class ImageUse {
 public:
  ImageUse(const Native& native, VkCommandBuffer commands, const ImageState& image, bool writes)
      : native_(native), commands_(commands), image_(image) {
    image_turn(native, commands, image, true);
    const VkImageLayout now = image.layout();
    const bool general = now == VK_IMAGE_LAYOUT_GENERAL;
    layout_ = general  ? VK_IMAGE_LAYOUT_GENERAL
              : writes ? VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL
                       : VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL;
    if (!general) image_layout(native, commands, image, now, layout_);
  }
  ~ImageUse() {
    // No image may be brought into the layouts of those that have no contents.
    const VkImageLayout was = image_.layout();
    const bool empty = was == VK_IMAGE_LAYOUT_UNDEFINED || was == VK_IMAGE_LAYOUT_PREINITIALIZED;
    const VkImageLayout rests = empty ? VK_IMAGE_LAYOUT_GENERAL : was;
    if (layout_ != rests) image_layout(native_, commands_, image_, layout_, rests);
    if (empty) image_.set_layout(rests);
    image_turn(native_, commands_, image_, false);
  }
  ImageUse(const ImageUse&) = delete;
  ImageUse& operator=(const ImageUse&) = delete;
  VkImageLayout layout() const { return layout_; }

 private:
  const Native& native_;
  VkCommandBuffer commands_;
  const ImageState& image_;
  VkImageLayout layout_;
};

TENON_INLINE VkBufferImageCopy image_copy(const PlaneOfImage& plane, const ImageRegion& region, std::size_t offset = 0,
                                          std::size_t row_px = 0) {
  VkBufferImageCopy copy{};
  copy.bufferOffset = offset;
  copy.bufferRowLength = static_cast<std::uint32_t>(row_px);
  copy.imageSubresource = {plane.aspect, 0, 0, 1};
  copy.imageOffset = region.origin;
  copy.imageExtent = region.size;
  return copy;
}

/// One copy between an image and a buffer, as commands.
TENON_INLINE void record_image_copy(const Native& native, VkCommandBuffer commands, const ImageState& image,
                                    VkBuffer buffer, const VkBufferImageCopy& copy, bool out) {
  const ImageUse use(native, commands, image, !out);
  if (out)
    native.calls().vkCmdCopyImageToBuffer(commands, image.image(), use.layout(), buffer, 1, &copy);
  else
    native.calls().vkCmdCopyBufferToImage(commands, buffer, image.image(), use.layout(), 1, &copy);
}

/// The pieces of a buffer that are the packed elements of a tensor.
TENON_INLINE std::vector<VkBufferCopy> pieces_of(const Tensor& tensor, bool out) {
  std::vector<VkBufferCopy> pieces;
  for_each_block(tensor, [&](const Rows& rows) {
    for (std::size_t row = 0; row < rows.count; ++row) {
      const VkDeviceSize there = rows.offset + row * rows.pitch, packed = rows.packed + row * rows.width;
      pieces.push_back({out ? there : packed, out ? packed : there, rows.width});
    }
  });
  return pieces;
}

TENON_INLINE TimelinePoint copy_buffer(const Native& native, Native& queue, const Tensor& tensor, VkBuffer staging,
                                       bool out) {
  const BufferPlace place = find_buffer(tensor).value();
  const std::vector<VkBufferCopy> pieces = pieces_of(tensor, out);
  return queue.submit([&](VkCommandBuffer commands) {
    barrier_before(native, commands);
    external_barrier(native, commands, place.buffer, place.rests_in, true);
    native.calls().vkCmdCopyBuffer(commands, out ? place.buffer : staging, out ? staging : place.buffer,
                                   static_cast<std::uint32_t>(pieces.size()), pieces.data());
    external_barrier(native, commands, place.buffer, place.rests_in, false);
    barrier_to_host(native, commands);
  });
}

/// The whole rows of an image that a tensor touches, packed in staging memory.
struct ImageRows {
  const PlaneOfImage& plane;
  std::size_t first = 0, count = 0;

  ImageRows(const Tensor& tensor, const PlaneOfImage& of) : plane(of) {
    const std::size_t begin = tensor.offset() - plane.base;
    first = begin / plane.pitch;
    count = (begin + checked_extent_bytes(tensor.info()).value() - 1) / plane.pitch - first + 1;
    count = std::min(count, plane.height_px - first);
  }
  std::size_t bytes() const { return count * plane.row_bytes(); }
  ImageRegion region() const {
    return {{0, static_cast<std::int32_t>(first), 0},
            {static_cast<std::uint32_t>(plane.width_px), static_cast<std::uint32_t>(count), 1}};
  }
  /// Calls run(byte in the staged rows, byte in the packed tensor, size).
  template <typename Run>
  void for_each(const Tensor& tensor, Run run) const {
    for_each_block(tensor, [&](const Rows& rows) {
      for (std::size_t row = 0; row < rows.count; ++row) {
        const std::size_t at = rows.offset + row * rows.pitch - plane.base;
        // A run crosses rows only where rows have no padding; both sides then count alike.
        run((at / plane.pitch - first) * plane.row_bytes() + at % plane.pitch, rows.packed + row * rows.width,
            rows.width);
      }
    });
  }
};

TENON_INLINE void copy_image(Native& native, const ImageState& image, const Ref<CopySides>& sides,
                             const VkBufferImageCopy& copy, bool out, Deadline deadline) {
  finish(native.submit([&](VkCommandBuffer commands) {
    barrier_before(native, commands);
    record_image_copy(native, commands, image, sides->staging().buffer, copy, out);
    barrier_to_host(native, commands);
  }),
         sides, deadline);
}

TENON_INLINE void read_elements(const Ref<Native>& native, const Tensor& tensor, std::byte* packed, Deadline deadline) {
  if (tensor.size_bytes() == 0) return;
  const ImageState* image = find_image(tensor);
  if (!image) {
    const auto sides = make_ref<CopySides>(native, tensor.size_bytes(), tensor.memory());
    finish(copy_buffer(*native, *native, tensor, sides->staging().buffer, true), sides, deadline);
    std::memcpy(packed, sides->staging().data, tensor.size_bytes());
    return;
  }
  const PlaneOfImage& plane = plane_of(tensor, *image);
  if (const auto region = region_of(tensor, plane)) {
    const auto sides = make_ref<CopySides>(native, tensor.size_bytes(), tensor.memory());
    copy_image(*native, *image, sides, image_copy(plane, *region), true, deadline);
    std::memcpy(packed, sides->staging().data, tensor.size_bytes());
    return;
  }
  const ImageRows rows(tensor, plane);
  const auto sides = make_ref<CopySides>(native, rows.bytes(), tensor.memory());
  copy_image(*native, *image, sides, image_copy(plane, rows.region()), true, deadline);
  rows.for_each(tensor, [&](std::size_t at, std::size_t to, std::size_t size) {
    std::memcpy(packed + to, sides->staging().data + at, size);
  });
}

TENON_INLINE void write_elements(const Ref<Native>& native, const Tensor& tensor, const std::byte* packed,
                                 Deadline deadline) {
  if (tensor.size_bytes() == 0) return;
  const ImageState* image = find_image(tensor);
  const PlaneOfImage* plane = image ? &plane_of(tensor, *image) : nullptr;
  const auto region = image ? region_of(tensor, *plane) : std::nullopt;
  if (!image || region) {
    const auto sides = make_ref<CopySides>(native, tensor.size_bytes(), tensor.memory());
    std::memcpy(sides->staging().data, packed, tensor.size_bytes());
    if (image)
      copy_image(*native, *image, sides, image_copy(*plane, *region), false, deadline);
    else
      finish(copy_buffer(*native, *native, tensor, sides->staging().buffer, false), sides, deadline);
    return;
  }
  const ImageRows rows(tensor, *plane);
  const auto sides = make_ref<CopySides>(native, rows.bytes(), tensor.memory());
  // What lies beside the tensor in its rows stays.
  copy_image(*native, *image, sides, image_copy(*plane, rows.region()), true, deadline);
  rows.for_each(tensor, [&](std::size_t at, std::size_t from, std::size_t size) {
    std::memcpy(sides->staging().data + at, packed + from, size);
  });
  copy_image(*native, *image, sides, image_copy(*plane, rows.region()), false, deadline);
}

/// A copy between an image and a tensor's buffer.
TENON_INLINE void copy_on_device(const Ref<Native>& native, const Tensor& pixels, const Tensor& bytes, bool out,
                                 Deadline deadline) {
  const ImageState& image = *find_image(pixels);
  const PlaneOfImage& plane = plane_of(pixels, image);
  const BufferPlace place = find_buffer(bytes).value();
  const VkBufferImageCopy copy = image_copy(plane, region_of(pixels, plane).value(), bytes.offset(),
                                            static_cast<std::size_t>(bytes.byte_strides()[0]) / plane.pixel_bytes);
  const auto sides = make_ref<CopySides>(native, 0, pixels.memory(), bytes.memory());
  finish(native->submit([&](VkCommandBuffer commands) {
    barrier_before(*native, commands);
    external_barrier(*native, commands, place.buffer, place.rests_in, true);
    record_image_copy(*native, commands, image, place.buffer, copy, out);
    external_barrier(*native, commands, place.buffer, place.rests_in, false);
    barrier_to_host(*native, commands);
  }),
         sides, deadline);
}

TENON_INLINE void copy_buffer_to_image(const Ref<Native>& native, const Tensor& from, const Tensor& to,
                                       Deadline deadline) {
  copy_on_device(native, to, from, false, deadline);
}

TENON_INLINE void copy_image_to_buffer(const Ref<Native>& native, const Tensor& from, const Tensor& to,
                                       Deadline deadline) {
  copy_on_device(native, from, to, true, deadline);
}

TENON_INLINE void settle_layout(const Ref<Native>& native, const Ref<ImageMemory>& memory) {
  const ImageState& image = memory->state();
  const auto sides = make_ref<CopySides>(native, 0, memory);
  const TimelinePoint end = native->submit([&](VkCommandBuffer commands) {
    image_layout(*native, commands, image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    image_turn(*native, commands, image, false);
  });
  image.set_layout(VK_IMAGE_LAYOUT_GENERAL);
  finish(end, sides, default_deadline());
}

}  // namespace detail
}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
