// SPDX-License-Identifier: Apache-2.0
// The views and the end of a memory, and the defaults of a context.
#include <tenon/core/memory.hpp>
#include <tenon/core/tensor.hpp>
#include <tenon/core/view_count.hpp>

#include <array>
#include <mutex>
#include <utility>

namespace tenon {
inline namespace v1 {
namespace detail {

TENON_INLINE std::uint64_t next_context_id() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace detail

TENON_INLINE ContextImpl::ContextImpl() : id_(detail::next_context_id()) {}

TENON_INLINE std::variant<Offer, Refusal> ContextImpl::offer(const Requirements&) const {
  return Refusal{"this context wraps memory, it does not allocate any"};
}

TENON_INLINE void ContextImpl::check_offer(const Requirements& wanted, Code code) const {
  const auto offered = offer(wanted);
  if (const auto* refusal = std::get_if<Refusal>(&offered))
    throw Error(code, std::string(name()) + ": " + refusal->reason);
}

TENON_INLINE Ref<Memory> ContextImpl::allocate(const Requirements& wanted) {
  check_offer(wanted);
  throw Error(Code::kUnimplemented, std::string(name()) + ": it offers memory and allocates none");
}

TENON_INLINE void ContextImpl::read(const Tensor& tensor, std::span<std::byte> out) const {
  Tensor packed(tensor.element_type(), tensor.shape(), out.data());
  tensor.copy_to(packed);
}

TENON_INLINE void ContextImpl::write(const Tensor& tensor, std::span<const std::byte> in) const {
  Tensor target = tensor;
  Tensor(tensor.element_type(), tensor.shape(), const_cast<std::byte*>(in.data())).copy_to(target);
}

TENON_INLINE void Memory::dispose() noexcept {
  Hazards* hazards = hazards_.load(std::memory_order_acquire);
  if (!hazards || !hazards->busy()) return void(delete this);
  defer(*this);
}

TENON_INLINE void Memory::drop_hazards() noexcept {
  Hazards* hazards = hazards_.load(std::memory_order_acquire);
  if (hazards && hazards->users_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete hazards;
}

namespace detail {

/// Live memories by identity. Intrusive, so that wrapping a handle costs a lock and no allocation.
class IdentityTable {
 public:
  static IdentityTable& process() {
    static IdentityTable* const table = new IdentityTable;
    return *table;
  }
  /// Adds `memory`, with the hazards of another one over the same allocation if there is one.
  void add(Memory& memory) {
    std::lock_guard lock(mutex_);
    Memory*& bucket = bucket_of(memory.identity());
    for (const Memory* other = bucket; other; other = other->next_alike_) {
      if (!are_alike(*other, memory)) continue;
      Hazards& shared = other->hazards();
      shared.users_.fetch_add(1, std::memory_order_relaxed);
      memory.hazards_.store(&shared, std::memory_order_release);
      break;
    }
    memory.next_alike_ = std::exchange(bucket, &memory);
  }
  void remove(Memory& memory) noexcept {
    std::lock_guard lock(mutex_);
    Memory** at = &bucket_of(memory.identity());
    while (*at != &memory) at = &(*at)->next_alike_;
    *at = memory.next_alike_;
  }

 private:
  /// Handles and ids are unique among memories of one kind; a descriptor's inode is unique among all.
  static bool are_alike(const Memory& a, const Memory& b) {
    return a.identity() == b.identity() && (a.kind() == b.kind() || a.identity().kind == MemoryIdentity::Kind::kInode);
  }
  Memory*& bucket_of(const MemoryIdentity& identity) {
    const std::uint64_t hash = (identity.low + identity.high * 0xbf58476d1ce4e5b9ull) * 0x9e3779b97f4a7c15ull;
    return buckets_[hash >> 56];
  }
  std::mutex mutex_;
  std::array<Memory*, 256> buckets_{};
};

}  // namespace detail

TENON_INLINE void Memory::join_alike() { detail::IdentityTable::process().add(*this); }
TENON_INLINE void Memory::leave_alike() noexcept { detail::IdentityTable::process().remove(*this); }

TENON_INLINE void Memory::drop_views() noexcept {
  View* view = views_.load(std::memory_order_acquire);  // Called by destructors only: no other thread can add views.
  if (!view) return;
  views_.store(nullptr, std::memory_order_relaxed);
  while (view) {
    std::unique_ptr<View> dying(view);
    view = dying->next_;
  }
}

TENON_INLINE Hazards& Memory::hazards() const {
  Hazards* hazards = hazards_.load(std::memory_order_acquire);
  if (!hazards) {
    auto made = std::make_unique<Hazards>();
    if (hazards_.compare_exchange_strong(hazards, made.get(), std::memory_order_acq_rel)) hazards = made.release();
  }
  return *hazards;
}

TENON_INLINE const View* Memory::find_view(const ContextImpl& context, MemoryKind kind, Access access,
                                           std::uint64_t key) const {
  for (const View* view = views_.load(std::memory_order_acquire); view; view = view->next_) {
    if (view->context().impl().get() == &context && view->kind() == kind && view->key() == key &&
        covers(view->access(), access)) {
      return view;
    }
  }
  return nullptr;
}

TENON_INLINE const View& Memory::add_view(std::unique_ptr<View> view) const {
  // A dma-buf needs its sync bracket around each CPU access, also through views that other frameworks made of its
  // mapping. No such view is standing, so the router takes the edges each time.
  if (properties_.fd == FdKind::kDmabuf && view->host()) view->standing_edge_ = -1;
  // Searches again whenever another thread was faster: that thread may have added an equal view.
  View* head = views_.load(std::memory_order_acquire);
  do {
    if (const View* first = find_view(*view->context(), view->kind(), view->access(), view->key())) return *first;
    view->next_ = head;
  } while (!views_.compare_exchange_weak(head, view.get(), std::memory_order_acq_rel, std::memory_order_acquire));
  note_view_made();
  return *view.release();
}

namespace detail {

TENON_INLINE std::uint64_t& view_counter() noexcept {
  static thread_local std::uint64_t made = 0;
  return made;
}

}  // namespace detail

TENON_INLINE std::uint64_t views_made() noexcept { return detail::view_counter(); }
TENON_INLINE void note_view_made() noexcept { ++detail::view_counter(); }

TENON_INLINE std::size_t Memory::view_count() const {
  std::size_t count = 0;
  for (const View* view = views_.load(std::memory_order_acquire); view; view = view->next_) ++count;
  return count;
}

}  // namespace v1
}  // namespace tenon
