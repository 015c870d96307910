// SPDX-License-Identifier: Apache-2.0
// GstMemory of devices (VA, GL, Vulkan, CUDA), known by the names of its types: it is read through its own allocator.
#pragma once

#include <tenon/core/context.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/gstreamer/gst.hpp>
#include <tenon/frameworks/gstreamer/lease.hpp>

namespace tenon {
inline namespace v1 {
namespace gstreamer {

/// A GstMemory whose bytes its allocator must fetch from a device.
inline constexpr MemoryKind kDeviceMemory{"gstreamer.device"};

/// Whether `memory` lies in a device: its type is one of those that GStreamer's device plugins register.
bool is_device_memory(const GstMemory* memory);

/// A device's GstMemory; native_memory() hands it to code that knows its type. Read-only to Tenon.
class DeviceMemory final : public Memory {
 public:
  static Ref<DeviceMemory> over(GstMemory* memory, Ref<BufferLease> keeper);
  ~DeviceMemory() override { drop_views(); }
  /// Belongs to this memory.
  GstMemory* native() const { return memory_; }

 private:
  DeviceMemory(const Properties& properties, GstMemory* memory, Ref<BufferLease> keeper);

  GstMemory* memory_;
  Ref<BufferLease> keeper_;
};

/// The GstMemory of a tensor of kind "gstreamer.device", which belongs to the tensor; null for others.
GstMemory* native_memory(const Tensor& tensor);

/// The process's context of memory that GStreamer's device plugins made. It allocates nothing. @thread any.
Context device_context();

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
