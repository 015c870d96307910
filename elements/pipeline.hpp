// SPDX-License-Identifier: Apache-2.0
// Runs pipelines: a thread for each source and wherever an element waits, bounded queues before those, calls elsewhere.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <tenon/core/export.hpp>
#include <tenon/core/ledger.hpp>
#include <tenon/core/policy.hpp>
#include <tenon/elements/pipeline_spec.hpp>

namespace tenon {
inline namespace v1 {
namespace elements {

/// What one node did so far, all its streams together.
struct NodeStats {
  std::string name, element;
  std::uint64_t frames_in = 0, frames_out = 0, dropped = 0;
  std::chrono::nanoseconds busy{0};        ///< In the element's own code.
  std::size_t queued = 0, queue_size = 0;  ///< Frames that wait before it; sizes of its queues.
  LedgerEntry moved;                       ///< Bytes that it copied, converted and transferred, and its waits.
  /// From the source's reading of a frame to the end of this node's work on it, of 50, 90 and 99 frames of 100; within 9%.
  std::chrono::nanoseconds p50{0}, p90{0}, p99{0};
};

/// Why a stream ended early, or was restarted.
struct Failure {
  std::uint32_t stream = 0;
  std::string node, message;
  std::exception_ptr error;
  bool was_restarted = false;
};

/// @thread all members from any thread; start() once.
class TENON_API Pipeline {
 public:
  /// Makes the elements. @errors as plan_pipeline() and make_element().
  explicit Pipeline(const PipelineSpec& spec);
  /// Stops at once what still runs.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Starts all threads. Sources open in theirs: what goes wrong there is a failure().
  void start();
  /// Until every stream has ended and every sink is finished. @return false: the deadline came first.
  bool wait(Deadline deadline);
  /// Sources stop reading, and what is in flight is finished until `deadline`; then it is dropped, and calls that wait are
  /// interrupted. Returns when all threads have ended.
  void stop(Deadline deadline = default_deadline());

  const PipelinePlan& plan() const;
  /// In the order of plan().nodes.
  std::vector<NodeStats> stats() const;
  /// In the order in which they happened.
  std::vector<Failure> failures() const;

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace elements
}  // namespace v1
}  // namespace tenon
