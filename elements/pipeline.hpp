// SPDX-License-Identifier: Apache-2.0
// Runs pipelines. Each source and each element that waits has a thread, with a bounded queue before it; other elements are
// called directly.
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

/// Statistics of one node so far, summed over its streams.
struct NodeStats {
  std::string name, element;
  std::uint64_t frames_in = 0, frames_out = 0, dropped = 0;
  std::uint64_t expected = 0;              ///< Frames that a source knows to come; 0: it does not know.
  std::chrono::nanoseconds busy{0};        ///< Time spent in the element's own code.
  std::size_t queued = 0, queue_size = 0;  ///< Frames that wait before the node; the capacity of its queues.
  LedgerEntry moved;                       ///< Bytes that the node copied, converted and transferred, and its waits.
  /// Quantiles of the latency from the source's reading of a frame to the end of this node's work on it, accurate within 9%.
  std::chrono::nanoseconds p50{0}, p90{0}, p99{0};
};

/// Why a stream ended early, or was restarted.
struct Failure {
  std::uint32_t stream = 0;
  std::string node, message;
  std::exception_ptr error;
  bool was_restarted = false;
};

/// A pipeline that runs. @thread all members from any thread; start() only once.
class TENON_API Pipeline {
 public:
  /// Makes the elements. @errors as plan_pipeline() and make_element().
  explicit Pipeline(const PipelineSpec& spec);
  /// Stops the pipeline at once if it still runs.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Starts all threads. Each source opens in its own thread, so errors of opening are among failures().
  void start();
  /// Waits until every stream has ended and every sink is finished. @return False: the deadline came first.
  bool wait(Deadline deadline);
  /// Makes the sources stop reading. Frames in flight are finished until `deadline`; then they are dropped, and calls that
  /// wait are interrupted. Returns when all threads have ended.
  void stop(Deadline deadline = default_deadline());

  const PipelinePlan& plan() const;
  /// The statistics of all nodes, in the order of plan().nodes.
  std::vector<NodeStats> stats() const;
  /// All failures so far, in the order in which they happened.
  std::vector<Failure> failures() const;

 private:
  class Engine;
  std::unique_ptr<Engine> engine_;
};

}  // namespace elements
}  // namespace v1
}  // namespace tenon
