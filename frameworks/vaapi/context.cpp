// SPDX-License-Identifier: Apache-2.0
// A display as a context, and new surfaces.
#include <tenon/frameworks/vaapi/context.hpp>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/vaapi/native.hpp>

namespace tenon {
inline namespace v1 {
namespace vaapi {
namespace detail {

TENON_INLINE Ref<Surface> import_surface(const Ref<Display>& display, const FrameInfo& info,
                                         PrimeDescriptor descriptor) {
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

TENON_INLINE Ref<Surface> allocate_surface(const Ref<Display>& display, const FrameInfo& info) {
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
TENON_INLINE bool takes_memfds(const Ref<Display>& display) noexcept {
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

TENON_INLINE Pixels::Pixels(const SurfacePart& part, bool shows, bool reads) : state_(part.state) {
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

TENON_INLINE void Pixels::put() {
  if (!is_copy_) return;
  const Surface& surface = *state_->surface;
  const unsigned width = state_->width_px, height = state_->height_px;
  constexpr const char* kCall = "vaPutImage";
  native::check(native::call(kCall, vaPutImage, surface.display()->handle(), surface.id(), image_.image().image_id, 0,
                             0, width, height, 0, 0, width, height),
                kCall, surface.what());
}

}  // namespace detail

TENON_INLINE SurfaceContext::SurfaceContext(Ref<Display> display, std::string name)
    : display_(std::move(display)), name_(std::move(name)), takes_memfds_(detail::takes_memfds(display_)) {
  if (!display_->device().empty()) exporter_ = std::make_shared<const DeviceIdentity>(display_->device());
  ask_for_bytes();
}

TENON_INLINE Requirements SurfaceContext::requirements() const {
  Requirements wanted;
  wanted.fd = takes_memfds_ ? FdKind::kMemfd : FdKind::kDmabuf;
  return wanted;
}

TENON_INLINE std::string_view SurfaceContext::remedy() const {
  return "make surfaces that lie in rows (vaapi::allocate, VASurfaceAttribDRMFormatModifiers with 0)";
}

TENON_INLINE std::variant<Offer, Refusal> SurfaceContext::offer(const Requirements& wanted) const {
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

TENON_INLINE detail::Prototype SurfaceContext::prototype(const FrameInfo& info) const {
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

TENON_INLINE void SurfaceContext::read(const Tensor& tensor, std::span<std::byte> out) const {
  const detail::SurfacePart part = detail::part_of(tensor);
  tensor.memory()->wait_for(Access::kRead, default_deadline());
  Tensor packed(tensor.element_type(), tensor.shape(), out.data());
  detail::Pixels(part, shows_bytes_, true).of(tensor).copy_to(packed);
}

TENON_INLINE void SurfaceContext::write(const Tensor& tensor, std::span<const std::byte> in) const {
  const detail::SurfacePart part = detail::part_of(tensor);
  tensor.memory()->wait_for(Access::kReadWrite, default_deadline());
  detail::Pixels pixels(part, shows_bytes_, true);
  Tensor target = pixels.of(tensor);
  Tensor(tensor.element_type(), tensor.shape(), const_cast<std::byte*>(in.data())).copy_to(target);
  pixels.put();
}

TENON_INLINE FrameInfo SurfaceContext::grey_for(std::size_t bytes) {
  return {kGray8, kGreyRow_px,
          static_cast<std::uint32_t>(std::max<std::size_t>((bytes + kGreyRow_px - 1) / kGreyRow_px, 1))};
}

TENON_INLINE void SurfaceContext::ask_for_bytes() noexcept {
  try {
    const Ref<Surface> surface = detail::allocate_surface(display_, {kNv12, 64, 64});
    detail::SharedImage image;
    image.begin(*surface, surface->export_layout().planes, Access::kRead);
    image.end();
    shows_bytes_ = true;
  } catch (const std::exception&) {  // It then copies.
  }
}

namespace detail {

TENON_INLINE const SurfaceContext& surface_context(const Context& context, const char* who) {
  if (const auto* found = context.as<SurfaceContext>()) return *found;
  throw Error(Code::kInvalidArgument, "vaapi::" + std::string(who) + ": " +
                                          (context ? std::string(context->name()) : std::string("a null context")) +
                                          " is no vaapi context");
}

TENON_INLINE Frame frame_over(const Ref<SurfaceMemory>& first, const FrameInfo& info, const Lease& lease) {
  const SurfaceState& state = *first->state();
  std::array<PlanePlace, 4> places;
  for (std::size_t p = 0; p < state.planes.size(); ++p)
    places[p] = {first->at(state.planes[p].object), state.planes[p].offset_bytes, state.planes[p].pitch_bytes};
  return Frame(info, std::span(places).first(state.planes.size()), lease);
}

TENON_INLINE Ref<SurfaceMemory> memory_over(const Context& context, Ref<Surface> surface) {
  SurfaceLayout layout = surface->export_layout();
  return SurfaceMemory::over(context, std::move(surface), std::move(layout),
                             surface_context(context, "wrap").exporter());
}

}  // namespace detail

TENON_INLINE Ref<Memory> SurfaceContext::allocate(const Requirements& wanted) {
  check_offer(wanted);
  return detail::memory_over(Context(Ref<ContextImpl>(this)),
                             detail::allocate_surface(display_, grey_for(wanted.size_bytes + wanted.tail_padding)));
}

TENON_INLINE Frame allocate(const Context& context, const FrameInfo& info, const Lease& lease) {
  const SurfaceContext& surfaces = detail::surface_context(context, "allocate");
  const Ref<SurfaceMemory> memory = detail::memory_over(context, detail::allocate_surface(surfaces.display(), info));
  FrameInfo made = info;
  made.format.modifier = memory->modifier();
  return detail::frame_over(memory, made, lease);
}

}  // namespace vaapi
}  // namespace v1
}  // namespace tenon
