// SPDX-License-Identifier: Apache-2.0
// Surfaces of VA-API (cl_intel_va_api_media_sharing), which the runtime for CPUs lacks: a plane of a surface is an image over the memory
// that the display's driver hands out as a dma-buf, or as a sealed memfd. libva is looked up when it is wanted: the application has it.
#include <tenon/drivers/gpu/mapping.hpp>
#include <tenon/drivers/gpu/va_abi.hpp>

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tenon::gpu_layer {
namespace {

using va_abi::Descriptor;
using va_abi::fourcc;

/// The extension's keys and errors.
enum SurfaceKey : cl_uint {
  kDisplay = 0x4094,           ///< CL_VA_API_DISPLAY_INTEL
  kPreferredDevices = 0x4095,  ///< CL_PREFERRED_DEVICES_FOR_VA_API_INTEL
  kAllDevices = 0x4096,        ///< CL_ALL_DEVICES_FOR_VA_API_INTEL
  kDisplayOfContext = 0x4097,  ///< CL_CONTEXT_VA_API_DISPLAY_INTEL
  kSurfaceOfMemory = 0x4098,   ///< CL_MEM_VA_API_MEDIA_SURFACE_INTEL
  kPlaneOfImage = 0x4099,      ///< CL_IMAGE_VA_API_PLANE_INTEL
};
constexpr cl_int kInvalidAdapter = -1098, kInvalidSurface = -1099, kAcquired = -1100, kNotAcquired = -1101;

struct Va {
  int (*is_valid)(void* display) = nullptr;
  int (*export_handle)(void* display, unsigned surface, std::uint32_t type, std::uint32_t flags,
                       void* descriptor) = nullptr;
  int (*sync)(void* display, unsigned surface) = nullptr;

  Va() {
    void* library = RTLD_DEFAULT;  // The application's own, if it is linked with it.
    if (!find(library)) {
      library = ::dlopen("libva.so.2", RTLD_LAZY | RTLD_LOCAL);
      if (!library || !find(library)) export_handle = nullptr;
    }
  }
  bool find(void* library) {
    const auto look_up = [library](auto& call, const char* name) {
      call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(::dlsym(library, name));
      return call != nullptr;
    };
    return look_up(is_valid, "vaDisplayIsValid") && look_up(sync, "vaSyncSurface") &&
           look_up(export_handle, "vaExportSurfaceHandle");
  }
};
const Va& va() {
  static const Va calls;
  return calls;
}

/// A context that was made of a display.
struct Shared {
  void* display = nullptr;
  bool by_the_user = false;  ///< CL_CONTEXT_INTEROP_USER_SYNC: the application orders the two APIs' work.
  std::vector<cl_context_properties> properties;  ///< As given.
};
struct Surface;

std::mutex surfaces_mutex;
std::unordered_map<cl_context, Shared> contexts;
std::unordered_map<cl_mem, Surface*> surfaces;

/// The plane behind an image.
struct Surface final : Mapping {
  ~Surface() override {
    const std::lock_guard lock(surfaces_mutex);
    surfaces.erase(image);
  }
  void* display = nullptr;
  unsigned id = 0;
  cl_uint plane = 0;
  bool by_the_user = false, acquired = false;
  cl_mem image = nullptr;
};

cl_int CL_API_CALL devices_of_display(cl_platform_id platform, cl_uint type, void* display, cl_uint set,
                                      cl_uint entries, cl_device_id* devices, cl_uint* count) {
  if (type != kDisplay || (set != kPreferredDevices && set != kAllDevices) || (devices && entries == 0) ||
      (!devices && !count))
    return CL_INVALID_VALUE;
  if (!shares_surfaces()) return CL_DEVICE_NOT_FOUND;
  if (!display || !va().is_valid(display)) return kInvalidAdapter;
  return runtime.clGetDeviceIDs(platform, CL_DEVICE_TYPE_CPU, entries, devices, count);
}

/// Takes the display out of a context's properties, which the runtime would refuse.
Shared shared_of(const cl_context_properties* properties, std::vector<cl_context_properties>& others) {
  Shared shared;
  for (const cl_context_properties* pair = properties; pair && *pair; pair += 2) {
    shared.properties.insert(shared.properties.end(), pair, pair + 2);
    if (*pair == kDisplayOfContext)
      shared.display = reinterpret_cast<void*>(pair[1]);
    else
      others.insert(others.end(), pair, pair + 2);
    if (*pair == CL_CONTEXT_INTEROP_USER_SYNC) shared.by_the_user = pair[1] != CL_FALSE;
  }
  shared.properties.push_back(0);
  others.push_back(0);
  return shared;
}

cl_context CL_API_CALL create_context(const cl_context_properties* properties, cl_uint count,
                                      const cl_device_id* devices,
                                      void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*), void* data,
                                      cl_int* status_ret) {
  const bool is_ours = devices && count != 0 && is_presented(devices[0]);
  return make_context(is_ours, properties, status_ret, [&](const cl_context_properties* known, cl_int* status) {
    return runtime.clCreateContext(known, count, devices, notify, data, status);
  });
}

cl_int CL_API_CALL get_context_info(cl_context context, cl_context_info key, size_t size, void* value,
                                    size_t* size_ret) {
  if (key == CL_CONTEXT_PROPERTIES) {
    const std::lock_guard lock(surfaces_mutex);
    if (const auto found = contexts.find(context); found != contexts.end()) {
      const auto& given = found->second.properties;
      return answer(given.data(), given.size(), size, value, size_ret);
    }
  }
  return runtime.clGetContextInfo(context, key, size, value, size_ret);
}

/// The pixels of a plane of brightness or of colour; an order of 0 for others.
cl_image_format format_of(std::uint32_t drm) {
  switch (drm) {
    case fourcc('R', '8', ' ', ' '):
      return {CL_R, CL_UNORM_INT8};
    case fourcc('G', 'R', '8', '8'):
    case fourcc('R', 'G', '8', '8'):
      return {CL_RG, CL_UNORM_INT8};
    case fourcc('R', '1', '6', ' '):
      return {CL_R, CL_UNORM_INT16};
    case fourcc('G', 'R', '3', '2'):
    case fourcc('R', 'G', '3', '2'):
      return {CL_RG, CL_UNORM_INT16};
    default:
      return {0, 0};
  }
}

/// Maps the plane's memory and makes an image of it. @param from  what the driver handed out.
cl_mem image_of(cl_context context, cl_mem_flags flags, const Descriptor& from, std::unique_ptr<Surface> surface,
                cl_int& status) {
  const Descriptor::Layer& layer = from.layers[surface->plane];
  const Descriptor::Object& object = from.objects[std::min(layer.object[0], std::uint32_t{3})];
  const cl_image_format format = format_of(layer.format);
  status = kInvalidSurface;
  if (object.modifier != 0) return nullptr;  // Tiled pixels, which only the GPU that they are for can read.
  status = CL_INVALID_IMAGE_FORMAT_DESCRIPTOR;
  if (format.image_channel_order == 0) return nullptr;
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = surface->plane == 0 ? from.width : (from.width + 1) / 2;
  desc.image_height = surface->plane == 0 ? from.height : (from.height + 1) / 2;
  desc.image_row_pitch = layer.pitch[0];
  status = surface->map(object.fd, object.size);
  if (status == CL_SUCCESS && layer.offset[0] + std::uint64_t{layer.pitch[0]} * desc.image_height > surface->bytes)
    status = CL_INVALID_BUFFER_SIZE;
  if (status != CL_SUCCESS) {
    status = kInvalidSurface;
    return nullptr;
  }
  const cl_mem image = runtime.clCreateImage(context, flags | CL_MEM_USE_HOST_PTR, &format, &desc,
                                             static_cast<char*>(surface->address) + layer.offset[0], &status);
  if (!image) return nullptr;
  Surface* const kept = surface.get();
  {
    const std::lock_guard lock(surfaces_mutex);
    surfaces[image] = kept;
  }
  kept->image = image;
  return with_mapping(image, std::move(surface), status);
}

cl_mem CL_API_CALL from_surface(cl_context context, cl_mem_flags flags, unsigned* id, cl_uint plane,
                                cl_int* status_ret) {
  cl_int status = CL_SUCCESS;
  const cl_mem made = guarded(&status, [&]() -> cl_mem {
    auto surface = std::make_unique<Surface>();
    {
      const std::lock_guard lock(surfaces_mutex);
      const auto found = contexts.find(context);
      if (found == contexts.end()) return status = CL_INVALID_CONTEXT, nullptr;
      surface->display = found->second.display;
      surface->by_the_user = found->second.by_the_user;
    }
    constexpr cl_mem_flags kKnown = CL_MEM_READ_WRITE | CL_MEM_READ_ONLY | CL_MEM_WRITE_ONLY;
    if (flags & ~kKnown) return status = CL_INVALID_VALUE, nullptr;
    Descriptor from{};
    if (!id || va().export_handle(surface->display, *id, va_abi::kDrmPrime2,
                                  va_abi::kReadWrite | va_abi::kSeparateLayers, &from) != va_abi::kSuccess)
      return status = kInvalidSurface, nullptr;
    surface->id = *id;
    surface->plane = plane;
    const cl_mem image = plane < std::min(from.layer_count, std::uint32_t{2})
                             ? image_of(context, flags, from, std::move(surface), status)
                             : (status = CL_INVALID_VALUE, nullptr);
    for (std::uint32_t i = 0; i < std::min(from.object_count, std::uint32_t{4}); ++i) ::close(from.objects[i].fd);
    return image;
  });
  if (status_ret) *status_ret = status;
  return made;
}

/// The surfaces behind images, all of which must be in the given state. @return empty with a status if one is not.
std::vector<Surface*> found(cl_uint count, const cl_mem* images, bool acquired, cl_int& status) {
  std::vector<Surface*> all;
  if ((count == 0) != (images == nullptr)) return status = CL_INVALID_VALUE, all;
  const std::lock_guard lock(surfaces_mutex);
  for (cl_uint i = 0; i < count; ++i) {
    const auto known = surfaces.find(images[i]);
    if (known == surfaces.end()) return status = CL_INVALID_MEM_OBJECT, std::vector<Surface*>();
    if (known->second->acquired != acquired)
      return status = acquired ? kNotAcquired : kAcquired, std::vector<Surface*>();
    all.push_back(known->second);
  }
  return all;
}
cl_int CL_API_CALL acquire(cl_command_queue queue, cl_uint count, const cl_mem* images, cl_uint waits,
                           const cl_event* after, cl_event* event) {
  return guarded([&]() -> cl_int {
    cl_int status = CL_SUCCESS;
    const std::vector<Surface*> all = found(count, images, false, status);
    if (status != CL_SUCCESS) return status;
    for (Surface* each : all)
      if (!each->by_the_user && va().sync(each->display, each->id) != va_abi::kSuccess) return kInvalidSurface;
    status = runtime.clEnqueueMarkerWithWaitList(queue, waits, after, event);
    if (status == CL_SUCCESS)
      for (Surface* each : all) each->acquired = true;
    return status;
  });
}
/// Unless the application orders the work, the surface is VA-API's again when the call returns: as in Intel's driver.
cl_int CL_API_CALL release(cl_command_queue queue, cl_uint count, const cl_mem* images, cl_uint waits,
                           const cl_event* after, cl_event* event) {
  return guarded([&]() -> cl_int {
    cl_int status = CL_SUCCESS;
    const std::vector<Surface*> all = found(count, images, true, status);
    if (status != CL_SUCCESS) return status;
    status = runtime.clEnqueueMarkerWithWaitList(queue, waits, after, event);
    if (status != CL_SUCCESS) return status;
    for (Surface* each : all) each->acquired = false;
    const bool waits_for_it =
        std::any_of(all.begin(), all.end(), [](const Surface* each) { return !each->by_the_user; });
    return waits_for_it ? runtime.clFinish(queue) : status;
  });
}

/// What the extension answers of an image: `value` of its surface. @return whether it is a surface's.
template <typename Value>
bool of_surface(cl_mem image, Value value) {
  const std::lock_guard lock(surfaces_mutex);
  const auto found = surfaces.find(image);
  if (found == surfaces.end()) return false;
  value(*found->second);
  return true;
}
cl_int CL_API_CALL get_memory_info(cl_mem memory, cl_mem_info key, size_t size, void* value, size_t* size_ret) {
  unsigned* id = nullptr;
  if (key == kSurfaceOfMemory && of_surface(memory, [&](Surface& surface) { id = &surface.id; }))
    return answer(&id, 1, size, value,
                  size_ret);  // The extension's value is the caller's pointer; ours lives as long as the image.
  return runtime.clGetMemObjectInfo(memory, key, size, value, size_ret);
}
cl_int CL_API_CALL get_image_info(cl_mem image, cl_image_info key, size_t size, void* value, size_t* size_ret) {
  cl_uint plane = 0;
  if (key == kPlaneOfImage && of_surface(image, [&](const Surface& surface) { plane = surface.plane; }))
    return answer(&plane, 1, size, value, size_ret);
  return runtime.clGetImageInfo(image, key, size, value, size_ret);
}

}  // namespace

bool shares_surfaces() { return va().export_handle != nullptr; }

cl_context make_context(bool is_ours, const cl_context_properties* properties, cl_int* status_ret,
                        const std::function<cl_context(const cl_context_properties*, cl_int*)>& make) {
  return guarded(status_ret, [&]() -> cl_context {
    std::vector<cl_context_properties> others;
    Shared shared = is_ours ? shared_of(properties, others) : Shared{};
    cl_int status = CL_SUCCESS;
    if (shared.display && (!shares_surfaces() || !va().is_valid(shared.display))) {
      if (status_ret) *status_ret = kInvalidAdapter;
      return nullptr;
    }
    const bool shares = shared.display != nullptr;
    const cl_context context = make(shares ? others.data() : properties, &status);
    if (status_ret) *status_ret = status;
    if (!context) return nullptr;
    const std::lock_guard lock(surfaces_mutex);
    contexts.erase(context);  // The handle of a context that is gone is used again.
    if (shares) contexts.emplace(context, std::move(shared));
    return context;
  });
}

void* surface_function(std::string_view name) {
  if (!shares_surfaces()) return nullptr;
  const std::pair<std::string_view, void*> calls[] = {
      {"clGetDeviceIDsFromVA_APIMediaAdapterINTEL", reinterpret_cast<void*>(&devices_of_display)},
      {"clCreateFromVA_APIMediaSurfaceINTEL", reinterpret_cast<void*>(&from_surface)},
      {"clEnqueueAcquireVA_APIMediaSurfacesINTEL", reinterpret_cast<void*>(&acquire)},
      {"clEnqueueReleaseVA_APIMediaSurfacesINTEL", reinterpret_cast<void*>(&release)}};
  const auto* found =
      std::find_if(std::begin(calls), std::end(calls), [&](const auto& each) { return each.first == name; });
  return found == std::end(calls) ? nullptr : found->second;
}

void install_surfaces(cl_icd_dispatch& table) {
  table.clCreateContext = create_context;
  table.clGetContextInfo = get_context_info;
  table.clGetMemObjectInfo = get_memory_info;
  table.clGetImageInfo = get_image_info;
}

}  // namespace tenon::gpu_layer
