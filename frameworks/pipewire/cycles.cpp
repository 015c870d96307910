// SPDX-License-Identifier: Apache-2.0
// Cycles of a node that drives the graph, and the marks of its readers.
#include <tenon/frameworks/pipewire/cycles.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

#include <tenon/core/export.hpp>

namespace tenon {
inline namespace v1 {
namespace pipewire::detail {

inline constexpr int kProofs = 3;
/// How long the first cycles may take before they are begun again.
inline constexpr std::chrono::milliseconds kStuck{30};
inline constexpr std::chrono::milliseconds kProof{250};  ///< The longest wait for a sign of a reader that gives none.
inline constexpr std::chrono::milliseconds kQuiet{5};    ///< How long late signs of a cycle's end are waited for.

TENON_INLINE bool is_taken(const spa_buffer& buffer) {
  const auto* const busy = meta<const spa_meta_busy>(buffer, SPA_META_Busy);
  return !busy || __atomic_load_n(&busy->count, __ATOMIC_SEQ_CST) != 0 || is_marked(buffer, kTaken);
}

TENON_INLINE bool is_marked(const spa_buffer& buffer, std::uint32_t mark) {
  const auto* const busy = meta<const spa_meta_busy>(buffer, SPA_META_Busy);
  return busy && (__atomic_load_n(&busy->flags, __ATOMIC_SEQ_CST) & mark) != 0;
}

TENON_INLINE void expect_mark(const spa_buffer& buffer) {
  if (auto* const busy = meta<spa_meta_busy>(buffer, SPA_META_Busy))
    __atomic_and_fetch(&busy->flags, ~kTaken, __ATOMIC_SEQ_CST);
}

TENON_INLINE void forget_marks(const spa_buffer& buffer) {
  if (auto* const busy = meta<spa_meta_busy>(buffer, SPA_META_Busy))
    __atomic_store_n(&busy->flags, 0, __ATOMIC_SEQ_CST);
}

TENON_INLINE void forget_users(const spa_buffer& buffer) {
  if (auto* const busy = meta<spa_meta_busy>(buffer, SPA_META_Busy))
    __atomic_store_n(&busy->count, 0, __ATOMIC_SEQ_CST);
}

TENON_INLINE void Cycles::begin(pw_stream* stream, Clock::time_point now) {
  if (!pw_stream_is_driving(stream)) return;
  is_running_ = true;
  ends_to_come_ = 1;
  began_ = now;
  pw_stream_trigger_process(stream);
}

TENON_INLINE bool Cycles::are_proved() const { return proofs_ >= kProofs; }

TENON_INLINE void Cycles::prove(pw_stream* stream, const std::function<bool()>& is_over,
                                const std::function<bool()>& is_on_its_way, Deadline deadline) {
  const Deadline enough = std::min<Deadline>(deadline, Clock::now() + kProof);
  std::unique_lock lock(connection_.mutex);
  is_proving_ = true;
  Deadline again = Clock::now() + kStuck;
  for (auto patience = kStuck; !is_over() && Clock::now() < (is_running_ || is_on_its_way() ? deadline : enough);) {
    (void)connection_.changed.wait_for(lock, stop_, kLook, is_over);
    if (stop_.stop_requested()) break;
    if (is_over() || Clock::now() < again) continue;
    begin_again(stream, lock, deadline);
    again = Clock::now() + (patience *= 2);
  }
  for (std::uint64_t seen = ~ends_; seen != ends_ && Clock::now() < deadline;) {
    seen = ends_;
    (void)connection_.changed.wait_for(lock, stop_, kQuiet, [&] { return seen != ends_ || stop_.stop_requested(); });
  }
  is_proving_ = false;
  ++proofs_;
  connection_.changed.notify_all();
}

/// A cycle without a picture. Its beginning gives a sign of its end at once, which on_begin() tells apart. Where the cycle before was still
/// on its way, both give one later.
TENON_INLINE void Cycles::begin_again(pw_stream* stream, std::unique_lock<std::mutex>& lock, Deadline deadline) {
  ends_to_come_ = 2;
  is_marked_ = false;
  begins_empty_ = true;
  lock.unlock();
  bool begins = false;
  {
    const Connection::Lock loop(connection_);
    begins = pw_stream_is_driving(stream);
    if (begins) pw_stream_trigger_process(stream);
  }
  lock.lock();
  if (begins)
    (void)connection_.changed.wait_until(lock, stop_, deadline, [this] { return is_marked_ || !is_running_; });
  begins_empty_ = false;
}

/// On PipeWire's other thread. What it tells the first one comes in order.
TENON_INLINE void Cycles::on_begin() {
  if (begins_empty_)
    pw_loop_invoke(
        connection_.loop(),
        [](spa_loop*, bool, std::uint32_t, const void*, std::size_t, void* data) {
          static_cast<Cycles*>(data)->on_marked();
          return 0;
        },
        0, nullptr, 0, false, this);
}

TENON_INLINE void Cycles::on_marked() {
  const std::lock_guard lock(connection_.mutex);
  is_marked_ = true;
  skips_end_ = true;
  connection_.changed.notify_all();
}

TENON_INLINE void Cycles::on_end() {
  const std::lock_guard lock(connection_.mutex);
  if (std::exchange(skips_end_, false)) return;
  ++ends_;
  connection_.changed.notify_all();
  if (ends_to_come_ > 1 && --ends_to_come_ > 0) return;
  is_running_ = false;
}

}  // namespace pipewire::detail
}  // namespace v1
}  // namespace tenon
