// SPDX-License-Identifier: Apache-2.0
// Work that is divided among threads while its caller waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace tenon::inline v1::gpu_device {

/// @param most  0: as many as there are CPUs.
std::size_t threads_of(std::int32_t most);

/// Calls `work` with 0 to count - 1, on this thread and others. @param most_threads  See threads_of(). @errors the first of `work`.
/// @cost some 20 us for each other thread.
void run_parallel(std::size_t count, std::int32_t most_threads, const std::function<void(std::size_t)>& work);

}  // namespace tenon::inline v1::gpu_device
