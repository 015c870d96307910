// SPDX-License-Identifier: Apache-2.0
// What OpenCL layers of tests (OPENCL_LAYERS) share: the two tables, answers to queries, and the calls by which the loader finds a layer.
// Included by the one source of each layer, which defines install().
#pragma once

#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <CL/cl_ext.h>
#include <CL/cl_icd.h>
#include <CL/cl_layer.h>

#include <cstddef>
#include <cstring>
#include <string>

namespace layer {

// Static: inline ones would be one for all layers of a process.
static const cl_icd_dispatch* next;  // The platform, or the next layer.
static cl_icd_dispatch table;        // This layer's.

/// Puts the layer's own calls into the table, whose others the loader takes from `next`.
static void install();

template <typename T>
static cl_int answer(const T* values, std::size_t count, std::size_t size, void* value, std::size_t* size_ret) {
  const std::size_t bytes = count * sizeof(T);
  if (size_ret) *size_ret = bytes;
  if (!value) return CL_SUCCESS;
  if (size < bytes) return CL_INVALID_VALUE;
  if (bytes) std::memcpy(value, values, bytes);
  return CL_SUCCESS;
}

/// CL_DEVICE_EXTENSIONS, and some more. @param names  " cl_khr_..." with a space before each.
static inline cl_int answer_extensions(cl_device_id device, const std::string& names, std::size_t size, void* value,
                                       std::size_t* size_ret) {
  std::size_t length = 0;
  if (const cl_int status = next->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, 0, nullptr, &length)) return status;
  std::string all(length, '\0');
  if (const cl_int status = next->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, length, all.data(), nullptr))
    return status;
  all = all.c_str() + names;
  return answer(all.c_str(), all.size() + 1, size, value, size_ret);
}

static inline cl_context context_of(cl_command_queue queue) {
  cl_context context = nullptr;
  next->clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, nullptr);
  return context;
}

static inline bool is_out_of_order(cl_command_queue queue) {
  cl_command_queue_properties properties = 0;
  next->clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, nullptr);
  return (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0;
}
/// A command that does nothing, after `count` events and, in a queue in order, after those before it.
static inline cl_int mark(cl_command_queue queue, cl_uint count, const cl_event* after, cl_event* event) {
  return is_out_of_order(queue) && count ? next->clEnqueueMarkerWithWaitList(queue, count, after, event)
                                         : next->clEnqueueBarrierWithWaitList(queue, count, after, event);
}

}  // namespace layer

extern "C" __attribute__((visibility("default"))) cl_int CL_API_CALL clGetLayerInfo(cl_layer_info key, size_t size,
                                                                                    void* value, size_t* size_ret) {
  const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
  return key == CL_LAYER_API_VERSION ? layer::answer(&version, 1, size, value, size_ret) : CL_INVALID_VALUE;
}

extern "C" __attribute__((visibility("default"))) cl_int CL_API_CALL clInitLayer(cl_uint entries,
                                                                                 const cl_icd_dispatch* target,
                                                                                 cl_uint* entries_ret,
                                                                                 const cl_icd_dispatch** table_ret) {
  if (entries < sizeof layer::table / sizeof(void*)) return CL_INVALID_VALUE;
  layer::next = target;
  layer::install();
  *entries_ret = sizeof layer::table / sizeof(void*);
  *table_ret = &layer::table;
  return CL_SUCCESS;
}
