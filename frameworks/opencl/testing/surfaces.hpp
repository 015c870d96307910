// SPDX-License-Identifier: Apache-2.0
// VA surfaces of 64x32 px in NV12 for an OpenCL layer of tests: a "VADisplay" is the address of a number of surfaces, whose planes are images.
#pragma once

#include <tenon/frameworks/opencl/testing/layer.hpp>

#include <map>
#include <mutex>
#include <vector>

namespace layer {

// Never destroyed: the driver's threads call back while the process ends.
static std::mutex& surfaces_mutex = *new std::mutex;
static std::map<cl_context, const unsigned*>& displays = *new std::map<cl_context, const unsigned*>;
static std::map<cl_mem, bool>& surfaces = *new std::map<cl_mem, bool>;  // Whether each image of one is acquired.

static cl_int CL_API_CALL devices_of_display(cl_platform_id platform, cl_uint, void* display, cl_uint, cl_uint entries,
                                             cl_device_id* devices, cl_uint* count) {
  if (*static_cast<const unsigned*>(display) == 0) return -1098;  // CL_INVALID_VA_API_MEDIA_ADAPTER_INTEL
  return next->clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, entries, devices, count);
}
static cl_context CL_API_CALL create_context(const cl_context_properties* properties, cl_uint count,
                                             const cl_device_id* devices,
                                             void(CL_CALLBACK* notify)(const char*, const void*, size_t, void*),
                                             void* data, cl_int* status) {
  std::vector<cl_context_properties> kept;
  const unsigned* display = nullptr;
  for (const cl_context_properties* p = properties; p && *p; p += 2) {
    if (*p == 0x4097)  // CL_CONTEXT_VA_API_DISPLAY_INTEL
      display = reinterpret_cast<const unsigned*>(p[1]);
    else
      kept.insert(kept.end(), {p[0], p[1]});
  }
  kept.push_back(0);
  const cl_context made =
      next->clCreateContext(properties ? kept.data() : nullptr, count, devices, notify, data, status);
  std::lock_guard lock(surfaces_mutex);
  displays[made] = display;
  return made;
}
static void CL_CALLBACK forget_surface(cl_mem image, void*) {
  std::lock_guard lock(surfaces_mutex);
  surfaces.erase(image);
}
static cl_mem CL_API_CALL from_surface(cl_context context, cl_mem_flags flags, unsigned* surface, cl_uint plane,
                                       cl_int* status) {
  {
    std::lock_guard lock(surfaces_mutex);
    const unsigned* display = displays[context];
    if (!display || *surface >= *display || plane > 1) {
      *status = -1099;  // CL_INVALID_VA_API_MEDIA_SURFACE_INTEL
      return nullptr;
    }
  }
  const cl_image_format format{plane ? cl_channel_order{CL_RG} : cl_channel_order{CL_R}, CL_UNORM_INT8};
  cl_image_desc desc{};
  desc.image_type = CL_MEM_OBJECT_IMAGE2D;
  desc.image_width = plane ? 32 : 64;
  desc.image_height = plane ? 16 : 32;
  std::vector<unsigned char> pixels(64 * 32, static_cast<unsigned char>(*surface + 1));
  const cl_mem image =
      next->clCreateImage(context, flags | CL_MEM_COPY_HOST_PTR, &format, &desc, pixels.data(), status);
  if (!image) return nullptr;
  std::lock_guard lock(surfaces_mutex);
  surfaces[image] = false;
  next->clSetMemObjectDestructorCallback(image, forget_surface, nullptr);
  return image;
}
static cl_int pass_surfaces(cl_command_queue queue, cl_uint count, const cl_mem* images, cl_uint after_count,
                            const cl_event* after, cl_event* event, bool acquired) {
  {
    std::lock_guard lock(surfaces_mutex);
    for (cl_uint i = 0; i < count; ++i) {
      const auto found = surfaces.find(images[i]);
      if (found == surfaces.end()) return CL_INVALID_MEM_OBJECT;
      if (found->second == acquired) return acquired ? -1100 : -1101;
      found->second = acquired;
    }
  }
  return next->clEnqueueMarkerWithWaitList(queue, after_count, after, event);
}
static cl_int CL_API_CALL acquire_surfaces(cl_command_queue queue, cl_uint count, const cl_mem* images,
                                           cl_uint after_count, const cl_event* after, cl_event* event) {
  return pass_surfaces(queue, count, images, after_count, after, event, true);
}
static cl_int CL_API_CALL release_surfaces(cl_command_queue queue, cl_uint count, const cl_mem* images,
                                           cl_uint after_count, const cl_event* after, cl_event* event) {
  return pass_surfaces(queue, count, images, after_count, after, event, false);
}
static cl_int CL_API_CALL copy_image_to_buffer(cl_command_queue queue, cl_mem image, cl_mem buffer,
                                               const size_t* origin, const size_t* region, size_t offset, cl_uint count,
                                               const cl_event* after, cl_event* event) {
  {
    std::lock_guard lock(surfaces_mutex);
    const auto found = surfaces.find(image);
    if (found != surfaces.end() && !found->second) return -1101;  // CL_VA_API_MEDIA_SURFACE_NOT_ACQUIRED_INTEL
  }
  return next->clEnqueueCopyImageToBuffer(queue, image, buffer, origin, region, offset, count, after, event);
}

}  // namespace layer
