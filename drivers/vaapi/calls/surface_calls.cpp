// SPDX-License-Identifier: Apache-2.0
// Surfaces: creation, import, export, status.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>
#include <vector>

#include <va/va_drmcommon.h>

#include <tenon/drivers/vaapi/calls/calls.hpp>
#include <tenon/drivers/vaapi/objects/convert.hpp>
#include <tenon/drivers/vaapi/objects/enumeration.hpp>

namespace tenon::va::calls {
namespace {

constexpr std::uint64_t kModifierLinear = 0, kModifierInvalid = 0x00ffffffffffffff;  // drm_fourcc.h
constexpr std::uint32_t kMemoryTypes =
    VA_SURFACE_ATTRIB_MEM_TYPE_VA | VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME | VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2;
constexpr int kMaxSurfaces = 1024;
constexpr std::chrono::nanoseconds kLongest = std::chrono::minutes(1);

using Planes = std::array<SurfacePlane, 3>;

/// The client's request beside the size.
struct Wish {
  const Format* format = nullptr;
  std::uint32_t memory = VA_SURFACE_ATTRIB_MEM_TYPE_VA;
  const void* descriptor = nullptr;
  bool lists_linear = true;  ///< No list of modifiers, or one with "linear".
};

VAStatus read_attribute(const VASurfaceAttrib& attribute, Wish& wish) {
  const bool is_pointer =
      attribute.type == VASurfaceAttribExternalBufferDescriptor || attribute.type == VASurfaceAttribDRMFormatModifiers;
  if (attribute.value.type != (is_pointer ? VAGenericValueTypePointer : VAGenericValueTypeInteger))
    return VA_STATUS_ERROR_INVALID_PARAMETER;
  switch (attribute.type) {
    case VASurfaceAttribPixelFormat:
      wish.format = find_format(static_cast<std::uint32_t>(attribute.value.value.i));
      return wish.format ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT;
    case VASurfaceAttribMemoryType:
      wish.memory = static_cast<std::uint32_t>(attribute.value.value.i);
      return (wish.memory & ~kMemoryTypes) == 0 && (wish.memory & (wish.memory - 1)) == 0 && wish.memory != 0
                 ? VA_STATUS_SUCCESS
                 : VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE;
    case VASurfaceAttribExternalBufferDescriptor:
      wish.descriptor = attribute.value.value.p;
      return VA_STATUS_SUCCESS;
    case VASurfaceAttribDRMFormatModifiers: {
      const auto* list = static_cast<const VADRMFormatModifierList*>(attribute.value.value.p);
      if (!list) return VA_STATUS_SUCCESS;  // vaQuerySurfaceAttributes reports it like this.
      if (list->num_modifiers > 0 && !list->modifiers) return VA_STATUS_ERROR_INVALID_PARAMETER;
      const std::span modifiers(list->modifiers, list->num_modifiers);
      wish.lists_linear = std::find(modifiers.begin(), modifiers.end(), kModifierLinear) != modifiers.end();
      return VA_STATUS_SUCCESS;
    }
    case VASurfaceAttribUsageHint:
      return VA_STATUS_SUCCESS;  // A hint: all surfaces serve all uses.
    default:
      return VA_STATUS_ERROR_ATTR_NOT_SUPPORTED;
  }
}

/// Whether a plane of this size is inside its memory.
bool fits(const SurfacePlane& plane, std::uint32_t bytes_per_row, std::uint32_t rows) {
  return plane.pitch >= bytes_per_row &&
         plane.offset + std::uint64_t{plane.pitch} * (rows - 1) + bytes_per_row <= plane.memory->size_bytes();
}

VAStatus check_planes(const Format& format, std::uint32_t width_px, std::uint32_t height_px, const Planes& planes) {
  for (std::uint32_t plane = 0; plane < format.planes(); ++plane) {
    const std::uint32_t samples = format.sample_bytes();
    if (planes[plane].pitch % samples || planes[plane].offset % samples || planes[plane].pitch > 0x7fffffff / 2 ||
        !fits(planes[plane], row_bytes(format, plane, width_px), rows_of(format, plane, height_px)))
      return VA_STATUS_ERROR_INVALID_PARAMETER;
  }
  return VA_STATUS_SUCCESS;
}

Planes allocate(const Format& format, std::uint32_t width_px, std::uint32_t height_px) {
  const PlaneLayout layout = layout_of(format, width_px, height_px);
  const auto memory = Memory::allocate(layout.size_bytes);
  Planes planes;
  for (std::size_t plane = 0; plane < format.planes(); ++plane)
    planes[plane] = {memory, layout.offset[plane], layout.pitch[plane]};
  return planes;
}

/// Planes of layers in their order, whether they are composed or separate.
VAStatus import_prime_2(const VADRMPRIMESurfaceDescriptor& from, const Format*& format, Planes& planes) {
  format = find_format(from.fourcc);
  if (!format) return VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT;
  if (from.num_objects == 0 || from.num_objects > 4 || from.num_layers == 0 || from.num_layers > 4)
    return VA_STATUS_ERROR_INVALID_PARAMETER;
  std::array<std::shared_ptr<Memory>, 4> memory;
  for (std::size_t object = 0; object < from.num_objects; ++object) {
    const auto& one = from.objects[object];
    if (one.drm_format_modifier != kModifierLinear && one.drm_format_modifier != kModifierInvalid)
      return VA_STATUS_ERROR_INVALID_PARAMETER;
    memory[object] = Memory::import(one.fd, one.size);
  }
  std::size_t count = 0;
  for (std::size_t layer = 0; layer < from.num_layers; ++layer) {
    const auto& one = from.layers[layer];
    if (one.num_planes > 4) return VA_STATUS_ERROR_INVALID_PARAMETER;
    for (std::size_t plane = 0; plane < one.num_planes; ++plane, ++count) {
      if (one.object_index[plane] >= from.num_objects || count >= format->planes())
        return VA_STATUS_ERROR_INVALID_PARAMETER;
      planes[count] = {memory[one.object_index[plane]], one.offset[plane], one.pitch[plane]};
    }
  }
  return count == format->planes() ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_INVALID_PARAMETER;
}

VAStatus import_prime(const VASurfaceAttribExternalBuffers& from, std::size_t index, const Format*& format,
                      Planes& planes) {
  format = find_format(from.pixel_format);
  if (!format) return VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT;
  if (!from.buffers || index >= from.num_buffers || from.num_planes != format->planes())
    return VA_STATUS_ERROR_INVALID_PARAMETER;
  const auto memory = Memory::import(static_cast<int>(from.buffers[index]), from.data_size);
  for (std::size_t plane = 0; plane < format->planes(); ++plane)
    planes[plane] = {memory, from.offsets[plane], from.pitches[plane]};
  return VA_STATUS_SUCCESS;
}

VAStatus make_planes(const Wish& wish, std::size_t index, std::uint32_t width_px, std::uint32_t height_px,
                     const Format*& format, Planes& planes) {
  if (wish.memory == VA_SURFACE_ATTRIB_MEM_TYPE_VA) {
    planes = allocate(*format, width_px, height_px);
    return VA_STATUS_SUCCESS;
  }
  const VAStatus status =
      wish.memory == VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2
          ? import_prime_2(static_cast<const VADRMPRIMESurfaceDescriptor*>(wish.descriptor)[index], format, planes)
          : import_prime(*static_cast<const VASurfaceAttribExternalBuffers*>(wish.descriptor), index, format, planes);
  return status ? status : check_planes(*format, width_px, height_px, planes);
}

VAStatus create_surfaces(VADriverContextP context, unsigned rt_format, unsigned width_px, unsigned height_px,
                         VASurfaceID* ids, unsigned count, VASurfaceAttrib* attributes, unsigned attribute_count) {
  return guarded([&]() -> VAStatus {
    if (!ids || count == 0 || count > kMaxSurfaces || (attribute_count > 0 && !attributes))
      return VA_STATUS_ERROR_INVALID_PARAMETER;
    std::fill_n(ids, count, VA_INVALID_SURFACE);
    if (width_px == 0 || height_px == 0 || width_px > kMaxSide_px || height_px > kMaxSide_px)
      return VA_STATUS_ERROR_RESOLUTION_NOT_SUPPORTED;
    Wish wish;
    for (const VASurfaceAttrib& one : std::span(attributes, attribute_count)) {
      if (one.type != VASurfaceAttribNone && (one.flags & VA_SURFACE_ATTRIB_SETTABLE)) {
        if (const VAStatus status = read_attribute(one, wish)) return status;
      }
    }
    const bool imports = wish.memory != VA_SURFACE_ATTRIB_MEM_TYPE_VA;
    if ((imports && !wish.descriptor) || !wish.lists_linear) return VA_STATUS_ERROR_INVALID_PARAMETER;
    if (!default_format(rt_format)) return VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT;
    if (!wish.format) wish.format = default_format(rt_format);
    std::vector<Ref<Surface>> made;
    VAStatus status = VA_STATUS_SUCCESS;
    for (unsigned i = 0; i < count && !status; ++i) {
      const Format* format = wish.format;
      Planes planes;
      status = make_planes(wish, i, width_px, height_px, format, planes);
      // A requested pixel format takes precedence over the RT format, as in other drivers; an imported one must match.
      if (!status && imports && (format->rt_format & rt_format) == 0) status = VA_STATUS_ERROR_UNSUPPORTED_RT_FORMAT;
      if (status) break;
      made.reserve(count);
      made.push_back(make_object<Surface>(display_of(context), *format, width_px, height_px, std::move(planes)));
    }
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (status)
        destroy_id(display_of(context), made[i]->id(), Kind::kSurface);
      else
        ids[i] = made[i]->id();
    }
    return status;
  });
}

VAStatus create_plain_surfaces(VADriverContextP context, int width_px, int height_px, int rt_format, int count,
                               VASurfaceID* ids) {
  if (width_px < 0 || height_px < 0 || count < 0) return VA_STATUS_ERROR_INVALID_PARAMETER;
  return create_surfaces(context, static_cast<unsigned>(rt_format), static_cast<unsigned>(width_px),
                         static_cast<unsigned>(height_px), ids, static_cast<unsigned>(count), nullptr, 0);
}

VAStatus destroy_surfaces(VADriverContextP context, VASurfaceID* ids, int count) {
  if (count < 0 || (count > 0 && !ids)) return VA_STATUS_ERROR_INVALID_PARAMETER;
  VAStatus status = VA_STATUS_SUCCESS;
  for (const VASurfaceID id : std::span(ids, static_cast<std::size_t>(count))) {
    if (!destroy_id(display_of(context), id, Kind::kSurface)) status = VA_STATUS_ERROR_INVALID_SURFACE;
  }
  display_of(context).forget_unreachable();
  return status;
}

VASurfaceAttrib integer(VASurfaceAttribType type, std::uint32_t flags, std::uint32_t value) {
  VASurfaceAttrib made{};
  made.type = type;
  made.flags = flags;
  made.value.type = VAGenericValueTypeInteger;
  made.value.value.i = static_cast<int>(value);
  return made;
}

VAStatus query_surface_attributes(VADriverContextP context, VAConfigID id, VASurfaceAttrib* list, unsigned* count) {
  return guarded([&]() -> VAStatus {
    const Ref<Config> config = acquire<Config>(display_of(context), id);
    if (!config) return VA_STATUS_ERROR_INVALID_CONFIG;
    if (!count) return VA_STATUS_ERROR_INVALID_PARAMETER;
    constexpr std::uint32_t kGet = VA_SURFACE_ATTRIB_GETTABLE, kBoth = kGet | VA_SURFACE_ATTRIB_SETTABLE;
    std::vector<VASurfaceAttrib> all;
    const std::uint32_t rt_formats = config->attribute(VAConfigAttribRTFormat);
    // Decoders write video's pictures as NV12 and P010. Processing takes every format, and JPEG's colours come in many.
    const bool is_video = config->entrypoint == VAEntrypointVLD && config->profile != VAProfileJPEGBaseline;
    for (const Format& format : formats()) {
      const bool is_usual = default_format(format.rt_format) == &format;
      if ((format.rt_format & rt_formats) && (is_usual || !is_video))
        all.push_back(integer(VASurfaceAttribPixelFormat, kBoth, format.fourcc));
    }
    const std::uint32_t width_px = config->attribute(VAConfigAttribMaxPictureWidth);
    const std::uint32_t height_px = config->attribute(VAConfigAttribMaxPictureHeight);
    all.push_back(integer(VASurfaceAttribMinWidth, kGet, 1));
    all.push_back(integer(VASurfaceAttribMaxWidth, kGet, width_px));
    all.push_back(integer(VASurfaceAttribMinHeight, kGet, 1));
    all.push_back(integer(VASurfaceAttribMaxHeight, kGet, height_px));
    all.push_back(integer(VASurfaceAttribMemoryType, kBoth, kMemoryTypes));
    all.push_back(integer(VASurfaceAttribUsageHint, VA_SURFACE_ATTRIB_SETTABLE, VA_SURFACE_ATTRIB_USAGE_HINT_GENERIC));
    for (const VASurfaceAttribType type :
         {VASurfaceAttribExternalBufferDescriptor, VASurfaceAttribDRMFormatModifiers}) {
      VASurfaceAttrib pointer{};
      pointer.type = type;
      pointer.flags = VA_SURFACE_ATTRIB_SETTABLE;
      pointer.value.type = VAGenericValueTypePointer;
      all.push_back(pointer);
    }
    const unsigned room = *count;
    *count = static_cast<unsigned>(all.size());
    if (!list) return VA_STATUS_SUCCESS;
    if (room < all.size()) return VA_STATUS_ERROR_MAX_NUM_EXCEEDED;
    std::copy(all.begin(), all.end(), list);
    return VA_STATUS_SUCCESS;
  });
}

/// @source va.h: composed layers have one format for the surface, separate ones a format for each plane.
void describe_layers(const Surface& surface, bool separate, const std::array<std::uint32_t, 3>& object_of,
                     VADRMPRIMESurfaceDescriptor& to) {
  const std::uint32_t planes = surface.format.planes();
  to.num_layers = separate ? planes : 1;
  for (std::uint32_t plane = 0; plane < planes; ++plane) {
    auto& layer = to.layers[separate ? plane : 0];
    const std::uint32_t at = separate ? 0 : plane;
    layer.drm_format = separate ? surface.format.drm_planes[plane] : surface.format.drm_format;
    layer.num_planes = separate ? 1 : planes;
    layer.object_index[at] = object_of[plane];
    layer.offset[at] = surface.planes[plane].offset;
    layer.pitch[at] = surface.planes[plane].pitch;
  }
}

VAStatus export_surface(VADriverContextP context, VASurfaceID id, std::uint32_t memory_type, std::uint32_t flags,
                        void* descriptor) {
  return guarded([&]() -> VAStatus {
    const Ref<Surface> surface = acquire<Surface>(display_of(context), id);
    if (!surface) return VA_STATUS_ERROR_INVALID_SURFACE;
    if (memory_type != VA_SURFACE_ATTRIB_MEM_TYPE_DRM_PRIME_2) return VA_STATUS_ERROR_UNSUPPORTED_MEMORY_TYPE;
    constexpr std::uint32_t kLayers = VA_EXPORT_SURFACE_SEPARATE_LAYERS | VA_EXPORT_SURFACE_COMPOSED_LAYERS;
    const bool both = (flags & kLayers) == kLayers;
    if (!descriptor || both || (flags & ~(kLayers | VA_EXPORT_SURFACE_READ_WRITE)) != 0)
      return VA_STATUS_ERROR_INVALID_PARAMETER;
    if ((flags & VA_EXPORT_SURFACE_WRITE_ONLY) && surface->read_only()) return VA_STATUS_ERROR_INVALID_PARAMETER;
    // va.h lets clients wait. Clients made for hardware (FFmpeg) rely on the dma-buf's fences instead, which CPU work
    // does not have.
    if (!surface->wait(default_deadline())) return VA_STATUS_ERROR_SURFACE_BUSY;
    VADRMPRIMESurfaceDescriptor to{};
    to.fourcc = surface->format.fourcc;
    to.width = surface->width_px;
    to.height = surface->height_px;
    std::array<std::uint32_t, 3> object_of{};
    std::vector<UniqueFd> fds;
    std::vector<const Memory*> seen;
    for (std::uint32_t plane = 0; plane < surface->format.planes(); ++plane) {
      const Memory& memory = *surface->planes[plane].memory;
      const auto known = std::find(seen.begin(), seen.end(), &memory);
      object_of[plane] = static_cast<std::uint32_t>(known - seen.begin());
      if (known != seen.end()) continue;
      seen.push_back(&memory);
      fds.push_back(memory.export_fd());
      to.objects[to.num_objects++] = {fds.back().get(), static_cast<std::uint32_t>(memory.size_bytes()),
                                      kModifierLinear};
    }
    describe_layers(*surface, (flags & VA_EXPORT_SURFACE_SEPARATE_LAYERS) != 0, object_of, to);
    for (UniqueFd& fd : fds) (void)fd.release();  // The client owns them from here on.
    std::memcpy(descriptor, &to, sizeof to);
    return VA_STATUS_SUCCESS;
  });
}

/// @param timeout  VA_TIMEOUT_INFINITE waits as long as any work of this driver may take.
VAStatus sync_surface_until(VADriverContextP context, VASurfaceID id, std::uint64_t timeout_ns) {
  return guarded([&]() -> VAStatus {
    const Ref<Surface> surface = acquire<Surface>(display_of(context), id);
    if (!surface) return VA_STATUS_ERROR_INVALID_SURFACE;
    const bool bounded = timeout_ns < static_cast<std::uint64_t>(kLongest.count());
    const auto longest = bounded ? std::chrono::nanoseconds(timeout_ns) : kLongest;
    return surface->wait(Clock::now() + longest) ? surface->error.load() : VA_STATUS_ERROR_TIMEDOUT;
  });
}

VAStatus sync_surface(VADriverContextP context, VASurfaceID id) {
  return sync_surface_until(context, id, VA_TIMEOUT_INFINITE);
}

VAStatus query_status(VADriverContextP context, VASurfaceID id, VASurfaceStatus* status) {
  return guarded([&]() -> VAStatus {
    const Ref<Surface> surface = acquire<Surface>(display_of(context), id);
    if (!surface) return VA_STATUS_ERROR_INVALID_SURFACE;
    if (!status) return VA_STATUS_ERROR_INVALID_PARAMETER;
    surface->hurry();  // A client that polls until the surface is ready waits too.
    *status = surface->is_busy() ? VASurfaceRendering : VASurfaceReady;
    return VA_STATUS_SUCCESS;
  });
}

VAStatus query_error(VADriverContextP context, VASurfaceID id, VAStatus error, void** info) {
  static VASurfaceDecodeMBErrors some[2] = {{1, 0, 0, VADecodeMBError, 0, {}}, {-1, 0, 0, VADecodeMBError, 0, {}}};
  const Ref<Surface> surface = acquire<Surface>(display_of(context), id);
  if (!surface) return VA_STATUS_ERROR_INVALID_SURFACE;
  if (!info || error != VA_STATUS_ERROR_DECODING_ERROR) return VA_STATUS_ERROR_INVALID_PARAMETER;
  *info = surface->error == VA_STATUS_ERROR_DECODING_ERROR ? &some[0] : &some[1];
  return VA_STATUS_SUCCESS;
}

VAStatus put_surface(VADriverContextP context, VASurfaceID id, void*, short, short, unsigned short, unsigned short,
                     short, short, unsigned short, unsigned short, VARectangle*, unsigned, unsigned) {
  if (!acquire<Surface>(display_of(context), id)) return VA_STATUS_ERROR_INVALID_SURFACE;
  return VA_STATUS_ERROR_UNIMPLEMENTED;  // There is no window to put it into.
}

VAStatus copy_surface(const Display& display, VASurfaceID to_id, VASurfaceID from_id) {
  const Ref<Surface> to = acquire<Surface>(display, to_id), from = acquire<Surface>(display, from_id);
  if (!to || !from) return VA_STATUS_ERROR_INVALID_SURFACE;
  if (to->read_only() || to->width_px != from->width_px || to->height_px != from->height_px)
    return VA_STATUS_ERROR_INVALID_PARAMETER;
  const SurfaceAccess reads(*from, Access::kRead), writes(*to, Access::kWrite);
  return convert(to->pixels(), from->pixels()) ? VA_STATUS_SUCCESS : VA_STATUS_ERROR_OPERATION_FAILED;
}

VAStatus copy_buffer(const Display& display, VABufferID to_id, VABufferID from_id) {
  const Ref<Buffer> to = acquire<Buffer>(display, to_id), from = acquire<Buffer>(display, from_id);
  if (!to || !from) return VA_STATUS_ERROR_INVALID_BUFFER;
  if (to->bytes().size() < from->bytes().size()) return VA_STATUS_ERROR_NOT_ENOUGH_BUFFER;
  std::memmove(to->bytes().data(), from->bytes().data(), from->bytes().size());
  return VA_STATUS_SUCCESS;
}

VAStatus copy(VADriverContextP context, VACopyObject* to, VACopyObject* from, VACopyOption) {
  return guarded([&]() -> VAStatus {
    if (!to || !from || number_of(to->obj_type) != number_of(from->obj_type)) return VA_STATUS_ERROR_INVALID_PARAMETER;
    switch (number_of(to->obj_type)) {
      case VACopyObjectSurface:
        return copy_surface(display_of(context), to->object.surface_id, from->object.surface_id);
      case VACopyObjectBuffer:
        return copy_buffer(display_of(context), to->object.buffer_id, from->object.buffer_id);
      default:
        return VA_STATUS_ERROR_INVALID_PARAMETER;
    }
  });
}

}  // namespace

void fill_surface_calls(VADriverVTable& table) {
  table.vaCreateSurfaces = create_plain_surfaces;
  table.vaCreateSurfaces2 = create_surfaces;
  table.vaDestroySurfaces = destroy_surfaces;
  table.vaQuerySurfaceAttributes = query_surface_attributes;
  table.vaExportSurfaceHandle = export_surface;
  table.vaSyncSurface = sync_surface;
  table.vaSyncSurface2 = sync_surface_until;
  table.vaQuerySurfaceStatus = query_status;
  table.vaQuerySurfaceError = query_error;
  table.vaPutSurface = put_surface;
  table.vaCopy = copy;
}

}  // namespace tenon::va::calls
