// SPDX-License-Identifier: Apache-2.0
// Edges between USM and dma-bufs: imports by descriptor, and exports of allocations made for it.
#include <tenon/frameworks/level_zero/dmabuf_edges.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <tenon/core/host_edge.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/pixel_format.hpp>
#include <tenon/core/requirements.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/frameworks/dmabuf/client.hpp>
#include <tenon/frameworks/dmabuf/memory.hpp>
#include <tenon/frameworks/level_zero/edges.hpp>

namespace tenon {
inline namespace v1 {
namespace level_zero {
namespace detail {

TENON_INLINE UsmBlock import_fd(const Ref<Native>& native, int fd, std::size_t size, bool dmabuf) {
  auto import = typed<ze_external_memory_import_fd_t>(ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD);
  import.fd = fd;
  import.flags = dmabuf || !native->device.imports_opaque() ? ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF
                                                            : ZE_EXTERNAL_MEMORY_TYPE_FLAG_OPAQUE_FD;
  // NPUs import it as host memory, GPUs as device memory.
  const UsmType type = native->device.is_npu() ? UsmType::kHost : UsmType::kDevice;
  return allocate_usm(native, type, size, 0, {}, &import, "importing a descriptor as");
}

TENON_INLINE std::optional<Refusal> refuses_descriptor(const Description& from, const Context& to, Access access) {
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

TENON_INLINE const UsmView* find_usm_view(const Memory& memory, ze_context_handle_t context, Access access) {
  return static_cast<const UsmView*>(memory.find_view_if([&](const View& view) {
    const Native* native = view.kind() == kUsmMemory ? native_of(view.context()) : nullptr;
    return native && native->context.get() == context && covers(view.access(), access);
  }));
}

TENON_INLINE std::unique_ptr<UsmView> view_by_descriptor(const Memory& memory, const Context& to, int fd,
                                                         bool stand_in) {
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
    return "an importer of the descriptor cannot wait for Level Zero's work";
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

TENON_INLINE const Edge& dmabuf_to_usm() {
  static const auto* const edge = new DmabufToUsm;  // Outlives static destructors.
  return *edge;
}

TENON_INLINE const Edge& usm_to_dmabuf() {
  static const auto* const edge = new UsmToDmabuf;  // Outlives static destructors.
  return *edge;
}

}  // namespace detail

TENON_INLINE std::span<const Edge* const> UsmContext::edges() const {
  static const auto all = [] {
    std::array<const Edge*, 6> edges{};
    std::ranges::copy(detail::usm_edges(), edges.begin());
    edges[4] = &detail::dmabuf_to_usm(), edges[5] = &detail::usm_to_dmabuf();
    return edges;
  }();
  return all;
}

}  // namespace level_zero
}  // namespace v1
}  // namespace tenon
