// SPDX-License-Identifier: Apache-2.0
// Futex: a 32-bit word on which threads wait with a deadline, first by spinning and then in the kernel.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

namespace tenon::handles {

using Clock = std::chrono::steady_clock;

/// Nanoseconds on the monotonic clock.
inline std::uint64_t now_ns() noexcept {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count());
}

/// End of a wait: never, at once, or at a time of now_ns()'s clock.
class Deadline {
 public:
  /// From a timeout: UINT64_MAX waits for ever, 0 only checks.
  static Deadline in(std::uint64_t timeout_ns) noexcept {
    Deadline deadline;
    if (timeout_ns == UINT64_MAX) return deadline;
    const std::uint64_t now = timeout_ns == 0 ? 0 : now_ns();
    deadline.at_ns_ = timeout_ns > UINT64_MAX - 1 - now ? UINT64_MAX : now + timeout_ns;
    return deadline;
  }
  static Deadline at(Clock::time_point time) noexcept {
    const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(time - Clock::now()).count();
    return in(left > 0 ? static_cast<std::uint64_t>(left) : 0);
  }
  bool never() const noexcept { return at_ns_ == UINT64_MAX; }
  bool passed() const noexcept { return !never() && (at_ns_ == 0 || now_ns() >= at_ns_); }
  std::uint64_t at_ns() const noexcept { return at_ns_; }

 private:
  std::uint64_t at_ns_ = UINT64_MAX;
};

/// @thread all members from any thread.
class Futex {
 public:
  explicit Futex(std::uint32_t value = 0) noexcept : value_(value) {}
  std::uint32_t load() const noexcept { return value_.load(std::memory_order_acquire); }
  void store(std::uint32_t value) noexcept {
    value_.store(value, std::memory_order_seq_cst);
    wake();
  }
  bool compare_exchange(std::uint32_t& expected, std::uint32_t desired) noexcept {
    if (!value_.compare_exchange_strong(expected, desired, std::memory_order_seq_cst)) return false;
    wake();
    return true;
  }
  std::uint32_t add(std::uint32_t amount) noexcept {
    const std::uint32_t value = value_.fetch_add(amount, std::memory_order_seq_cst) + amount;
    wake();
    return value;
  }
  /// Waits until `ready(value)`. @return false if the deadline passed first.
  template <class Ready>
  bool wait(Ready ready, Deadline deadline, std::uint64_t spin_ns) noexcept {
    if (ready(load())) return true;
    if (deadline.passed()) return false;
    if (spin(ready, deadline, spin_ns)) return true;
    bool in_time = true;
    sleepers_.fetch_add(1, std::memory_order_seq_cst);
    for (;;) {
      const std::uint32_t value = value_.load(std::memory_order_seq_cst);
      if (ready(value)) break;
      if (deadline.passed()) {
        in_time = false;
        break;
      }
      sleep(value, deadline);
    }
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
    return in_time;
  }

 private:
  template <class Ready>
  bool spin(Ready ready, Deadline deadline, std::uint64_t spin_ns) noexcept {
    if (spin_ns == 0) return false;
    const std::uint64_t end = std::min(now_ns() + spin_ns, deadline.at_ns());
    do {
      for (int i = 0; i < 32; ++i) {
        if (ready(load())) return true;
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
      }
    } while (now_ns() < end);
    return false;
  }
  void wake() noexcept {
    if (sleepers_.load(std::memory_order_seq_cst) != 0) wake_all();
  }
  void wake_all() noexcept { ::syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0); }
  /// std::atomic::wait has no deadline.
  void sleep(std::uint32_t value, Deadline deadline) noexcept {
    timespec at{};
    if (!deadline.never()) {
      at.tv_sec = static_cast<time_t>(deadline.at_ns() / 1'000'000'000);
      at.tv_nsec = static_cast<long>(deadline.at_ns() % 1'000'000'000);
    }
    // FUTEX_WAIT_BITSET takes an absolute time on the monotonic clock, which now_ns() reads.
    ::syscall(SYS_futex, &value_, FUTEX_WAIT_BITSET_PRIVATE, value, deadline.never() ? nullptr : &at, nullptr,
              FUTEX_BITSET_MATCH_ANY);
  }

  std::atomic<std::uint32_t> value_;
  std::atomic<std::uint32_t> sleepers_{0};
};

}  // namespace tenon::handles
