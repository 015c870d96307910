// SPDX-License-Identifier: Apache-2.0
// GstMemory of devices (VA, GL, Vulkan, CUDA), known by the names of its types: it is read through its own allocator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/ledger.hpp>
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
inline bool is_device_memory(const GstMemory* memory) {
  constexpr std::string_view kTypes[] = {"VAMemory",           "VASurface",    "GLMemory",    "GLMemoryPBO",
                                         "GLMemoryEGL",        "VulkanMemory", "CUDAMemory",  "VulkanImageMemory",
                                         "VulkanBufferMemory", "D3D11Memory",  "D3D12Memory", "NVMM"};
  // The usual case first: no comparison of names.
  if (!memory->allocator || !memory->allocator->mem_type) return false;
  const std::string_view type(memory->allocator->mem_type);
  if (type == GST_ALLOCATOR_SYSMEM) return false;
  return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

inline Context device_context();

/// A device's GstMemory; native_memory() hands it to code that knows its type. Read-only to Tenon.
class DeviceMemory final : public Memory {
 public:
  static Ref<DeviceMemory> over(GstMemory* memory, Ref<BufferLease> keeper) {
    Properties properties;
    properties.size_bytes = memory->size;
    properties.read_only = true;
    return Ref<DeviceMemory>(new DeviceMemory(properties, memory, std::move(keeper)));
  }
  ~DeviceMemory() override { drop_views(); }
  /// Belongs to this memory.
  GstMemory* native() const { return memory_; }

 private:
  DeviceMemory(const Properties& properties, GstMemory* memory, Ref<BufferLease> keeper)
      : Memory(gstreamer::device_context(), kDeviceMemory, properties), memory_(memory), keeper_(std::move(keeper)) {}

  GstMemory* memory_;
  Ref<BufferLease> keeper_;
};

/// The GstMemory of a tensor of kind "gstreamer.device", which belongs to the tensor; null for others.
inline GstMemory* native_memory(const Tensor& tensor) {
  const auto* memory = dynamic_cast<const DeviceMemory*>(tensor.memory().get());
  return memory ? memory->native() : nullptr;
}

namespace detail {

/// Copies the elements of `tensor` to packed bytes, through the map of its memory's allocator.
inline void download(const Tensor& tensor, void* packed) {
  GstMemory* const memory = native_memory(tensor);
  GstMapInfo map;
  if (!memory || !gst_memory_map(memory, &map, GST_MAP_READ))
    throw Error(Code::kFailedPrecondition,
                "gstreamer: " + to_string(tensor) + " in memory of type " +
                    (memory ? memory->allocator->mem_type : "unknown") +
                    " is not given to the CPU by its allocator; download it in the pipeline "
                    "(gldownload, vapostproc)",
                "gst_memory_map", 0);
  const std::unique_ptr<GstMapInfo, void (*)(GstMapInfo*)> mapped(
      &map, [](GstMapInfo* held) { gst_memory_unmap(held->memory, held); });
  const auto extent = checked_extent_bytes(tensor.info());
  if (!extent || tensor.offset() > map.size || *extent > map.size - tensor.offset())
    throw Error(Code::kOutOfRange,
                "gstreamer: " + to_string(tensor) + ": its allocator maps only " + std::to_string(map.size) + " bytes");
  copy_strided(tensor.element_type(), tensor.shape(), map.data + tensor.offset(), tensor.byte_strides(), packed,
               packed_strides(tensor.element_type(), tensor.shape()));
}

/// Fetched by the allocator that made the memory, then copied: how, only the allocator knows.
class DeviceToCpu final : public Edge {
 public:
  std::string_view name() const override { return "gstreamer.device->cpu"; }
  MemoryKind from() const override { return kDeviceMemory; }
  MemoryKind to() const override { return kCpuMemory; }
  Step step(const Description& from, const Context& to, Access access) const override {
    if (writes(access)) return Refusal{"memory of GStreamer's device plugins is only read here"};
    return packed_copy(from, to, kCpuMemory, 5000, 0.3, 64, true);
  }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    check_step(*this, source, to, options);
    source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
    Tensor copy(source.element_type(), source.shape());
    download(source, copy.data());
    ledger_of(options).book_transferred(id(), source.size_bytes());
    return copy;
  }
};

}  // namespace detail

/// The context of memory that GStreamer's device plugins made. It allocates nothing.
class DeviceContextImpl final : public tenon::ContextImpl {
 public:
  DeviceContextImpl() { make_immortal(); }
  std::string_view name() const override { return "gstreamer:device"; }
  MemoryKind kind() const override { return kDeviceMemory; }
  std::span<const Edge* const> edges() const override {
    static const detail::DeviceToCpu to_cpu;
    static const Edge* const all[] = {&to_cpu};
    return all;
  }
  std::string_view remedy() const override {
    return "let the decoder give dma-bufs: caps video/x-raw(memory:DMABuf), or vapostproc before the sink";
  }
  void read(const Tensor& tensor, std::span<std::byte> out) const override { detail::download(tensor, out.data()); }
};

inline Context device_context() {
  static const Context* the_one = new Context(make_ref<DeviceContextImpl>());
  return *the_one;
}

}  // namespace gstreamer
}  // namespace v1
}  // namespace tenon
