// SPDX-License-Identifier: Apache-2.0
// A load of requests that run round after round, which bench measures.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

#include <tenon/core/tensor.hpp>
#include <tenon/runtime/compiled_model.hpp>
#include <tenon/runtime/core.hpp>  // IWYU pragma: export
#include <tenon/runtime/infer_request.hpp>
#include <tenon/tools/tenon/shared/clock.hpp>

namespace tenon::tool {

/// Noise in 0..1 for real numbers, noise for bytes, zeros for other types: indices must stay in range.
void fill_with_noise(const Tensor& tensor, unsigned seed);

/// Latency is from the start of a request to its end, waiting for a stream included.
class Load {
 public:
  /// @errors kInvalidArgument: an input of dynamic shape
  Load(CompiledModel& compiled, std::uint64_t requests);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  InferRequest& first() { return slots_.front().request; }

  /// Runs until `until`, until `most` inferences have started, or until the user interrupts.
  /// @param latency_ms  Filled up to its capacity: nothing is allocated while measuring.
  /// @return The number of inferences that ran.
  /// @errors An exception from an inference.
  std::uint64_t run(Clock::time_point until, std::uint64_t most, std::vector<double>* latency_ms);

 private:
  struct Slot {
    InferRequest request;
    Clock::time_point begin;
  };
  void start(Slot& slot);
  void done(std::size_t index, const std::exception_ptr& error);

  std::vector<Slot> slots_;
  std::mutex mutex_;
  std::condition_variable idle_;
  std::size_t running_ = 0;
  std::uint64_t ended_ = 0;
  std::exception_ptr failure_;
  std::atomic<Clock::time_point> until_{};
  std::atomic<std::int64_t> left_{0};
  std::vector<double>* latency_ms_ = nullptr;
};

}  // namespace tenon::tool
