// SPDX-License-Identifier: Apache-2.0
// A display as a context of Tenon, and the edges between surfaces, dma-bufs and host memory.
#pragma once

#include <va/va.h>
#include <va/va_drmcommon.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
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
#include <tenon/core/host_edge.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/vaapi/display.hpp>
#include <tenon/frameworks/vaapi/memory.hpp>
#include <tenon/frameworks/vaapi/native.hpp>
#include <tenon/frameworks/vaapi/pixel_format.hpp>
#include <tenon/frameworks/vaapi/surface.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {

class SurfaceContext;

namespace detail {

inline constexpr const char* kNotOurs = "source or target is not a vaapi context";
inline constexpr const char* kWholeFrames = "VA surfaces are pictures: map a whole frame";
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

/// From the surface to its dma-bufs: the descriptors are there since it was wrapped, so nothing is called.
class SurfaceToDmabuf final : public Edge {
 public:
  std::string_view name() const override { return "vaapi->dmabuf"; }
  MemoryKind from() const override { return kVaapiMemory; }
  MemoryKind to() const override { return dmabuf::kDmabufMemory; }
  bool makes_standing_views(const Context&) const override { return true; }

  Step step(const Description& from, const Context& to, Access access) const override {
    if (writes(access) && from.read_only) return Refusal{"the surface may only be read"};
    Reached reached = shared_in_place(from, to, dmabuf::kDmabufMemory, 150);
    reached.result.alignment = 1;
    reached.result.host_addressable = false;
    return reached;
  }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    settle(source, to, options);
    const Memory& memory = *source.memory();
    const View* view = memory.find_view(*to, dmabuf::kDmabufMemory, options.access);
    if (!view) {
      auto made =
          std::make_unique<dmabuf::DmabufView>(to, memory.read_only() ? Access::kRead : Access::kReadWrite, UniqueFd(),
                                               memory.borrow_fd(), memory.fd_kind() != FdKind::kDmabuf);
      made->set_standing(id());
      view = &memory.add_view(std::move(made));
    }
    return source.through(view);
  }
};

/// A surface over a frame's dma-bufs, with all planes' offsets, pitches and the modifier. Made once for each layout, and
/// kept with the memory.
class DmabufToSurface final : public Edge {
 public:
  std::string_view name() const override { return "dmabuf->vaapi"; }
  MemoryKind from() const override { return dmabuf::kDmabufMemory; }
  MemoryKind to() const override { return kVaapiMemory; }
  bool takes_single_planes() const override { return false; }
  Step step(const Description&, const Context&, Access) const override { return Refusal{kWholeFrames}; }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    throw Error(Code::kFailedPrecondition,
                std::string(name()) + ": " + std::get<Refusal>(step(describe(source), to, options.access)).reason);
  }
  FrameStep step_frame(const FrameDescription& from, const Context& to, Access access) const override;
  Frame map_frame(const Frame& source, const Context& to, const MapOptions& options) const override;
};

/// Shows the surface's own bytes by a derived image, else copies them out.
class SurfaceToCpu final : public Edge {
 public:
  std::string_view name() const override { return "vaapi->cpu"; }
  MemoryKind from() const override { return kVaapiMemory; }
  MemoryKind to() const override { return kCpuMemory; }
  bool takes_single_planes() const override { return false; }
  Step step(const Description& from, const Context& to, Access access) const override;
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override;
  FrameStep step_frame(const FrameDescription& from, const Context& to, Access access) const override;
  Frame map_frame(const Frame& source, const Context& to, const MapOptions& options) const override;

 private:
  static Tensor show(const Tensor& source);
};

/// Copies a picture into a new surface.
class CpuToSurface final : public Edge {
 public:
  std::string_view name() const override { return "cpu->vaapi"; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return kVaapiMemory; }
  bool takes_single_planes() const override { return false; }
  Step step(const Description&, const Context&, Access) const override { return Refusal{kWholeFrames}; }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    throw Error(Code::kFailedPrecondition,
                std::string(name()) + ": " + std::get<Refusal>(step(describe(source), to, options.access)).reason);
  }
  FrameStep step_frame(const FrameDescription& from, const Context& to, Access access) const override;
  Frame map_frame(const Frame& source, const Context& to, const MapOptions& options) const override;
};

inline const SurfaceToDmabuf surface_to_dmabuf;
inline const DmabufToSurface dmabuf_to_surface;
inline const SurfaceToCpu surface_to_cpu;
inline const CpuToSurface cpu_to_surface;
inline constexpr const Edge* kEdges[] = {&surface_to_dmabuf, &dmabuf_to_surface, &surface_to_cpu, &cpu_to_surface};

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
  std::span<const Edge* const> edges() const override { return detail::kEdges; }
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

namespace detail {

/// Tells a frame's layout from others over the same memory. Never 0, which stands for "the only one".
inline std::uint64_t layout_key(const FrameInfo& info, const PrimeDescriptor& descriptor) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  const auto add = [&](std::uint64_t value) { hash = (hash ^ value) * 0x100000001b3ull; };
  add(info.format.fourcc);
  add(info.format.modifier);
  add(std::uint64_t{info.width_px} << 32 | info.height_px);
  for (std::size_t p = 0; p < descriptor.layers[0].num_planes; ++p) {
    add(descriptor.layers[0].object_index[p]);
    add(std::uint64_t{descriptor.layers[0].offset[p]} << 32 | descriptor.layers[0].pitch[p]);
  }
  return hash | 1;
}

inline FrameStep DmabufToSurface::step_frame(const FrameDescription& from, const Context& to, Access access) const {
  const auto* surfaces = to.as<SurfaceContext>();
  if (!surfaces) return Refusal{kNotOurs};
  const FormatMapping* mapping = find_mapping(from.info.format);
  if (!mapping || !surfaces->display()->has_format(mapping->va))
    return Refusal{surfaces->display()->vendor() + " has no surfaces of format " + to_string(from.info.format)};
  ReachedFrame reached{from, false, 3'000};
  for (std::size_t p = 0; p < from.plane_count; ++p) {
    const Description& plane = from.planes[p];
    if (plane.fd != FdKind::kDmabuf && !surfaces->takes_memfds())
      return Refusal{surfaces->display()->vendor() + " takes dma-bufs only, and this is a " +
                     std::string(plane.fd.name())};
    if (auto refusal = refuses_import(plane, to)) return *std::move(refusal);
    if (writes(access) && plane.read_only) return Refusal{"the memory is read-only"};
    if (plane.info.strides[0] > INT32_MAX || plane.memory_bytes > UINT32_MAX)
      return Refusal{"VA-API's descriptors have 32 bits for pitches and sizes"};
    Description& result = reached.result.planes[p];
    result.context = to;
    result.kind = kVaapiMemory;
    result.alignment = 1;
    result.host_addressable = false;
  }
  return reached;
}

inline Frame DmabufToSurface::map_frame(const Frame& source, const Context& to, const MapOptions& options) const {
  if (!options.planned) {
    const FrameStep judged = step_frame(describe(source), to, options.access);
    if (const auto* refusal = std::get_if<Refusal>(&judged))
      throw Error(Code::kFailedPrecondition, std::string(name()) + ": " + refusal->reason);
    settle(source.plane(0), to, options);
  }
  const FrameInfo& info = source.info();
  PrimeDescriptor descriptor{};
  descriptor.fourcc = find_mapping(info.format)->va;
  descriptor.width = info.width_px;
  descriptor.height = info.height_px;
  descriptor.num_layers = 1;
  auto& layer = descriptor.layers[0];
  layer.drm_format = info.format.fourcc;
  layer.num_planes = static_cast<std::uint32_t>(source.plane_count());
  std::array<std::size_t, 4> first_plane{};  // Of each object.
  std::vector<SurfaceLayout::Plane> planes;
  for (std::size_t p = 0; p < source.plane_count(); ++p) {
    const Tensor& plane = source.plane(p);
    std::uint32_t object = 0;
    while (object < descriptor.num_objects && source.plane(first_plane[object]).memory() != plane.memory()) ++object;
    if (object == descriptor.num_objects) {
      first_plane[object] = p;
      descriptor.objects[descriptor.num_objects++] = {dmabuf::client::place_of(plane).fd,
                                                      static_cast<std::uint32_t>(plane.memory()->size_bytes()),
                                                      plane.memory()->modifier()};
    }
    layer.object_index[p] = object;
    layer.offset[p] = static_cast<std::uint32_t>(plane.offset());
    layer.pitch[p] = static_cast<std::uint32_t>(plane.byte_strides()[0]);
    planes.push_back({object, plane.offset(), layer.pitch[p]});
  }
  const std::uint64_t key = layout_key(info, descriptor);
  std::array<const View*, 4> views{};
  Ref<SurfaceState> state;
  for (std::size_t p = 0; p < source.plane_count(); ++p) {
    const std::size_t object = layer.object_index[p];
    if (first_plane[object] != p) {
      views[p] = views[first_plane[object]];
      continue;
    }
    const Memory& memory = *source.plane(p).memory();
    const View* view = memory.find_view(*to, kVaapiMemory, options.access, key);
    const auto* known = dynamic_cast<const SurfaceView*>(view);
    // A surface may lie over several memories; all must have views of the same one.
    if (known && (!state || known->state() == state)) {
      state = known->state();
    } else {
      if (!state)
        state = make_ref<SurfaceState>(import_surface(surface_context(to, "import").display(), info, descriptor),
                                       descriptor.fourcc, info.width_px, info.height_px, planes);
      auto made =
          std::make_unique<SurfaceView>(to, widest_access(source.plane(p)), known ? key + 2 * p : key, state, object);
      const FdKind fd = describe(source.plane(p)).fd;
      if (fd != memory.fd_kind()) made->set_fd_kind(fd);
      view = &memory.add_view(std::move(made));
      if (const auto* stays = dynamic_cast<const SurfaceView*>(view)) state = stays->state();
    }
    views[p] = view;
  }
  return source.through({views.data(), source.plane_count()});
}

inline Step SurfaceToCpu::step(const Description& from, const Context& to, Access access) const {
  const auto* surfaces = from.context.as<SurfaceContext>();
  if (!surfaces) return Refusal{kNotOurs};
  if (from.modifier != kModifierLinear)
    return Refusal{"its pixels are tiled (a DRM modifier): map a whole frame, which is copied"};
  if (!surfaces->shows_bytes())
    return Refusal{surfaces->display()->vendor() +
                   " shows no bytes of its surfaces (vaDeriveImage): map a whole frame, which is copied"};
  if (writes(access) && from.read_only) return Refusal{"the surface may only be read"};
  Reached reached = shared_in_place(from, to, kCpuMemory, 4'000);
  reached.result.alignment = 64;
  reached.result.host_addressable = true;
  return reached;
}

/// Begins the CPU's access; the lease of the result ends it.
inline Tensor SurfaceToCpu::show(const Tensor& source) {
  SurfacePart part = part_of(source);
  const View& view = part.state->image.begin(*part.state->surface, part.state->planes, widest_access(source));
  try {
    return source.through(&view).with_lease(ImageLease::over(source, part.state));
  } catch (...) {
    part.state->image.end();
    throw;
  }
}

inline Tensor SurfaceToCpu::map(const Tensor& source, const Context& to, const MapOptions& options) const {
  check_step(*this, source, to, options);
  settle(source, to, options);
  return show(source);
}

inline FrameStep SurfaceToCpu::step_frame(const FrameDescription& from, const Context& to, Access access) const {
  const auto* surfaces = from.planes[0].context.as<SurfaceContext>();
  if (!surfaces) return Refusal{kNotOurs};
  const bool shows = surfaces->shows_bytes() && from.in_one_memory() && from.planes[0].modifier == kModifierLinear;
  if (shows && (!writes(access) || !from.planes[0].read_only)) return Edge::step_frame(from, to, access);
  ReachedFrame reached{from, true, 200'000};
  for (std::size_t p = 0; p < from.plane_count; ++p) {
    const Reached plane = packed_copy(from.planes[p], to, kCpuMemory, 0, 0.5, 64, true);
    reached.cost_ns += plane.total_ns();
    reached.result.planes[p] = plane.result;
    reached.result.planes[p].modifier = kModifierLinear;
    reached.result.first_in_memory[p] = static_cast<std::uint8_t>(p);
  }
  return reached;
}

inline Frame SurfaceToCpu::map_frame(const Frame& source, const Context& to, const MapOptions& options) const {
  const FrameStep judged = step_frame(describe(source), to, options.access);
  if (const auto* refusal = std::get_if<Refusal>(&judged))
    throw Error(Code::kFailedPrecondition, std::string(name()) + ": " + refusal->reason);
  settle(source.plane(0), to, options);
  std::array<Tensor, 4> planes;
  const std::size_t count = source.plane_count();
  if (!std::get<ReachedFrame>(judged).copies) {
    for (std::size_t p = 0; p < count; ++p) {
      const bool alike = p > 0 && source.plane(p).lease() == source.plane(0).lease();
      planes[p] =
          alike ? source.plane(p).through(planes[0].view()).with_lease(planes[0].lease()) : show(source.plane(p));
    }
    return source.with_planes(std::span(planes).first(count));
  }
  source.plane(0).memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
  const Pixels pixels(part_of(source.plane(0)), false, true);
  for (std::size_t p = 0; p < count; ++p) {
    planes[p] = Tensor(source.plane(p).element_type(), source.plane(p).shape());
    pixels.of(source.plane(p)).copy_to(planes[p]);
  }
  return source.with_planes(std::span(planes).first(count));
}

inline FrameStep CpuToSurface::step_frame(const FrameDescription& from, const Context& to, Access) const {
  const auto* surfaces = to.as<SurfaceContext>();
  if (!surfaces) return Refusal{kNotOurs};
  if (from.info.format.modifier != kModifierLinear)
    return Refusal{"its pixels are tiled (a DRM modifier), and the CPU knows rows only"};
  const FormatMapping* mapping = find_mapping(from.info.format);
  if (!mapping || !surfaces->display()->has_format(mapping->va))
    return Refusal{surfaces->display()->vendor() + " has no surfaces of format " + to_string(from.info.format)};
  Prototype like;
  try {
    like = surfaces->prototype(from.info);
  } catch (const Error& error) {
    return Refusal{error.what()};
  }
  if (like.planes.size() != from.plane_count) return Refusal{"the driver lays out other planes than the format has"};
  ReachedFrame reached{from, true, 250'000};
  for (std::size_t p = 0; p < from.plane_count; ++p) {
    Description& plane = reached.result.planes[p];
    const Prototype::Object& object = like.objects[like.planes[p].object];
    reached.cost_ns += 0.5 * static_cast<double>(checked_size_bytes(plane.info.type, plane.info.shape).value_or(0));
    plane.context = to;
    plane.kind = kVaapiMemory;
    plane.info.strides = packed_strides(plane.info.type, plane.info.shape);
    plane.info.strides[0] = static_cast<std::ptrdiff_t>(like.planes[p].pitch_bytes);
    plane.offset = like.planes[p].offset_bytes;
    plane.memory_bytes = object.size_bytes;
    plane.alignment = 1;
    plane.modifier = object.modifier;
    plane.fd = object.fd;
    plane.host_addressable = plane.read_only = false;
    plane.exporter = object.fd == FdKind::kDmabuf ? surfaces->exporter() : nullptr;
    std::size_t first = 0;
    while (like.planes[first].object != like.planes[p].object) ++first;
    reached.result.first_in_memory[p] = static_cast<std::uint8_t>(first);
  }
  return reached;
}

}  // namespace detail

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

inline Frame detail::CpuToSurface::map_frame(const Frame& source, const Context& to, const MapOptions& options) const {
  if (!options.planned) {
    const FrameStep judged = step_frame(describe(source), to, options.access);
    if (const auto* refusal = std::get_if<Refusal>(&judged))
      throw Error(Code::kFailedPrecondition, std::string(name()) + ": " + refusal->reason);
  }
  for (const Tensor& plane : source.planes())
    plane.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
  const Frame made = allocate(to, source.info());
  std::array<Tensor, 4> planes;
  const bool is_linear = made.info().format.modifier == kModifierLinear;
  Pixels pixels(part_of(made.plane(0)), is_linear && surface_context(to, "upload").shows_bytes(), false);
  for (std::size_t p = 0; p < made.plane_count(); ++p) {
    Tensor target = pixels.of(made.plane(p));
    source.plane(p).copy_to(target);
    planes[p] = made.plane(p);
  }
  pixels.put();
  return source.with_planes(std::span(planes).first(made.plane_count()));
}

}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
