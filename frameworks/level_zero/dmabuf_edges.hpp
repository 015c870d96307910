// SPDX-License-Identifier: Apache-2.0
// Edges between USM and dma-bufs: imports by descriptor, and exports of allocations made for it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

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

/// Why a ze_context cannot import memory by its descriptor; nothing when it may.
inline std::optional<Refusal> refuses_descriptor(const Description& from, const Context& to, Access access) {
  const Native* native = native_of(to);
  if (!native) return Refusal{kNotOurs};
  const Device& device = native->device;
  if (!from.fd.serves(FdKind::kMemfd))
    return Refusal{from.fd == FdKind::kNone
                       ? "the memory has no descriptor"
                       : "its descriptor is of kind " + std::string(from.fd.name()) + ", which is no dma-buf"};
  if (from.modifier != kModifierLinear)
    return Refusal{"its pixels are tiled (a DRM modifier); Level Zero takes linear memory"};
  if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
  if (auto refusal = refuses_import(from, to)) return refusal;
  if (from.fd == FdKind::kDmabuf && !device.imports_dmabuf())
    return Refusal{device.name + " imports no dma-bufs (its external memory properties)"};
  if (from.fd != FdKind::kDmabuf && !native->imports_memfd)
    return Refusal{device.name + " imports no memfd, and this one only stands in for a dma-buf"};
  return std::nullopt;
}

/// The view of a memory in any context over this ze_context; null when there is none.
inline const UsmView* find_usm_view(const Memory& memory, ze_context_handle_t context, Access access) {
  return static_cast<const UsmView*>(memory.find_view_if([&](const View& view) {
    const Native* native = view.kind() == kUsmMemory ? native_of(view.context()) : nullptr;
    return native && native->context.get() == context && covers(view.access(), access);
  }));
}

/// A view of memory that refuses_descriptor() does not refuse: imported, or what the ze_context has of it already.
/// The CPU reaches a dma-buf through its bracket, not by the device's address: such a view has no host address.
/// @param fd  of the whole memory; stays the caller's. @errors as import_fd().
inline std::unique_ptr<UsmView> view_by_descriptor(const Memory& memory, const Context& to, int fd, bool stand_in) {
  const auto& context = *to.as<UsmContext>();
  const Access access = memory.read_only() ? Access::kRead : Access::kReadWrite;
  const UsmView* const known = find_usm_view(memory, context.native().context.get(), access);
  UsmBlock imported;
  if (!known) imported = import_fd(context.native_ref(), fd, memory.size_bytes(), !stand_in);
  void* const data = known ? known->data() : imported.data();
  const bool host = stand_in && context.native().device.is_npu();
  return std::make_unique<UsmView>(to, access, host ? data : nullptr, data, std::move(imported));
}

/// A dma-buf, or the memfd that stands in for one, as USM. Each allocation is imported once.
class DmabufToUsm final : public Edge {
 public:
  std::string_view name() const override { return "dmabuf->level_zero.usm"; }
  MemoryKind from() const override { return dmabuf::kDmabufMemory; }
  MemoryKind to() const override { return kUsmMemory; }

  Step step(const Description& from, const Context& to, Access access) const override {
    if (auto refusal = refuses_descriptor(from, to, access)) return *std::move(refusal);
    Reached reached = shared_in_place(from, to, kUsmMemory, 5'000);
    reached.result.host_addressable = from.fd != FdKind::kDmabuf && native_of(to)->device.is_npu();
    reached.result.alignment = 1;
    return reached;
  }

  std::string_view host_wait(const Description& from) const override {
    return from.fd == FdKind::kDmabuf ? "a driver of Level Zero may ignore the fences that others attached to a dma-buf"
                                      : "";
  }

  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override {
    reach(*this, source, to, options);
    const Memory& memory = *source.memory();
    if (memory.context() == to) return source.through(nullptr);
    const dmabuf::client::Place place = dmabuf::client::place_of(source);
    if (!place.stand_in)
      dmabuf::client::wait_for_fences(place.fd, options.access, deadline_of(options), &ledger_of(options));
    const View* view = memory.find_view(*to, kUsmMemory, options.access);
    if (!view) {
      auto made = view_by_descriptor(memory, to, place.fd, place.stand_in);
      if (place.stand_in) made->set_standing(id());
      view = &memory.add_view(std::move(made));
    }
    return source.through(view);
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
