// SPDX-License-Identifier: Apache-2.0
// Spans of one inference, and of each node in it where the device measures them, in an open trace.
#pragma once

#include <chrono>

#include <tenon/core/ledger.hpp>

namespace tenon {
inline namespace v1 {

class InferRequestImpl;

/// Begins when made. @cost a relaxed load while no trace is open.
class InferenceTrace {
 public:
  InferenceTrace() : on_(Trace::is_open()) {
    if (on_) begin_ = std::chrono::steady_clock::now();
  }
  /// The inference that `request` ran is over. Nodes are there when the model was compiled with PERF_COUNT.
  void finish(const InferRequestImpl& request) const noexcept {
    if (on_) record(request);
  }

 private:
  void record(const InferRequestImpl& request) const noexcept;
  bool on_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace v1
}  // namespace tenon
