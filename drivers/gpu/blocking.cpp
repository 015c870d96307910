// SPDX-License-Identifier: Apache-2.0
// Commands that block. In an out-of-order queue the runtime returns from a blocking write before the bytes are there, unless the
// caller asks for the command's event: so each of these commands has one, and is over when its call returns.
#include <tenon/drivers/gpu/layer.hpp>

namespace tenon::gpu_layer {
namespace {

/// Makes the call with an event, waits for it if the call blocks, and gives it to a caller that asked for one.
template <typename Call>
cl_int with_event(cl_bool blocking, cl_event* event, Call call) {
  if (!blocking) return call(event);
  cl_event own = nullptr;
  if (const cl_int status = call(&own)) return status;
  const cl_int status = runtime.clWaitForEvents(1, &own);
  if (event)
    *event = own;
  else
    runtime.clReleaseEvent(own);
  return status;
}

cl_int CL_API_CALL read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
                               void* to, cl_uint count, const cl_event* after, cl_event* event) {
  return with_event(blocking, event, [&](cl_event* made) {
    return runtime.clEnqueueReadBuffer(queue, buffer, blocking, offset, size, to, count, after, made);
  });
}
cl_int CL_API_CALL write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
                                const void* from, cl_uint count, const cl_event* after, cl_event* event) {
  return with_event(blocking, event, [&](cl_event* made) {
    return runtime.clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, from, count, after, made);
  });
}
cl_int CL_API_CALL read_buffer_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t* from,
                                    const size_t* to, const size_t* region, size_t row, size_t slice, size_t host_row,
                                    size_t host_slice, void* host, cl_uint count, const cl_event* after,
                                    cl_event* event) {
  return with_event(blocking, event, [&](cl_event* made) {
    return runtime.clEnqueueReadBufferRect(queue, buffer, blocking, from, to, region, row, slice, host_row, host_slice,
                                           host, count, after, made);
  });
}
cl_int CL_API_CALL write_buffer_rect(cl_command_queue queue, cl_mem buffer, cl_bool blocking, const size_t* to,
                                     const size_t* from, const size_t* region, size_t row, size_t slice,
                                     size_t host_row, size_t host_slice, const void* host, cl_uint count,
                                     const cl_event* after, cl_event* event) {
  return with_event(blocking, event, [&](cl_event* made) {
    return runtime.clEnqueueWriteBufferRect(queue, buffer, blocking, to, from, region, row, slice, host_row, host_slice,
                                            host, count, after, made);
  });
}
cl_int CL_API_CALL read_image(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t* origin,
                              const size_t* region, size_t row, size_t slice, void* to, cl_uint count,
                              const cl_event* after, cl_event* event) {
  return with_event(blocking, event, [&](cl_event* made) {
    return runtime.clEnqueueReadImage(queue, image, blocking, origin, region, row, slice, to, count, after, made);
  });
}
cl_int CL_API_CALL write_image(cl_command_queue queue, cl_mem image, cl_bool blocking, const size_t* origin,
                               const size_t* region, size_t row, size_t slice, const void* from, cl_uint count,
                               const cl_event* after, cl_event* event) {
  return with_event(blocking, event, [&](cl_event* made) {
    return runtime.clEnqueueWriteImage(queue, image, blocking, origin, region, row, slice, from, count, after, made);
  });
}
void* CL_API_CALL map_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, cl_map_flags flags, size_t offset,
                             size_t size, cl_uint count, const cl_event* after, cl_event* event, cl_int* status_ret) {
  void* address = nullptr;
  const cl_int status = with_event(blocking, event, [&](cl_event* made) {
    cl_int mapped = CL_SUCCESS;
    address = runtime.clEnqueueMapBuffer(queue, buffer, blocking, flags, offset, size, count, after, made, &mapped);
    return mapped;
  });
  if (status_ret) *status_ret = status;
  return address;
}
void* CL_API_CALL map_image(cl_command_queue queue, cl_mem image, cl_bool blocking, cl_map_flags flags,
                            const size_t* origin, const size_t* region, size_t* row, size_t* slice, cl_uint count,
                            const cl_event* after, cl_event* event, cl_int* status_ret) {
  void* address = nullptr;
  const cl_int status = with_event(blocking, event, [&](cl_event* made) {
    cl_int mapped = CL_SUCCESS;
    address = runtime.clEnqueueMapImage(queue, image, blocking, flags, origin, region, row, slice, count, after, made,
                                        &mapped);
    return mapped;
  });
  if (status_ret) *status_ret = status;
  return address;
}
cl_int CL_API_CALL svm_copy(cl_command_queue queue, cl_bool blocking, void* to, const void* from, size_t size,
                            cl_uint count, const cl_event* after, cl_event* event) {
  return with_event(blocking, event, [&](cl_event* made) {
    return runtime.clEnqueueSVMMemcpy(queue, blocking, to, from, size, count, after, made);
  });
}
cl_int CL_API_CALL svm_map(cl_command_queue queue, cl_bool blocking, cl_map_flags flags, void* memory, size_t size,
                           cl_uint count, const cl_event* after, cl_event* event) {
  return with_event(blocking, event, [&](cl_event* made) {
    return runtime.clEnqueueSVMMap(queue, blocking, flags, memory, size, count, after, made);
  });
}

}  // namespace

void install_blocking(cl_icd_dispatch& table) {
  table.clEnqueueReadBuffer = read_buffer;
  table.clEnqueueWriteBuffer = write_buffer;
  table.clEnqueueReadBufferRect = read_buffer_rect;
  table.clEnqueueWriteBufferRect = write_buffer_rect;
  table.clEnqueueReadImage = read_image;
  table.clEnqueueWriteImage = write_image;
  table.clEnqueueMapBuffer = map_buffer;
  table.clEnqueueMapImage = map_image;
  table.clEnqueueSVMMemcpy = svm_copy;
  table.clEnqueueSVMMap = svm_map;
}

}  // namespace tenon::gpu_layer
