// SPDX-License-Identifier: Apache-2.0
// What the edges of memory that pointers name yield, and how they copy.
#include <tenon/core/pointer_edges.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

#include <tenon/core/error.hpp>
#include <tenon/core/host.hpp>
#include <tenon/core/host_edge.hpp>
#include <tenon/core/ledger.hpp>

namespace tenon {
inline namespace v1 {
namespace detail {

TENON_INLINE Refusal no_host_address() { return {"it takes a host address, and this memory has none"}; }

TENON_INLINE std::string edge_text(std::string_view from, std::string_view to) {
  return std::string(from) + "->" + std::string(to);
}

/// What a copy into memory of this kind yields. APIs have no empty memory.
TENON_INLINE Step copy_step(const PointerTraits& traits, const Description& from, const Context& to) {
  const std::variant<CopyTerms, Refusal> terms = traits.copies_in(to);
  if (const auto* refusal = std::get_if<Refusal>(&terms)) return *refusal;
  const auto& [cost_ns, ns_per_byte, alignment, host_addressable] = std::get<CopyTerms>(terms);
  Reached reached = packed_copy(from, to, traits.kind(), cost_ns, ns_per_byte, alignment, host_addressable);
  reached.result.memory_bytes = std::max<std::size_t>(reached.result.memory_bytes, 1);
  return reached;
}

TENON_INLINE Tensor copy_map(const PointerTraits& traits, const Edge& edge, const Tensor& source, const Context& to,
                             const MapOptions& options) {
  source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
  Tensor copy({source.element_type(), source.shape(), {}}, traits.allocate_copy(to, source.size_bytes()));
  if (source.size_bytes() == 0) return copy;
  traits.copy_in(source, copy, deadline_of(options));
  if (traits.transfers_in(copy)) ledger_of(options).book_transferred(edge.id(), source.size_bytes());
  return copy;
}

}  // namespace detail

TENON_INLINE bool PointerTraits::leaves_to_sharing(const Description& from, const Context& to, Access access) const {
  return from.fd != FdKind::kNone && std::holds_alternative<Reached>(in_place(from, to, access));
}
TENON_INLINE void PointerTraits::copy_in(const Tensor& source, Tensor& copy, Deadline /*deadline*/) const {
  source.copy_to(copy);
}

TENON_INLINE PointerToCpu::PointerToCpu(const PointerTraits& traits)
    : traits_(traits), name_(detail::edge_text(traits.kind().name(), kCpuMemory.name())) {}

TENON_INLINE Step PointerToCpu::step(const Description& from, const Context& to, Access access) const {
  if (!traits_.owns(from.context)) return Refusal{traits_.facts().foreign_source};
  if (!from.host_addressable) {
    const CopyTerms terms = traits_.copies_out(from.context);
    return packed_copy(from, to, kCpuMemory, terms.cost_ns, terms.ns_per_byte, terms.alignment, terms.host_addressable);
  }
  if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
  Reached reached = shared_in_place(from, to, kCpuMemory, 100);
  reached.result.alignment = std::min(from.alignment, traits_.facts().most_alignment);
  return reached;
}

TENON_INLINE Tensor PointerToCpu::map(const Tensor& source, const Context& to, const MapOptions& options) const {
  check_step(*this, source, to, options);
  if (source.is_host_addressable()) {
    source.memory()->wait_for(options.access, deadline_of(options), &ledger_of(options));
    return host_view(source, to, kCpuMemory, options.access, nullptr);
  }
  source.memory()->wait_for(Access::kRead, deadline_of(options), &ledger_of(options));
  if (source.size_bytes() == 0) return Tensor(source.element_type(), source.shape());
  Tensor copy = traits_.copy_out(source, deadline_of(options));
  if (traits_.transfers_out(source.context())) ledger_of(options).book_transferred(id(), source.size_bytes());
  return copy;
}

TENON_INLINE CpuToPointer::CpuToPointer(const PointerTraits& traits)
    : StandingEdge(detail::edge_text(kCpuMemory.name(), traits.kind().name()), kCpuMemory, traits.kind()),
      traits_(traits) {}

TENON_INLINE Step CpuToPointer::step(const Description& from, const Context& to, Access access) const {
  if (!traits_.owns(to)) return Refusal{traits_.facts().foreign_target};
  if (!from.host_addressable) return detail::no_host_address();
  return traits_.in_place(from, to, access);
}
TENON_INLINE std::unique_ptr<View> CpuToPointer::make_view(const Tensor& source, const Context& to) const {
  return traits_.view_of_host(source, to);
}

TENON_INLINE CpuToPointerCopy::CpuToPointerCopy(const PointerTraits& traits)
    : traits_(traits), name_(detail::edge_text(kCpuMemory.name(), traits.kind().name()) + " (copy)") {}

TENON_INLINE Step CpuToPointerCopy::step(const Description& from, const Context& to, Access access) const {
  if (!traits_.owns(to)) return Refusal{traits_.facts().foreign_target};
  if (!from.host_addressable) return detail::no_host_address();
  if (traits_.leaves_to_sharing(from, to, access)) return Refusal{"the memory can be shared in place"};
  return detail::copy_step(traits_, from, to);
}
TENON_INLINE Tensor CpuToPointerCopy::map(const Tensor& source, const Context& to, const MapOptions& options) const {
  check_step(*this, source, to, options);
  return detail::copy_map(traits_, *this, source, to, options);
}

TENON_INLINE CpuToPointerEither::CpuToPointerEither(const PointerTraits& traits)
    : traits_(traits), name_(detail::edge_text(kCpuMemory.name(), traits.kind().name())) {}

TENON_INLINE Step CpuToPointerEither::step(const Description& from, const Context& to, Access access) const {
  if (!traits_.owns(to)) return Refusal{traits_.facts().foreign_target};
  if (!from.host_addressable) return detail::no_host_address();
  const Step shared = traits_.in_place(from, to, access);
  return std::holds_alternative<Reached>(shared) ? shared : detail::copy_step(traits_, from, to);
}
TENON_INLINE Tensor CpuToPointerEither::map(const Tensor& source, const Context& to, const MapOptions& options) const {
  if (reach(*this, source, to, options).copies) return detail::copy_map(traits_, *this, source, to, options);
  return standing_view(*this, source, to, traits_.kind(), options.access,
                       [&] { return traits_.view_of_host(source, to); });
}

TENON_INLINE PointerToPointer::PointerToPointer(const PointerTraits& traits)
    : StandingEdge(detail::edge_text(traits.kind().name(), traits.kind().name()), traits.kind(), traits.kind()),
      traits_(traits) {}

TENON_INLINE Step PointerToPointer::step(const Description& from, const Context& to, Access access) const {
  if (!traits_.owns(from.context)) return Refusal{traits_.facts().foreign_source};
  if (!traits_.owns(to)) return Refusal{traits_.facts().foreign_target};
  if (std::string reason = obstacle(from.context, to); !reason.empty()) return Refusal{std::move(reason)};
  if (writes(access) && from.read_only) return Refusal{"the memory is read-only"};
  return shared_in_place(from, to, traits_.kind(), 50);
}

TENON_INLINE std::string not_whole_pages(const Description& from, std::size_t page_bytes, const std::string& wanted) {
  if (from.alignment < page_bytes)
    return "the memory is aligned to " + std::to_string(from.alignment) + " bytes" + wanted;
  if (from.memory_bytes == 0 || from.memory_bytes % page_bytes != 0)
    return "the memory has " + std::to_string(from.memory_bytes) + " bytes" + wanted;
  return {};
}

TENON_INLINE void read_staged(const Tensor& tensor, std::span<std::byte> out,
                              const std::function<void(const Ref<Memory>& packed)>& copy) {
  if (tensor.size_bytes() == 0) return;
  tensor.memory()->wait_for(Access::kRead, default_deadline());
  const Ref<Memory> packed = HostMemory::allocate(tensor.size_bytes());
  copy(packed);
  std::memcpy(out.data(), packed->host(), tensor.size_bytes());
}

TENON_INLINE void write_staged(const char* api, const Tensor& tensor, std::span<const std::byte> in,
                               const std::function<void(const Ref<Memory>& packed)>& copy) {
  if (!tensor.is_writable())
    throw Error(Code::kPermissionDenied,
                std::string(api) + ": writing to " + to_string(tensor) + ": its memory is read-only");
  if (tensor.size_bytes() == 0) return;
  tensor.memory()->wait_for(Access::kWrite, default_deadline());
  const Ref<Memory> packed = HostMemory::allocate(tensor.size_bytes());
  std::memcpy(packed->host(), in.data(), tensor.size_bytes());
  copy(packed);
}

}  // namespace v1
}  // namespace tenon
