// SPDX-License-Identifier: Apache-2.0
// Edges between dma-bufs and Vulkan: imports as buffers and as images with DRM modifiers, and exports.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/dmabuf/memory.hpp>
#include <tenon/frameworks/vulkan/context.hpp>
#include <tenon/frameworks/vulkan/edges.hpp>

namespace tenon {
inline namespace v1 {
namespace vulkan {
namespace detail {

/// Why the device cannot import a dma-buf, or what stands in for one; nothing when it can.
TENON_INLINE std::optional<Refusal> refuses_descriptor(const Description& from, const Context& to, Native& native,
                                                       Access access) {
  if (!from.fd.serves(FdKind::kMemfd))
    return Refusal{from.fd == FdKind::kNone
                       ? "the memory has no descriptor"
                       : "its descriptor is of kind " + std::string(from.fd.name()) + ", which is no dma-buf"};
  if (const std::string& why = native.dmabuf_obstacle(from.fd != FdKind::kDmabuf); !why.empty()) return Refusal{why};
  if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
  return refuses_import(from, to);
}

/// Drivers of Vulkan ignore the fences that others attached to a dma-buf.
inline constexpr std::string_view kFences =
    "a driver of Vulkan may ignore the fences that others attached to a dma-buf";

TENON_INLINE dmabuf::client::Place ready_place(const Tensor& source, const MapOptions& options) {
  const dmabuf::client::Place place = dmabuf::client::place_of(source);
  if (!place.stand_in)
    dmabuf::client::wait_for_fences(place.fd, options.access, deadline_of(options), &ledger_of(options));
  return place;
}

/// The whole allocation as a buffer, imported once.
class DmabufToBuffer final : public Edge {
 public:
  std::string_view name() const override { return "dmabuf->vulkan.buffer"; }
  MemoryKind from() const override { return dmabuf::kDmabufMemory; }
  MemoryKind to() const override { return kBufferMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    auto* buffers = to.as<BufferContext>();
    if (!buffers) return Refusal{kNotOurs};
    if (auto refusal = refuses_descriptor(from, to, buffers->native(), access)) return *std::move(refusal);
    if (from.modifier != kModifierLinear)
      return Refusal{
          "its pixels are tiled (a DRM modifier), and a buffer is linear memory; map it to vulkan::images()"};
    Reached reached = shared_in_place(from, to, kBufferMemory, 20'000);
    reached.result.host_addressable = false;
    reached.result.alignment = 1;
    return reached;
  }
  std::string_view host_wait(const Description& from) const override {
    return from.fd == FdKind::kDmabuf ? kFences : "";
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    reach(*this, source, to, options);
    const Memory& memory = *source.memory();
    if (memory.context() == to) return source.through(nullptr);
    const dmabuf::client::Place place = ready_place(source, options);
    const View* view = memory.find_view(*to, kBufferMemory, options.access);
    if (!view) {
      const Ref<Native>& native = to.as<BufferContext>()->native_ref();
      auto made =
          std::make_unique<BufferView>(to, memory.read_only() ? Access::kRead : Access::kReadWrite, nullptr, native,
                                       import_block(native, place.fd, Origin::kDmabuf, memory.size_bytes()));
      if (place.stand_in) made->set_standing(id());
      view = &memory.add_view(std::move(made));
    }
    return source.through(view);
  }
};

/// A picture as an image, by its rows or with its modifier. One import for each picture of an allocation.
class DmabufToImage final : public Edge {
 public:
  std::string_view name() const override { return "dmabuf->vulkan.image"; }
  MemoryKind from() const override { return dmabuf::kDmabufMemory; }
  MemoryKind to() const override { return kImageMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    auto* images = to.as<ImageContext>();
    if (!images) return Refusal{kNotOurs};
    Native& native = images->native();
    if (!native.enabled(VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME))
      return Refusal{native.device().name + " lacks VK_EXT_image_drm_format_modifier: map it as a buffer"};
    if (auto refusal = refuses_descriptor(from, to, native, access)) return *std::move(refusal);
    const auto plane = plane_in(from);
    const VkFormat format = plane
                                ? format_of(from.info.type, picture_of(from.info.shape)->channels, Samples::kNormalised)
                                : VK_FORMAT_UNDEFINED;
    if (format == VK_FORMAT_UNDEFINED)
      return Refusal{"it is no picture of 1, 2 or 4 channels whose pixels lie side by side in rows"};
    if (auto refused =
            images->refusal(format, plane->width_px, plane->height_px, features_of(native, format, from.modifier),
                            "DRM modifier " + std::to_string(from.modifier)))
      return *std::move(refused);
    if (from.modifier == kModifierLinear && plane->end() > from.memory_bytes)
      return Refusal{"the last row of the picture is cut off: an image wants all of its pitch"};
    if (std::string why = layout_obstacle(native, format, *plane, from.modifier, from.memory_bytes); !why.empty())
      return Refusal{std::move(why)};
    Reached reached = shared_in_place(from, to, kImageMemory, 30'000);
    reached.result.host_addressable = false;
    reached.result.alignment = 1;
    return reached;
  }
  std::string_view host_wait(const Description& from) const override {
    return from.fd == FdKind::kDmabuf ? kFences : "";
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    reach(*this, source, to, options);
    const Memory& memory = *source.memory();
    if (memory.context() == to) return source.through(nullptr);
    const dmabuf::client::Place place = ready_place(source, options);
    const Description from = describe(source);
    const PlaneOfImage plane = plane_in(from).value();
    const VkFormat format = format_of(from.info.type, picture_of(from.info.shape)->channels, Samples::kNormalised);
    const std::uint64_t key = key_of(plane, format);
    const View* view = memory.find_view(*to, kImageMemory, options.access, key);
    if (!view) {
      const Ref<Native>& native = to.as<ImageContext>()->native_ref();
      view = &memory.add_view(std::make_unique<ImageView>(
          to, memory.read_only() ? Access::kRead : Access::kReadWrite, native,
          import_image(native, place.fd, memory.size_bytes(), format, plane, from.modifier), key));
    }
    return source.through(view);
  }

 private:
  static std::optional<PlaneOfImage> plane_in(const Description& from) {
    const auto picture = picture_of(from.info.shape);
    const ByteStrides& strides = from.info.strides;
    if (!picture || picture->width_px == 0 || picture->height_px == 0 || strides.empty()) return std::nullopt;
    const std::size_t sample = size_bytes(from.info.type), pixel = sample * picture->channels;
    const auto pitch = static_cast<std::size_t>(strides[0]);
    if (static_cast<std::size_t>(strides[1]) != pixel ||
        (strides.size() == 3 && static_cast<std::size_t>(strides[2]) != sample) || pitch < pixel * picture->width_px ||
        pitch % pixel != 0 || from.offset % pixel != 0)
      return std::nullopt;
    return PlaneOfImage{VK_IMAGE_ASPECT_COLOR_BIT, picture->width_px, picture->height_px, pixel, from.offset, pitch};
  }
  /// Two pictures of one memory that differ have other keys (FNV-1a); never 0, which is a buffer's.
  static std::uint64_t key_of(const PlaneOfImage& plane, VkFormat format) {
    std::uint64_t key = 0xcbf29ce484222325ull;
    for (const std::uint64_t value :
         {std::uint64_t{plane.base}, std::uint64_t{plane.pitch}, std::uint64_t{plane.width_px},
          std::uint64_t{plane.height_px}, std::uint64_t{format}})
      key = (key ^ value) * 0x100000001b3ull;
    return key | 1u;
  }
};

/// Memory made for export, as a dma-buf or as what stands in for one.
class ExportedToDmabuf final : public Edge {
 public:
  ExportedToDmabuf(std::string_view name, MemoryKind from, const char* remedy)
      : name_(name), from_(from), remedy_(remedy) {}
  std::string_view name() const override { return name_; }
  MemoryKind from() const override { return from_; }
  MemoryKind to() const override { return dmabuf::kDmabufMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    if (!device_context(from.context)) return Refusal{kNotOurs};
    if (from.fd == FdKind::kNone) return Refusal{std::string("the memory was not made to be exported: ") + remedy_};
    if (!from.fd.serves(FdKind::kMemfd))
      return Refusal{"its descriptor is of kind " + std::string(from.fd.name()) + ", which is no dma-buf: " + remedy_};
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
    Reached reached = shared_in_place(from, to, dmabuf::kDmabufMemory, 300);
    reached.result.host_addressable = false;
    reached.result.alignment = 1;
    return reached;
  }
  std::string_view host_wait(const Description& /*from*/) const override {
    return "an importer of the descriptor cannot wait for Vulkan's work";
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    reach(*this, source, to, options);
    const Memory& memory = *source.memory();
    if (memory.context() == to) return source.through(nullptr);
    memory.wait_for(options.access, deadline_of(options), &ledger_of(options));
    const View* view = memory.find_view(*to, dmabuf::kDmabufMemory, options.access);
    if (!view)
      view = &memory.add_view(
          std::make_unique<dmabuf::DmabufView>(to, memory.read_only() ? Access::kRead : Access::kReadWrite, UniqueFd(),
                                               memory.borrow_fd(), memory.fd_kind() != FdKind::kDmabuf));
    return source.through(view);
  }

 private:
  std::string_view name_;
  MemoryKind from_;
  const char* remedy_;
};

TENON_INLINE const Edge& dmabuf_to_buffer() {
  static const auto* const edge = new DmabufToBuffer;  // Outlives static destructors.
  return *edge;
}
TENON_INLINE const Edge& dmabuf_to_image() {
  static const auto* const edge = new DmabufToImage;
  return *edge;
}
TENON_INLINE const Edge& buffer_to_dmabuf() {
  static const auto* const edge = new ExportedToDmabuf(
      "vulkan.buffer->dmabuf", kBufferMemory, "allocate it with vulkan::allocate_exported(..., FdKind::kDmabuf)");
  return *edge;
}
TENON_INLINE const Edge& image_to_dmabuf() {
  static const auto* const edge =
      new ExportedToDmabuf("vulkan.image->dmabuf", kImageMemory, "allocate it with vulkan::allocate_exported_image");
  return *edge;
}

}  // namespace detail
}  // namespace vulkan
}  // namespace v1
}  // namespace tenon
