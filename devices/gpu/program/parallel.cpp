// SPDX-License-Identifier: Apache-2.0
// The threads.
#include <tenon/devices/gpu/program/parallel.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include <tenon/graph/wanted.hpp>

namespace tenon::inline v1::gpu_device {

std::size_t threads_of(std::int32_t most) {
  return most > 0 ? static_cast<std::size_t>(most) : std::max(1u, std::thread::hardware_concurrency());
}

void run_parallel(std::size_t count, std::int32_t most_threads, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto run = [&, is_wanted = CancellationScope::current()] {
    const CancellationScope scope(is_wanted);
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        work(i);
      } catch (...) {
        const std::lock_guard lock(failure_mutex);
        if (!failure) failure = std::current_exception();
        next = count;
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < std::min(threads_of(most_threads), count); ++i) threads.emplace_back(run);
    run();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace tenon::inline v1::gpu_device
