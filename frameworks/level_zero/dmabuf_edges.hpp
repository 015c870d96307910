// SPDX-License-Identifier: Apache-2.0
// Edges between USM and dma-bufs: imports by descriptor, and exports of allocations made for it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <poll.h>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/dmabuf/context.hpp>
#include <tenon/frameworks/dmabuf/memory.hpp>
#include <tenon/frameworks/dmabuf/native.hpp>
#include <tenon/frameworks/level_zero/edges.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {
namespace detail {

/// Imports a descriptor's memory into a ze_context. The descriptor stays the caller's.
/// @errors those of the native call: kInvalidArgument for a descriptor that is no memory, or too small.
inline UsmBlock import_fd(const Ref<Native>& native, int fd, std::size_t size, bool dmabuf) {
  auto import = typed<ze_external_memory_import_fd_t>(ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD);
  import.fd = fd;
  import.flags = dmabuf || !native->device.imports_opaque() ? ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF
                                                            : ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD;
  // NPUs import it as host memory, GPUs as device memory.
  const UsmType type = native->device.is_npu() ? UsmType::kHost : UsmType::kDevice;
  return allocate_usm(native, type, size, 0, {}, &import, "importing a descriptor as");
}

/// A dma-buf, or the memfd that stands in for one, as USM. Each allocation is imported once.
class DmabufToUsm final : public Edge {
 public:
  std::string_view name() const override { return "dmabuf->level_zero.usm"; }
  MemoryKind from() const override { return dmabuf::kDmabufMemory; }
  MemoryKind to() const override { return kUsmMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    const Native* native = native_of(to);
    if (!native) return Refusal{kNotOurs};
    if (from.modifier != kModifierLinear)
      return Refusal{"its pixels are tiled (a DRM modifier); Level Zero takes linear memory"};
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
    const Device& device = native->device;
    if (auto refusal = refuses_import(from, to)) return *std::move(refusal);
    if (from.fd == FdKind::kDmabuf && !device.imports_dmabuf())
      return Refusal{device.name + " imports no dma-bufs (its external memory properties)"};
    if (from.fd != FdKind::kDmabuf && !native->imports_memfd)
      return Refusal{device.name + " imports no memfd, and this one only stands in for a dma-buf"};
    Reached reached = shared_in_place(from, to, kUsmMemory, 5'000);
    // The CPU reaches a dma-buf through its bracket, not by the device's address.
    reached.result.host_addressable = from.fd != FdKind::kDmabuf && device.is_npu();
    reached.result.alignment = 1;
    return reached;
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    const Reached reached = reach(*this, source, to, options);
    const Memory& memory = *source.memory();
    if (memory.context() == to) return source.through(nullptr);
    const dmabuf::client::Place place = dmabuf::client::place_of(source);
    // Level Zero drivers may ignore fences that other drivers attached, so wait for them here.
    if (!place.stand_in) wait_for_devices(source, place.fd, options);
    const View* view = memory.find_view(*to, kUsmMemory, options.access);
    if (!view) {
      const auto& context = *to.as<UsmContext>();
      UsmBlock imported = import_fd(context.native_ref(), place.fd, memory.size_bytes(), !place.stand_in);
      void* const data = imported.data();
      auto made =
          std::make_unique<UsmView>(to, memory.read_only() ? Access::kRead : Access::kReadWrite,
                                    reached.result.host_addressable ? data : nullptr, data, std::move(imported));
      if (place.stand_in) made->set_standing(id());
      view = &memory.add_view(std::move(made));
    }
    return source.through(view);
  }

 private:
  static void wait_for_devices(const Tensor& source, int fd, const MapOptions& options) {
    const short events = writes(options.access) ? POLLOUT : POLLIN;
    if (!dmabuf::native::poll_until(deadline_of(options), fd, events))
      throw Error(Code::kDeadlineExceeded,
                  "level_zero: a device did not finish with the dma-buf of " + to_string(source) + " in time", "poll",
                  0);
  }
};

/// An allocation made for export, as a dma-buf or as the memfd that stands in for one.
class UsmToDmabuf final : public Edge {
 public:
  std::string_view name() const override { return "level_zero.usm->dmabuf"; }
  MemoryKind from() const override { return kUsmMemory; }
  MemoryKind to() const override { return dmabuf::kDmabufMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    if (!native_of(from.context)) return Refusal{kNotOurs};
    if (from.fd == FdKind::kNone)
      return Refusal{"the allocation was not made to be exported: allocate with Requirements::fd"};
    if (!from.fd.serves(FdKind::kMemfd))
      return Refusal{"its descriptor is of kind " + std::string(from.fd.name()) + ", which is no dma-buf"};
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
    Reached reached = shared_in_place(from, to, dmabuf::kDmabufMemory, 300);
    reached.result.host_addressable = false;
    reached.result.alignment = 1;
    return reached;
  }

  std::string_view host_wait(const Description& /*from*/) const override {
    return "who imports the descriptor cannot wait for Level Zero's work";
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    reach(*this, source, to, options);
    const Memory& memory = *source.memory();
    if (memory.context() == to) return source.through(nullptr);
    source.memory()->wait_for(options.access, deadline_of(options), &ledger_of(options));
    const View* view = memory.find_view(*to, dmabuf::kDmabufMemory, options.access);
    if (!view)
      view = &memory.add_view(std::make_unique<dmabuf::DmabufView>(
          to, memory.read_only() ? Access::kRead : Access::kReadWrite, cpu::UniqueFd(), memory.borrow_fd(),
          memory.fd_kind() != FdKind::kDmabuf));
    return source.through(view);
  }
};

inline const DmabufToUsm dmabuf_to_usm;
inline const UsmToDmabuf usm_to_dmabuf;
inline constexpr const Edge* kEdges[] = {&usm_to_cpu, &cpu_to_usm,    &cpu_to_usm_copy,
                                         &usm_to_usm, &dmabuf_to_usm, &usm_to_dmabuf};

}  // namespace detail

inline std::span<const Edge* const> UsmContext::edges() const { return detail::kEdges; }

}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
