// SPDX-License-Identifier: Apache-2.0
// Edges between host memory and memory of an API that names it by pointers (CUDA, USM, SVM): one kit for all of them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include <tenon/core/context.hpp>
#include <tenon/core/edge.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/memory.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/standing_view.hpp>
#include <tenon/core/tensor.hpp>

namespace tenon {
inline namespace v1 {

/// What a copy between such memory and the host costs, and what the new memory is like.
struct CopyTerms {
  double cost_ns = 0;
  double ns_per_byte = 0;
  std::size_t alignment = 64;    ///< The new memory's, in bytes.
  bool host_addressable = true;  ///< Whether the CPU reaches the new memory by address.
};

/// What the edges of one kind of memory must know of its API. Objects live as long as the process.
/// @thread any: implementations have no state.
class TENON_API PointerTraits {
 public:
  struct Facts {
    MemoryKind kind;
    const char* foreign_source;  ///< Refusal of a source that is no context of this kind.
    const char* foreign_target;  ///< Refusal of such a target.
    /// The most alignment that memory shared with the host keeps. An API that pins or imports whole pages gives less than
    /// a page: it takes no pages that are its own already, and this keeps that from being planned as the next hop.
    std::size_t most_alignment = SIZE_MAX;
    bool standing_views = true;  ///< The answer of Edge::makes_standing_views.
  };
  explicit PointerTraits(const Facts& facts) : facts_(facts) {}
  virtual ~PointerTraits() = default;
  const Facts& facts() const { return facts_; }
  MemoryKind kind() const { return facts_.kind; }

  /// Whether a context has memory of this kind.
  virtual bool owns(const Context& context) const = 0;

  /// @name Host memory in place. The edges have asked owns(), and whether the memory has a host address.
  /// shared_in_place() with its cost, or why the API does not take the memory.
  virtual Step in_place(const Description& from, const Context& to, Access access) const = 0;
  /// A view of the whole host memory of `source` for widest_access(). @errors those of native calls.
  virtual std::unique_ptr<View> view_of_host(const Tensor& source, const Context& to) const = 0;
  /// Whether the copying edge refuses host memory because in_place() takes it. The default refuses only memory with a
  /// descriptor, whole pages by nature: that other memory is aligned to pages may be chance, and its route may have been
  /// planned with a smaller alignment.
  virtual bool leaves_to_sharing(const Description& from, const Context& to, Access access) const;

  /// @name Copies out of this kind of memory, to new host memory.
  virtual CopyTerms copies_out(const Context& from) const = 0;
  /// The packed elements of `source`, at least one, in new host memory. The caller has waited for work in flight.
  /// @errors kDeadlineExceeded; those of native calls.
  virtual Tensor copy_out(const Tensor& source, Deadline deadline) const = 0;
  /// Whether the bytes cross a bus, which the ledger books.
  virtual bool transfers_out(const Context& from) const = 0;

  /// @name Copies into new memory of this kind.
  virtual std::variant<CopyTerms, Refusal> copies_in(const Context& to) const = 0;
  /// New memory for a copy. @errors those of native calls.
  virtual Ref<Memory> allocate_copy(const Context& to, std::size_t size_bytes) const = 0;
  /// Copies elements, at least one, to new packed memory. The caller has waited for work in flight. The default is for
  /// memory that the host reaches. @errors kDeadlineExceeded; those of native calls.
  virtual void copy_in(const Tensor& source, Tensor& copy, Deadline deadline) const;
  /// Whether the bytes cross a bus, which the ledger books. The default: where the host does not reach the new memory.
  virtual bool transfers_in(const Tensor& copy) const { return !copy.is_host_addressable(); }

 private:
  const Facts facts_;
};

/// Out to the host: memory with a host address is shared, other memory is copied. Each map waits for the device.
class TENON_API PointerToCpu : public Edge {
 public:
  explicit PointerToCpu(const PointerTraits& traits);
  std::string_view name() const final { return name_; }
  MemoryKind from() const final { return traits_.kind(); }
  MemoryKind to() const final { return kCpuMemory; }
  Step step(const Description& from, const Context& to, Access access) const override;
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override;

 private:
  const PointerTraits& traits_;
  const std::string name_;
};

/// Host memory in place, by a view that stays.
class TENON_API CpuToPointer final : public StandingEdge {
 public:
  explicit CpuToPointer(const PointerTraits& traits);
  Step step(const Description& from, const Context& to, Access access) const override;
  bool makes_standing_views(const Context&) const override { return traits_.facts().standing_views; }

 private:
  std::unique_ptr<View> make_view(const Tensor& source, const Context& to) const override;

  const PointerTraits& traits_;
};

/// Host memory copied, where it is not shared in place.
class TENON_API CpuToPointerCopy final : public Edge {
 public:
  explicit CpuToPointerCopy(const PointerTraits& traits);
  std::string_view name() const override { return name_; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return traits_.kind(); }
  Step step(const Description& from, const Context& to, Access access) const override;
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override;

 private:
  const PointerTraits& traits_;
  const std::string name_;
};

/// Both in one edge, for APIs whose device decides which: host memory in place where it may, else copied.
class TENON_API CpuToPointerEither final : public Edge {
 public:
  explicit CpuToPointerEither(const PointerTraits& traits);
  std::string_view name() const override { return name_; }
  MemoryKind from() const override { return kCpuMemory; }
  MemoryKind to() const override { return traits_.kind(); }
  Step step(const Description& from, const Context& to, Access access) const override;
  Tensor map(const Tensor& source, const Context& to, const MapOptions& options) const override;

 private:
  const PointerTraits& traits_;
  const std::string name_;
};

/// Between contexts of one kind that share their memory.
class TENON_API PointerToPointer : public StandingEdge {
 public:
  explicit PointerToPointer(const PointerTraits& traits);
  Step step(const Description& from, const Context& to, Access access) const final;
  bool makes_standing_views(const Context&) const final { return traits_.facts().standing_views; }

 private:
  /// Why memory of `from` is not that of `to`, both of this kind; empty where it is.
  virtual std::string obstacle(const Context& from, const Context& to) const = 0;

  const PointerTraits& traits_;
};

/// Why host memory does not consist of whole pages; empty where it does.
/// @param wanted  The end of the text: ": CUDA pins whole pages of 4096 bytes in place".
TENON_API std::string not_whole_pages(const Description& from, std::size_t page_bytes, const std::string& wanted);

/// The address of a tensor's first element in memory of type `MemoryType` or through a view of type `ViewType`, both with
/// `data()`; nothing for other tensors.
template <typename MemoryType, typename ViewType>
std::optional<std::uintptr_t> find_address(const Tensor& tensor) {
  if (!tensor) return std::nullopt;
  if (tensor.view()) {
    const auto* view = dynamic_cast<const ViewType*>(tensor.view());
    return view ? std::optional(std::bit_cast<std::uintptr_t>(view->data()) + tensor.offset()) : std::nullopt;
  }
  const auto* memory = dynamic_cast<const MemoryType*>(tensor.memory().get());
  return memory ? std::optional(std::bit_cast<std::uintptr_t>(memory->data()) + tensor.offset()) : std::nullopt;
}

/// ContextImpl::read by way of packed host memory: waits for writes of the tensor's memory, then `copy` fills new memory.
/// @errors as the wait; those of `copy`.
TENON_API void read_staged(const Tensor& tensor, std::span<std::byte> out,
                           const std::function<void(const Ref<Memory>& packed)>& copy);
/// ContextImpl::write likewise. @param api  Begins the error text.
/// @errors kPermissionDenied: a read-only tensor; as read_staged().
TENON_API void write_staged(const char* api, const Tensor& tensor, std::span<const std::byte> in,
                            const std::function<void(const Ref<Memory>& packed)>& copy);

}  // namespace v1
}  // namespace tenon
