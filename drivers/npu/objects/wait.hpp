// SPDX-License-Identifier: Apache-2.0
// Waiting, as all drivers do it. now_ns() is the clock that device and host share, also used for timestamps; timeouts are Level
// Zero's.
#pragma once

#include <cstdint>

#include <tenon/drivers/handles/wait.hpp>  // IWYU pragma: export

namespace tenon::npu {

using handles::Clock;
using handles::Deadline;
using handles::Futex;
using handles::now_ns;

/// How long a thread spins before it sleeps: about the cost of a wake-up; 0 with a single CPU.
std::uint64_t default_spin_ns() noexcept;

}  // namespace tenon::npu
