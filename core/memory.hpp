// SPDX-License-Identifier: Apache-2.0
// Memory: one allocation, its identity, hazards and views; Lease: one use of it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include <tenon/core/context.hpp>
#include <tenon/core/deferred.hpp>
#include <tenon/core/export.hpp>
#include <tenon/core/hazards.hpp>
#include <tenon/core/memory_kind.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/core/ref_counted.hpp>
#include <tenon/core/requirements.hpp>

namespace tenon {
inline namespace v1 {

class Shape;
class Tensor;
namespace detail {
class IdentityTable;
}

/// Identity of an allocation. kNone for foreign host pointers and for recycled ids, whose memory is wrapped again each
/// time.
struct MemoryIdentity {
  enum class Kind : std::uint8_t { kNone, kSerial, kInode, kAllocation, kHandle };
  Kind kind = Kind::kNone;
  std::uint64_t high = 0, low = 0;  ///< kInode: device and inode; else the id in `low`.
  friend bool operator==(const MemoryIdentity&, const MemoryIdentity&) = default;
};

/// The same bytes as seen from another context: a cl_mem over host memory, an imported allocation, a header of another
/// library. Belongs to its Memory, dies with it and holds no reference to it.
class TENON_API View {
 public:
  View(Context context, MemoryKind kind, Access access, void* host, std::uint64_t key = 0)
      : context_(std::move(context)), kind_(kind), access_(access), host_(host), key_(key) {}
  virtual ~View() = default;
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  const Context& context() const { return context_; }
  MemoryKind kind() const { return kind_; }
  Access access() const { return access_; }
  /// Host address of the memory's first byte, or null when the view cannot be reached by the CPU.
  void* host() const { return host_; }
  /// Distinguishes several views in one context if the API needs them (a pitch, a format). 0 if one view is enough.
  std::uint64_t key() const { return key_; }
  /// Marks the view as standing: mapping it again needs no work (no cache maintenance, no map call). The router then
  /// returns it without asking the edge, and books the map to `edge_id`. Call before add_view().
  void set_standing(std::uint16_t edge_id) { standing_edge_ = edge_id; }
  /// The edge id given to set_standing(), or -1.
  int standing_edge() const { return standing_edge_; }
  /// Sets the kind of descriptor that the memory has through this view, if it differs from the memory's own (a dma-buf
  /// over its memfd). Call before add_view().
  void set_fd_kind(FdKind fd) { fd_ = fd; }
  /// kNone: that of the memory.
  FdKind fd_kind() const { return fd_; }

 private:
  friend class Memory;
  Context context_;
  MemoryKind kind_;
  Access access_;
  void* host_;
  std::uint64_t key_;
  int standing_edge_ = -1;
  FdKind fd_ = FdKind::kNone;
  View* next_ = nullptr;
};

/// One allocation. Framework classes derive from it and release their resources in the destructor, once, on every path.
/// The destructor runs when the last reference is released and no work in hazards() is running: at once, or later on
/// one of Tenon's own threads.
/// @thread const members and view functions from any thread.
class TENON_API Memory : public RefCounted, private Deferred {
 public:
  struct Properties {
    std::size_t size_bytes = 0;
    void* host = nullptr;  ///< Host address of the first byte, when the CPU can reach it.
    bool read_only = false;
    FdKind fd = FdKind::kNone;
    std::uint64_t modifier = 0;  ///< Pixel layout as a DRM modifier; 0: linear.
    MemoryIdentity identity;
    /// The device that made the descriptor. Null: the host, or unknown.
    std::shared_ptr<const DeviceIdentity> exporter{};
  };

  ~Memory() override {
    if (is_known_by_identity()) leave_alike();
    if (views_.load(std::memory_order_acquire)) drop_views();
    drop_hazards();
  }
  const Context& context() const { return context_; }
  MemoryKind kind() const { return kind_; }
  std::size_t size_bytes() const { return properties_.size_bytes; }
  void* host() const { return properties_.host; }
  bool read_only() const { return properties_.read_only; }
  FdKind fd_kind() const { return properties_.fd; }
  std::uint64_t modifier() const { return properties_.modifier; }
  const MemoryIdentity& identity() const { return properties_.identity; }
  /// The device that made the descriptor behind this memory. Null if the host made it or if the maker is unknown.
  const std::shared_ptr<const DeviceIdentity>& exporter() const { return properties_.exporter; }
  /// The descriptor behind this memory, still owned by it; -1 when there is none. For fd_kind()s that are NT handles:
  /// UniqueHandle::number_of() of the handle.
  virtual int borrow_fd() const { return -1; }
  /// Shared by all memories over one allocation that have the same identity: a cl_mem, a USM pointer or a descriptor
  /// that was wrapped twice.
  Hazards& hazards() const;
  /// @name As in Hazards. @cost one load where no work was ever noted.
  Hazards::Points pending(Access access) const { return has_hazards() ? hazards().pending(access) : Hazards::Points(); }
  void wait_for(Access access, Deadline deadline, Ledger* ledger = nullptr) const {
    if (has_hazards()) hazards().wait_for(access, deadline, ledger);
  }
  template <typename Take>
  void wait_for(Access access, Deadline deadline, Ledger* ledger, Take take) const {
    if (has_hazards()) hazards().wait_for(access, deadline, ledger, take);
  }
  /// False when hazards() was never called: no work is under way, and calling it would create them.
  bool has_hazards() const noexcept { return hazards_.load(std::memory_order_acquire) != nullptr; }

  /// The view of this memory in `context` that allows `access`; null when there is none yet. @cost a walk of a list, no
  /// lock.
  const View* find_view(const ContextImpl& context, MemoryKind kind, Access access, std::uint64_t key = 0) const;
  /// The first view for which `matches` holds; null when there is none. For contexts that share views with each other.
  template <typename Matches>
  const View* find_view_if(Matches matches) const {
    for (const View* view = views_.load(std::memory_order_acquire); view; view = view->next_)
      if (matches(*view)) return view;
    return nullptr;
  }
  /// Adds `view` unless an equal one exists already; returns the view that is kept.
  const View& add_view(std::unique_ptr<View> view) const;
  /// How many views there are; for tests.
  std::size_t view_count() const;

 protected:
  Memory(Context context, MemoryKind kind, const Properties& properties)
      : context_(std::move(context)), kind_(kind), properties_(properties) {
    if (is_known_by_identity()) join_alike();
  }
  void dispose() noexcept override;
  /// Destroys the views. Derived destructors call it first when their views refer to resources that the destructor
  /// releases.
  void drop_views() noexcept;

 private:
  friend class detail::IdentityTable;
  /// Whether other memories over the same allocation can exist and be recognised by identity.
  bool is_known_by_identity() const { return properties_.identity.kind > MemoryIdentity::Kind::kSerial; }
  void join_alike();
  void leave_alike() noexcept;
  void drop_hazards() noexcept;
  /// @name Deferred: destruction, once no work uses the bytes.
  bool is_ready() noexcept override { return !hazards().busy(); }
  void finish() noexcept override { delete this; }

  Context context_;
  MemoryKind kind_;
  Properties properties_;
  Memory* next_alike_ = nullptr;  ///< Next memory in the same bucket of the identity table.
  mutable std::atomic<View*> views_{nullptr};
  mutable std::atomic<Hazards*> hazards_{nullptr};
};

/// State of one use of a memory: a pool slot, an AVFrame reference. Disposed of with its last Lease.
class TENON_API LeaseState : public RefCounted {
 public:
  /// False while another reader (a decoder's reference list) still needs the bytes; writing is then refused.
  virtual bool writable() const { return true; }
  /// Called by Tensor::set_shape for tensors under this lease. A lender that adapts to the tensor's shape (an inference
  /// request) gives `tensor` that shape, in other memory if needed, and returns true. @errors shapes that the lender
  /// cannot adopt.
  virtual bool reshape(Tensor& /*tensor*/, const Shape& /*shape*/) { return false; }
};

/// One use of a memory; the buffer returns to its pool with the last lease. Empty for plain allocations.
using Lease = Ref<LeaseState>;

}  // namespace v1
}  // namespace tenon
