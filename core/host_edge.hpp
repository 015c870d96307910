// SPDX-License-Identifier: Apache-2.0
// Helpers of edges: exceptions for refused steps, and host memory under another context's name.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>  // IWYU pragma: export
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/shape.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {

/// The result of `edge` for `source`. @errors kFailedPrecondition with the reason when step refuses.
inline Reached reach(const Edge& edge, const Tensor& source, const Context& to, const MapOptions& options) {
  Step judged = edge.step(describe(source), to, options.access);
  if (auto* refusal = std::get_if<Refusal>(&judged))
    throw Error(Code::kFailedPrecondition, std::string(edge.name()) + ": " + refusal->reason);
  return std::get<Reached>(std::move(judged));
}

/// The first line of an edge's map: throws if step refuses. The router has asked step before it calls an edge.
/// @errors as reach(). @cost nothing in a planned map.
inline void check_step(const Edge& edge, const Tensor& source, const Context& to, const MapOptions& options) {
  if (!options.planned) reach(edge, source, to, options);
}

/// Result of an edge that shares: the same memory under another context's name.
inline Reached shared_in_place(const Description& from, const Context& to, MemoryKind kind, double cost_ns) {
  Reached reached{from, false, cost_ns, 0};
  reached.result.context = to;
  reached.result.kind = kind;
  return reached;
}

/// Result of an edge that copies: packed, writable, in new memory.
/// @param alignment  bytes.  @param host_addressable  whether the CPU can reach the copy by address.
inline Reached packed_copy(const Description& from, const Context& to, MemoryKind kind, double cost_ns,
                           double ns_per_byte, std::size_t alignment, bool host_addressable) {
  Reached reached{from, true, cost_ns, ns_per_byte};
  reached.result.context = to;
  reached.result.kind = kind;
  reached.result.info.strides = packed_strides(from.info.type, from.info.shape);
  reached.result.offset = 0;
  reached.result.memory_bytes = checked_size_bytes(from.info.type, from.info.shape).value_or(0);
  reached.result.alignment = alignment;
  reached.result.fd = FdKind::kNone;
  reached.result.exporter = nullptr;
  reached.result.host_addressable = host_addressable;
  reached.result.read_only = false;
  return reached;
}

/// The reason why the device of `to` cannot import the descriptor of `from`, as far as the exporting device decides
/// that; nothing when it can try. The exporter of a dma-buf decides about imports by other devices, but only devices of
/// the exporter's kind understand its tiled layouts.
inline std::optional<Refusal> refuses_import(const Description& from, const Context& to) {
  const DeviceMatch match = from.exporter ? to->device().compare(*from.exporter) : DeviceMatch::kUnknown;
  const std::string descriptor(from.fd.name());
  if (from.fd.is_bound_to_device() && match != DeviceMatch::kSame)
    return Refusal{"only the device that made a descriptor of kind " + descriptor + " imports it, and " +
                   std::string(to->name()) +
                   (match == DeviceMatch::kDifferent ? " is another device" : " is not known to be that device") +
                   "; allocate with a dma-buf, or pass it over the host"};
  if (from.modifier != kModifierLinear && match == DeviceMatch::kDifferent)
    return Refusal{"its pixels are tiled for the device that made it (a DRM modifier), and " + std::string(to->name()) +
                   " is another device"};
  return std::nullopt;
}

/// The widest access that the memory allows, so that one view serves all. Leases are checked at each map.
inline Access widest_access(const Tensor& source) {
  if (source.view()) return source.view()->access();
  return source.memory()->read_only() ? Access::kRead : Access::kReadWrite;
}

/// `source`, which has a host address, as seen by a context that takes host addresses. In the memory's own context no
/// view is needed.
/// @param standing  The edge under which repeated maps are booked without a call of the edge; null when a repeated map
/// needs work.
inline Tensor host_view(const Tensor& source, const Context& to, MemoryKind kind, Access access, const Edge* standing) {
  const Memory& memory = *source.memory();
  if (memory.context() == to) return source.through(nullptr);
  if (const View* view = memory.find_view(*to, kind, access)) return source.through(view);
  void* const base = source.view() ? source.view()->host() : memory.host();
  auto view = std::make_unique<View>(to, kind, widest_access(source), base);
  if (standing) view->set_standing(standing->id());
  return source.through(&memory.add_view(std::move(view)));
}

/// An edge between host memory and a library that takes host addresses: it shares and needs no native call. A derived
/// class supplies the name, the kinds and the refusals of the library.
class HostEdge : public Edge {
 public:
  Step step(const Description& from, const Context& to, Access access) const final {
    if (!from.host_addressable) return Refusal{"it takes a host address, and this memory has none"};
    if (from.modifier != 0) return Refusal{"its pixels are tiled (a DRM modifier), and the CPU knows rows only"};
    if (writes(access) && from.read_only) return Refusal{"the memory is read-only, or a decoder still refers to it"};
    if (auto refusal = refuses(from)) return *std::move(refusal);
    return shared_in_place(from, to, this->to(), 60);
  }
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const final {
    check_step(*this, source, to, options);
    settle(source, to, options);
    return host_view(source, to, this->to(), options.access, this);
  }
  bool makes_standing_views(const Context&) const final { return true; }

 private:
  virtual std::optional<Refusal> refuses(const Description&) const { return std::nullopt; }
};

}  // namespace v1
}  // namespace tenon
