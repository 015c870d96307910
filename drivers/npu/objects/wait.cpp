// SPDX-License-Identifier: Apache-2.0
// The futex behind WaitWord; std::atomic::wait has no deadline.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <climits>
#include <ctime>

#include <tenon/drivers/npu/objects/wait.hpp>
#include <tenon/engine/engine.hpp>

namespace tenon::npu {

std::uint64_t default_spin_ns() noexcept {
  static const std::uint64_t spin = engine::Workers::available_cpus() > 1 ? 20'000 : 0;
  return spin;
}

void WaitWord::wake_all() noexcept { ::syscall(SYS_futex, &value_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0); }

void WaitWord::sleep(std::uint32_t value, Deadline deadline) noexcept {
  timespec at{};
  if (!deadline.never()) {
    at.tv_sec = static_cast<time_t>(deadline.at_ns() / 1'000'000'000);
    at.tv_nsec = static_cast<long>(deadline.at_ns() % 1'000'000'000);
  }
  // FUTEX_WAIT_BITSET takes an absolute time on the monotonic clock, which now_ns() reads.
  ::syscall(SYS_futex, &value_, FUTEX_WAIT_BITSET_PRIVATE, value, deadline.never() ? nullptr : &at, nullptr,
            FUTEX_BITSET_MATCH_ANY);
}

}  // namespace tenon::npu
