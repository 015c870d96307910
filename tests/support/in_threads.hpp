// SPDX-License-Identifier: Apache-2.0
// Work on several threads of a test, whose failures are the test's.
#pragma once

#include <exception>
#include <latch>
#include <thread>
#include <vector>

namespace tenon::testing {

/// Calls work(0) to work(count - 1), each on a thread of its own, which all begin at once. Returns when all have ended;
/// then throws what the first of them threw, so that an error fails the test and not the process.
template <typename Work>
void in_threads(int count, const Work& work) {
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(count));
  {
    std::latch all_there(count);
    std::vector<std::jthread> threads;
    for (int i = 0; i < count; ++i)
      threads.emplace_back([&, i] {
        all_there.arrive_and_wait();
        try {
          work(i);
        } catch (...) {
          failures[static_cast<std::size_t>(i)] = std::current_exception();
        }
      });
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace tenon::testing
