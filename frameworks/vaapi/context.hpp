// SPDX-License-Identifier: Apache-2.0
// A display as a context of Tenon, and new surfaces.
#pragma once

#include <va/va.h>
#include <va/va_drmcommon.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/vaapi/display.hpp>
#include <tenon/frameworks/vaapi/memory.hpp>
#include <tenon/frameworks/vaapi/surface.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {

namespace detail {

/// Why an edge takes no single planes.
inline constexpr const char* kWholeFrames = "VA surfaces are pictures: map a whole frame";

/// The descriptor of the surfaces that are made here, as VA-API takes it.
using PrimeDescriptor = VADRMPRIMESurfaceDescriptor;

/// A surface over objects of others. The descriptors stay the caller's. @errors those of the driver, which says no more
/// than that it cannot.
Ref<Surface> import_surface(const Ref<Display>& display, const FrameInfo& info, PrimeDescriptor descriptor);

/// A new surface that the driver lays out as the format's modifier says, or as it likes where it takes no wishes.
Ref<Surface> allocate_surface(const Ref<Display>& display, const FrameInfo& info);

/// How the driver lays out surfaces of one format and size.
struct Prototype {
  FrameInfo info;
  std::vector<SurfaceLayout::Plane> planes;
  struct Object {
    std::size_t size_bytes = 0;
    FdKind fd;
    std::uint64_t modifier = kModifierLinear;
  };
  std::vector<Object> objects;
};

/// The pixels of a surface for the CPU: its own bytes, or an image that the driver copies them to and from.
class Pixels {
 public:
  /// @param shows  Whether the driver shows surfaces' own bytes. @param reads  Whether their values matter.
  Pixels(const SurfacePart& part, bool shows, bool reads);
  /// `plane`, or a part of it. Valid as long as this.
  Tensor of(const Tensor& plane) const { return in_image(plane, part_of(plane), image_); }
  /// Gives what was changed back to the driver. @errors those of the driver.
  void put();

 private:
  const Ref<SurfaceState> state_;
  MappedImage image_;
  bool is_copy_ = false;
};

}  // namespace detail

/// A display as the place where surfaces live. Contexts over one display share nothing but it.
class SurfaceContext final : public ContextImpl {
 public:
  /// @errors those of a first surface.
  SurfaceContext(Ref<Display> display, std::string name);
  std::string_view name() const override { return name_; }
  MemoryKind kind() const override { return kVaapiMemory; }
  DeviceIdentity device() const override { return display_->device(); }
  std::span<const Edge* const> edges() const override;
  Requirements requirements() const override;
  std::string_view remedy() const override;
  /// Bytes are the rows of a grey picture; frames come from vaapi::allocate().
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override;
  /// @errors kUnimplemented where offer() refuses; those of the driver.
  Ref<Memory> allocate(const Requirements& wanted) override;

  const Ref<Display>& display() const { return display_; }
  /// Whether the driver imports a sealed memfd, where the kernel has no dma-bufs.
  bool takes_memfds() const { return takes_memfds_; }
  /// Whether the driver shows its surfaces' own bytes to the CPU (vaDeriveImage).
  bool shows_bytes() const { return shows_bytes_; }
  /// The device that makes the descriptors; null where that is not known.
  const std::shared_ptr<const DeviceIdentity>& exporter() const { return exporter_; }

  /// How new surfaces of `info` lie: asked once, by making one. @errors as vaapi::allocate.
  detail::Prototype prototype(const FrameInfo& info) const;

  void read(const Tensor& tensor, std::span<std::byte> out) const override;
  void write(const Tensor& tensor, std::span<const std::byte> in) const override;

 private:
  static constexpr std::size_t kMostPrototypes = 64;
  static constexpr std::uint32_t kGreyRow_px = 1024, kMostGreyRows = 4096;

  static FrameInfo grey_for(std::size_t bytes);
  void ask_for_bytes() noexcept;

  const Ref<Display> display_;
  const std::string name_;
  const bool takes_memfds_;
  bool shows_bytes_ = false;
  std::shared_ptr<const DeviceIdentity> exporter_;
  mutable std::mutex mutex_;
  mutable std::vector<detail::Prototype> prototypes_;
};

namespace detail {

/// The context, or an error that says what was given instead.
const SurfaceContext& surface_context(const Context& context, const char* who);

/// A frame over the objects of a surface. @param first  Its first object.
/// @param info  Format, size and colour that are seen; the surface may be larger.
Frame frame_over(const Ref<SurfaceMemory>& first, const FrameInfo& info, const Lease& lease);

Ref<SurfaceMemory> memory_over(const Context& context, Ref<Surface> surface);

}  // namespace detail

/// A frame in a new surface. Linear, unless the format's modifier asks for another layout; a driver that takes no wishes
/// lays it out as it likes, and the frame's modifier says how.
/// @errors kInvalidArgument: no vaapi context, extents of 0; kUnimplemented: a format that the driver lacks;
/// kResourceExhausted; those of the driver. @thread any. @cost makes a surface; vaapi::SurfacePool reuses them.
Frame allocate(const Context& context, const FrameInfo& info, const Lease& lease = {});

}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
