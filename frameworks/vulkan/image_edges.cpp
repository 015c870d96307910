// SPDX-License-Identifier: Apache-2.0
// Edges of images with host memory and buffers: rows that the host sees are shared, other pixels copied by the queue.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/standing_view.hpp>
#include <tenon/frameworks/vulkan/context.hpp>
#include <tenon/frameworks/vulkan/edges.hpp>
#include <tenon/frameworks/vulkan/make.hpp>
#include <tenon/frameworks/vulkan/transfer.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {
namespace detail {

TENON_INLINE double ns_per_byte(const Native& native) {
  return native.device().host_unified() ? kHostNsPerByte : kTransferNsPerByte;
}

/// Linear images are shared with the host, others are copied out.
class ImageToCpu final : public Edge {
 public:
  std::string_view name() const override { return "vulkan.image->cpu"; }
  MemoryKind from() const override { return kImageMemory; }
  MemoryKind to() const override { return kCpuMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    const auto* images = from.context.as<ImageContext>();
    if (!images) return Refusal{kNotOurs};
    if (!from.host_addressable)
      return packed_copy(from, to, kCpuMemory, 50'000, ns_per_byte(images->native()), 64, true);
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
    Reached reached = shared_in_place(from, to, kCpuMemory, 100);
    reached.result.alignment = std::min<std::size_t>(from.alignment, 64);
    return reached;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    source.memory()->wait_for(options.access, deadline_of(options), &ledger_of(options));
    if (source.is_host_addressable()) return host_view(source, to, kCpuMemory, options.access, nullptr);
    const Ref<Native>& native = source.context().as<ImageContext>()->native_ref();
    Tensor copy(source.element_type(), source.shape());
    if (source.size_bytes() == 0) return copy;
    read_elements(native, source, static_cast<std::byte*>(copy.data()), deadline_of(options));
    if (!native->device().host_unified()) ledger_of(options).book_transferred(id(), source.size_bytes());
    return copy;
  }
};

/// Copies a picture in host memory into a new image.
class CpuToImage final : public Edge {
 public:
  std::string_view name() const override { return "cpu->vulkan.image"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kImageMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    const auto* images = to.as<ImageContext>();
    if (!images) return Refusal{kNotOurs};
    if (!from.host_addressable) return Refusal{"it takes a host address, and this memory has none"};
    if (auto refused = images->refusal(from.info.type, from.info.shape, Samples::kNormalised, Tiling::kOptimal))
      return *std::move(refused);
    return packed_copy(from, to, kImageMemory, 80'000, ns_per_byte(images->native()), 1, false);
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    const Ref<Native>& native = to.as<ImageContext>()->native_ref();
    source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
    const Tensor copy = allocate_image(to, source.element_type(), source.shape());
    Tensor packed = source;
    if (!source.is_contiguous()) {
      packed = Tensor(source.element_type(), source.shape());
      source.copy_to(packed);
    }
    write_elements(native, copy, static_cast<const std::byte*>(packed.data()), deadline_of(options));
    if (!native->device().host_unified()) ledger_of(options).book_transferred(id(), source.size_bytes());
    return copy;
  }
};

/// Why rows of a buffer cannot be copied to an image by the queue; nothing when they can.
TENON_INLINE std::optional<Refusal> refuses_rows(const Description& from) {
  const Picture picture = picture_of(from.info.shape).value();
  const std::size_t sample = size_bytes(from.info.type), pixel = sample * picture.channels;
  const ByteStrides& strides = from.info.strides;
  if (static_cast<std::size_t>(strides[1]) != pixel ||
      (strides.size() == 3 && static_cast<std::size_t>(strides[2]) != sample))
    return Refusal{"the pixels of a row do not lie side by side"};
  const auto pitch = static_cast<std::size_t>(strides[0]);
  if (pitch % pixel != 0 || pitch < pixel * picture.width_px)
    return Refusal{"rows are " + std::to_string(pitch) + " bytes apart, which is no whole number of pixels"};
  if (from.offset % pixel != 0)
    return Refusal{"the picture begins at byte " + std::to_string(from.offset) + ", within a pixel"};
  return std::nullopt;
}

/// A copy on the device into a new image.
class BufferToImage final : public Edge {
 public:
  std::string_view name() const override { return "vulkan.buffer->vulkan.image"; }
  MemoryKind from() const override { return kBufferMemory; }
  MemoryKind to() const override { return kImageMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    const auto* buffers = from.context.as<BufferContext>();
    const auto* images = to.as<ImageContext>();
    if (!buffers || !images) return Refusal{kNotOurs};
    if (buffers->native().handle() != images->native().handle())
      return Refusal{"the buffer belongs to another VkDevice"};
    if (auto refused = images->refusal(from.info.type, from.info.shape, Samples::kNormalised, Tiling::kOptimal))
      return *std::move(refused);
    if (auto refused = refuses_rows(from)) return *std::move(refused);
    return packed_copy(from, to, kImageMemory, 80'000, images->native().device().is_cpu() ? 0.1 : 0.001, 1, false);
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
    const Tensor copy = allocate_image(to, source.element_type(), source.shape());
    copy_buffer_to_image(to.as<ImageContext>()->native_ref(), source, copy, deadline_of(options));
    return copy;
  }
};

/// A copy on the device into a new buffer; parts that are no whole pixels go through staging memory.
class ImageToBuffer final : public Edge {
 public:
  std::string_view name() const override { return "vulkan.image->vulkan.buffer"; }
  MemoryKind from() const override { return kImageMemory; }
  MemoryKind to() const override { return kBufferMemory; }

  Step step(const Description& from, const Context& to, Access) const override {
    const auto* images = from.context.as<ImageContext>();
    const auto* buffers = to.as<BufferContext>();
    if (!buffers || !images) return Refusal{kNotOurs};
    if (buffers->native().handle() != images->native().handle())
      return Refusal{"the image belongs to another VkDevice"};
    Reached reached =
        packed_copy(from, to, kBufferMemory, 80'000, images->native().device().is_cpu() ? 0.1 : 0.001, 1, false);
    reached.result.memory_bytes = std::max<std::size_t>(reached.result.memory_bytes, 1);
    return reached;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
    const Tensor copy = allocate(to, MemoryType::kDevice, {source.element_type(), source.shape(), {}});
    if (source.size_bytes() == 0) return copy;
    const Ref<Native>& native = to.as<BufferContext>()->native_ref();
    if (region_of(source, plane_of(source, *find_image(source)))) {
      copy_image_to_buffer(native, source, copy, deadline_of(options));
      return copy;
    }
    const Tensor packed(source.element_type(), source.shape());
    read_elements(native, source, static_cast<std::byte*>(packed.data()), deadline_of(options));
    write_elements(native, copy, static_cast<const std::byte*>(packed.data()), deadline_of(options));
    return copy;
  }
};

TENON_INLINE const Edge& image_to_cpu() {
  static const auto* const edge = new ImageToCpu;  // Outlives static destructors.
  return *edge;
}
TENON_INLINE const Edge& cpu_to_image() {
  static const auto* const edge = new CpuToImage;
  return *edge;
}
TENON_INLINE const Edge& buffer_to_image() {
  static const auto* const edge = new BufferToImage;
  return *edge;
}
TENON_INLINE const Edge& image_to_buffer() {
  static const auto* const edge = new ImageToBuffer;
  return *edge;
}
}  // namespace detail
}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
