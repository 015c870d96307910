// SPDX-License-Identifier: Apache-2.0
// A display as a context of Tenon, and new surfaces. edges.hpp has its edges.
#pragma once

#include <va/va.h>
#include <va/va_drmcommon.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/frame.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/vaapi/display.hpp>
#include <tenon/frameworks/vaapi/memory.hpp>
#include <tenon/frameworks/vaapi/native.hpp>
#include <tenon/frameworks/vaapi/pixel_format.hpp>
#include <tenon/frameworks/vaapi/surface.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {

namespace detail {

/// The descriptor of the surfaces that are made here, as VA-API takes it.
using PrimeDescriptor = VADRMPRIMESurfaceDescriptor;

/// A surface over objects of others. The descriptors stay the caller's. @errors those of the driver, which says no more
/// than that it cannot.
inline Ref<Surface> import_surface(const Ref<Display>& display, const FrameInfo& info, PrimeDescriptor descriptor) {
  std::vector<VASurfaceAttrib> attributes(2);
  attributes[0].type = VASurfaceAttribMemoryType;
  attributes[0].flags = VA_SURFACE_ATTRIB_SETTABLE;
  attributes[0].value.type = VAGenericValueTypeInteger;
  attributes[0].value.value.i = VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2;
  attributes[1].type = VASurfaceAttribExternalBufferDescriptor;
  attributes[1].flags = VA_SURFACE_ATTRIB_SETTABLE;
  attributes[1].value.type = VAGenericValueTypePointer;
  attributes[1].value.value.p = &descriptor;
  return create_surface(display, info, std::move(attributes));
}

/// A new surface that the driver lays out as the format's modifier says, or as it likes where it takes no wishes.
inline Ref<Surface> allocate_surface(const Ref<Display>& display, const FrameInfo& info) {
  std::uint64_t modifier = info.format.modifier;
  VADRMFormatModifierList list{};
  list.num_modifiers = 1;
  list.modifiers = &modifier;
  VASurfaceAttrib wish{};
  wish.type = VASurfaceAttribDRMFormatModifiers;
  wish.flags = VA_SURFACE_ATTRIB_SETTABLE;
  wish.value.type = VAGenericValueTypePointer;
  wish.value.value.p = &list;
  try {
    return create_surface(display, info, {wish});
  } catch (const Error& error) {
    if (error.native_code() != VA_STATUS_ERROR_ATTR_NOT_SUPPORTED) throw;
    return create_surface(display, info);
  }
}

/// Whether the driver takes a sealed memfd where the kernel has no dma-bufs.
inline bool takes_memfds(const Ref<Display>& display) noexcept {
  try {
    const FrameInfo info{kNv12, 64, 64};
    const UniqueFd fd = dmabuf::client::sealed_memfd(std::size_t{64} * 96);
    PrimeDescriptor from{};
    from.fourcc = VA_FOURCC_NV12;
    from.width = from.height = 64;
    from.num_objects = from.num_layers = 1;
    from.objects[0] = {fd.get(), 64 * 96, kModifierLinear};
    from.layers[0] = {kNv12.fourcc, 2, {0, 0}, {0, 64 * 64}, {64, 64}};
    import_surface(display, info, from);
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

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
  Pixels(const SurfacePart& part, bool shows, bool reads) : state_(part.state) {
    const Surface& surface = *state_->surface;
    if (shows && image_.derive(surface)) return;
    is_copy_ = true;
    image_.make(surface, state_->fourcc, state_->width_px, state_->height_px);
    constexpr const char* kCall = "vaGetImage";
    if (reads)
      native::check(native::call(kCall, vaGetImage, surface.display()->handle(), surface.id(), 0, 0,
                                 unsigned{state_->width_px}, unsigned{state_->height_px}, image_.image().image_id),
                    kCall, surface.what());
  }
  /// `plane`, or a part of it. Valid as long as this.
  Tensor of(const Tensor& plane) const { return in_image(plane, part_of(plane), image_); }
  /// Gives what was changed back to the driver. @errors those of the driver.
  void put() {
    if (!is_copy_) return;
    const Surface& surface = *state_->surface;
    const unsigned width = state_->width_px, height = state_->height_px;
    constexpr const char* kCall = "vaPutImage";
    native::check(native::call(kCall, vaPutImage, surface.display()->handle(), surface.id(), image_.image().image_id, 0,
                               0, width, height, 0, 0, width, height),
                  kCall, surface.what());
  }

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
  SurfaceContext(Ref<Display> display, std::string name)
      : display_(std::move(display)), name_(std::move(name)), takes_memfds_(detail::takes_memfds(display_)) {
    if (!display_->device().empty()) exporter_ = std::make_shared<const DeviceIdentity>(display_->device());
    ask_for_bytes();
  }
  std::string_view name() const override { return name_; }
  MemoryKind kind() const override { return kVaapiMemory; }
  DeviceIdentity device() const override { return display_->device(); }
  std::span<const Edge* const> edges() const override;
  Requirements requirements() const override {
    Requirements wanted;
    wanted.fd = takes_memfds_ ? FdKind::kMemfd : FdKind::kDmabuf;
    return wanted;
  }
  std::string_view remedy() const override {
    return "make surfaces that lie in rows (vaapi::allocate, VASurfaceAttribDRMFormatModifiers with 0)";
  }
  /// Bytes are the rows of a grey picture; frames come from vaapi::allocate().
  std::variant<Offer, Refusal> offer(const Requirements& wanted) const override {
    const std::size_t bytes = wanted.size_bytes + wanted.tail_padding;
    if (wanted.host_access) return Refusal{"surfaces have no host address of their own; map them to the CPU"};
    if (!display_->has_format(VA_FOURCC_Y800) || bytes > kGreyRow_px * kMostGreyRows)
      return Refusal{"surfaces are pictures, and no grey one of this driver holds " + std::to_string(bytes) +
                     " bytes; vaapi::allocate() makes frames"};
    try {
      const detail::Prototype like = prototype(grey_for(bytes));
      const bool packed = like.objects.size() == 1 && like.planes.size() == 1 && like.planes[0].offset_bytes == 0 &&
                          like.planes[0].pitch_bytes == kGreyRow_px && like.objects[0].modifier == kModifierLinear;
      if (!packed) return Refusal{"the driver pads the rows of grey pictures; vaapi::allocate() makes frames"};
      if (!like.objects[0].fd.serves(wanted.fd))
        return Refusal{"its surfaces have descriptors of kind " + std::string(like.objects[0].fd.name())};
      return Offer{1, like.objects[0].fd, kModifierLinear, false};
    } catch (const Error& error) {
      return Refusal{error.what()};
    }
  }
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
  detail::Prototype prototype(const FrameInfo& info) const {
    const auto is_same = [&](const detail::Prototype& known) {
      return known.info.format == info.format && known.info.width_px == info.width_px &&
             known.info.height_px == info.height_px;
    };
    {
      std::lock_guard lock(mutex_);
      const auto known = std::find_if(prototypes_.begin(), prototypes_.end(), is_same);
      if (known != prototypes_.end()) return *known;
    }
    SurfaceLayout layout = detail::allocate_surface(display_, info)->export_layout();
    detail::Prototype made{info, std::move(layout.planes), {}};
    for (const SurfaceLayout::Object& object : layout.objects) {
      const auto found = dmabuf::client::inspect(object.fd.get(), 0);
      made.objects.push_back({found.properties.size_bytes, found.properties.fd, object.modifier});
    }
    std::lock_guard lock(mutex_);
    if (prototypes_.size() == kMostPrototypes) prototypes_.erase(prototypes_.begin());
    prototypes_.push_back(made);
    return made;
  }

  void read(const Tensor& tensor, std::span<std::byte> out) const override {
    const detail::SurfacePart part = detail::part_of(tensor);
    tensor.memory()->wait_for(Access::kRead, default_deadline());
    Tensor packed(tensor.element_type(), tensor.shape(), out.data());
    detail::Pixels(part, shows_bytes_, true).of(tensor).copy_to(packed);
  }
  void write(const Tensor& tensor, std::span<const std::byte> in) const override {
    const detail::SurfacePart part = detail::part_of(tensor);
    tensor.memory()->wait_for(Access::kReadWrite, default_deadline());
    detail::Pixels pixels(part, shows_bytes_, true);
    Tensor target = pixels.of(tensor);
    Tensor(tensor.element_type(), tensor.shape(), const_cast<std::byte*>(in.data())).copy_to(target);
    pixels.put();
  }

 private:
  static constexpr std::size_t kMostPrototypes = 64;
  static constexpr std::uint32_t kGreyRow_px = 1024, kMostGreyRows = 4096;

  static FrameInfo grey_for(std::size_t bytes) {
    return {kGray8, kGreyRow_px,
            static_cast<std::uint32_t>(std::max<std::size_t>((bytes + kGreyRow_px - 1) / kGreyRow_px, 1))};
  }

  void ask_for_bytes() noexcept {
    try {
      const Ref<Surface> surface = detail::allocate_surface(display_, {kNv12, 64, 64});
      detail::SharedImage image;
      image.begin(*surface, surface->export_layout().planes, Access::kRead);
      image.end();
      shows_bytes_ = true;
    } catch (const std::exception&) {  // It then copies.
    }
  }

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
inline const SurfaceContext& surface_context(const Context& context, const char* who) {
  if (const auto* found = context.as<SurfaceContext>()) return *found;
  throw Error(Code::kInvalidArgument, "vaapi::" + std::string(who) + ": " +
                                          (context ? std::string(context->name()) : std::string("a null context")) +
                                          " is no vaapi context");
}

/// A frame over the objects of a surface. @param first  Its first object.
/// @param info  Format, size and colour that are seen; the surface may be larger.
inline Frame frame_over(const Ref<SurfaceMemory>& first, const FrameInfo& info, const Lease& lease) {
  const SurfaceState& state = *first->state();
  std::array<PlanePlace, 4> places;
  for (std::size_t p = 0; p < state.planes.size(); ++p)
    places[p] = {first->at(state.planes[p].object), state.planes[p].offset_bytes, state.planes[p].pitch_bytes};
  return Frame(info, std::span(places).first(state.planes.size()), lease);
}

inline Ref<SurfaceMemory> memory_over(const Context& context, Ref<Surface> surface) {
  SurfaceLayout layout = surface->export_layout();
  return SurfaceMemory::over(context, std::move(surface), std::move(layout),
                             surface_context(context, "wrap").exporter());
}

}  // namespace detail

inline Ref<Memory> SurfaceContext::allocate(const Requirements& wanted) {
  check_offer(wanted);
  return detail::memory_over(Context(Ref<ContextImpl>(this)),
                             detail::allocate_surface(display_, grey_for(wanted.size_bytes + wanted.tail_padding)));
}

/// A frame in a new surface. Linear, unless the format's modifier asks for another layout; a driver that takes no wishes
/// lays it out as it likes, and the frame's modifier says how.
/// @errors kInvalidArgument: no vaapi context, extents of 0; kUnimplemented: a format that the driver lacks;
/// kResourceExhausted; those of the driver. @thread any. @cost makes a surface; vaapi::SurfacePool reuses them.
inline Frame allocate(const Context& context, const FrameInfo& info, const Lease& lease = {}) {
  const SurfaceContext& surfaces = detail::surface_context(context, "allocate");
  const Ref<SurfaceMemory> memory = detail::memory_over(context, detail::allocate_surface(surfaces.display(), info));
  FrameInfo made = info;
  made.format.modifier = memory->modifier();
  return detail::frame_over(memory, made, lease);
}

}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
