// SPDX-License-Identifier: Apache-2.0
// Calls that take long, such as compilations, which Ctrl-C ends.
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <optional>
#include <thread>
#include <utility>

#include <tenon/bindings/python/native/native.hpp>
#include <tenon/core/new_thread.hpp>
#include <tenon/graph/wanted.hpp>

namespace tenon::python {

/// Whether this is the thread in which Python handles signals.
bool is_main_thread();

/// What `call` returns, which runs with the interpreter free. Python handles signals in its main thread alone, so that thread waits for one
/// of its own, where `call` ends at its next check (CancellationScope) once a handler has thrown. That thread takes some 50 us.
/// @param end  Called again and again in the main thread, with the interpreter free, until `call` has ended, once a handler has thrown: for
/// calls that check something else. @errors those of `call`, and of handlers
template <typename F, typename End>
auto interruptible(F call, End end) {
  if (!is_main_thread()) return freely(call);
  std::optional<decltype(call())> result;
  std::exception_ptr error;
  std::atomic<bool> is_wanted{true};
  std::promise<void> over;
  const std::future<void> is_over = over.get_future();
  std::thread thread = new_thread("Python: a call that Ctrl-C ends", [&] {
    const CancellationScope scope([&] { return is_wanted.load(); });
    try {
      result.emplace(call());
    } catch (...) {
      error = std::current_exception();
    }
    over.set_value();
  });
  try {
    wait_in_slices([&](int slice_ms) {
      return is_over.wait_for(std::chrono::milliseconds(slice_ms)) == std::future_status::ready;
    });
  } catch (...) {
    const Released released;
    is_wanted = false;
    do {
      end();
    } while (is_over.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready);
    thread.join();
    result.reset();
    throw;
  }
  freely([&] { thread.join(); });
  if (error) throw_again([&] { std::rethrow_exception(error); });
  return std::move(*result);
}
template <typename F>
auto interruptible(F call) {
  return interruptible(std::move(call), [] {});
}

}  // namespace tenon::python
