// SPDX-License-Identifier: Apache-2.0
// The views and the end of a memory, and the defaults of a context.
#include <tenon/core/memory.hpp>
#include <tenon/core/tensor.hpp>

#include <algorithm>

namespace tenon {
inline namespace v1 {
namespace detail {

TENON_INLINE std::uint64_t next_context_id() {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}
TENON_INLINE std::mutex& view_mutex() {
  // One for all memories: taken only when a memory meets a context for the first time.
  static std::mutex* mutex = new std::mutex;
  return *mutex;
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
  hazards->ending_ = this;
  defer(*hazards);
}

TENON_INLINE void Hazards::finish() noexcept { delete ending_; }

TENON_INLINE void Memory::drop_views() noexcept {
  View* view = views_.load(std::memory_order_acquire);  // Called by destructors: no other thread adds views now.
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
  std::lock_guard lock(detail::view_mutex());
  if (const View* first = find_view(*view->context(), view->kind(), view->access(), view->key())) return *first;
  view->next_ = views_.load(std::memory_order_relaxed);
  views_.store(view.get(), std::memory_order_release);
  return *view.release();
}

TENON_INLINE std::size_t Memory::view_count() const {
  std::size_t count = 0;
  for (const View* view = views_.load(std::memory_order_acquire); view; view = view->next_) ++count;
  return count;
}

}  // namespace v1
}  // namespace tenon
