// SPDX-License-Identifier: Apache-2.0
// Memory of other APIs behind the runtime's objects: the runtime computes on the CPU, so a mapping of a descriptor is an
// object's memory, without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include <tenon/drivers/gpu/layer.hpp>

namespace tenon::gpu_layer {

/// One import of a dma-buf, or of a sealed memfd, as software drivers hand out where the kernel makes no dma-bufs: as long
/// as the runtime's object over it lives.
struct Mapping {
  Mapping() = default;
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  virtual ~Mapping();

  /// Maps the first `bytes` behind `handle`, which stays the caller's. @return CL_INVALID_PROPERTY: no such descriptor, or one that
  /// another process could cut short; CL_INVALID_BUFFER_SIZE: there are fewer bytes.
  cl_int map(int handle, std::size_t bytes);
  bool sync(std::uint64_t when) const;

  void* address = nullptr;
  std::size_t bytes = 0;
  int fd = -1;
  bool dma_buf = false;
};

/// Lets the object have its mapping: it is destroyed with the object. @param memory  null if it could not be made: `status` says why.
/// @return the object; null if it was released again.
cl_mem with_mapping(cl_mem memory, std::unique_ptr<Mapping> mapping, cl_int& status);

/// @name Surfaces of VA-API (surfaces.cpp)
/// @{
/// Whether libva can be had, so that surfaces are shared.
bool shares_surfaces();
/// A call of cl_intel_va_api_media_sharing; null for other names.
void* surface_function(std::string_view name);
/// Makes a context with what the runtime knows of the properties, and keeps the display among them.
/// @param is_ours  Whether its device is the one that is presented: others get their properties as they are.
/// @param make  gets the properties and where the status goes.
cl_context make_context(bool is_ours, const cl_context_properties* properties, cl_int* status_ret,
                        const std::function<cl_context(const cl_context_properties*, cl_int*)>& make);
/// @}

}  // namespace tenon::gpu_layer
