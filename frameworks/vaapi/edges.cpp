// SPDX-License-Identifier: Apache-2.0
// The edges between surfaces, dma-bufs and host memory.
#include <tenon/frameworks/vaapi/context.hpp>

#include <array>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/dmabuf/standing.hpp>
#include <tenon/frameworks/vaapi/pixel_format.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {
namespace detail {

inline constexpr const char* kNotOurs = "source or target is not a vaapi context";

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
    return dmabuf::client::standing_descriptor(*this, source, to, options.access);
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

/// Tells a frame's layout from others over the same memory. Never 0, which stands for "the only one".
TENON_INLINE std::uint64_t layout_key(const FrameInfo& info, const PrimeDescriptor& descriptor) {
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

TENON_INLINE FrameStep DmabufToSurface::step_frame(const FrameDescription& from, const Context& to,
                                                   Access access) const {
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

TENON_INLINE Frame DmabufToSurface::map_frame(const Frame& source, const Context& to, const MapOptions& options) const {
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
  std::array<std::size_t, 4> first_plane{};  // For each object.
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

TENON_INLINE Step SurfaceToCpu::step(const Description& from, const Context& to, Access access) const {
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
TENON_INLINE Tensor SurfaceToCpu::show(const Tensor& source) {
  SurfacePart part = part_of(source);
  const View& view = part.state->image.begin(*part.state->surface, part.state->planes, widest_access(source));
  try {
    return source.through(&view).with_lease(image_lease(source, part.state));
  } catch (...) {
    part.state->image.end();
    throw;
  }
}

TENON_INLINE Tensor SurfaceToCpu::map(const Tensor& source, const Context& to, const MapOptions& options) const {
  check_step(*this, source, to, options);
  settle(source, to, options);
  return show(source);
}

TENON_INLINE FrameStep SurfaceToCpu::step_frame(const FrameDescription& from, const Context& to, Access access) const {
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

TENON_INLINE Frame SurfaceToCpu::map_frame(const Frame& source, const Context& to, const MapOptions& options) const {
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

TENON_INLINE FrameStep CpuToSurface::step_frame(const FrameDescription& from, const Context& to, Access) const {
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

TENON_INLINE Frame CpuToSurface::map_frame(const Frame& source, const Context& to, const MapOptions& options) const {
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

}  // namespace detail

TENON_INLINE std::span<const Edge* const> SurfaceContext::edges() const {
  static const detail::SurfaceToDmabuf to_dmabuf;
  static const detail::DmabufToSurface from_dmabuf;
  static const detail::SurfaceToCpu to_cpu;
  static const detail::CpuToSurface from_cpu;
  static const Edge* const all[] = {&to_dmabuf, &from_dmabuf, &to_cpu, &from_cpu};
  return all;
}

}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
