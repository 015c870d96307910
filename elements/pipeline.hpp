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
#include <string_view>
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

/// A source of a pipeline that runs.
struct SourceState {
  /// kFailed: the stream ended with a failure, which is among failures().
  enum class Now : std::uint8_t { kOpening, kRunning, kEnding, kEnded, kFailed };
  std::string name, element;
  std::uint32_t stream = 0;
  bool was_added = false;
  Now now = Now::kOpening;
  std::uint64_t frames = 0;
};
/// "opening", "running", "ending", "ended", "failed".
TENON_API std::string_view name(SourceState::Now now);

/// A pipeline that runs. @thread all members from any thread; start() only once.
class TENON_API Pipeline {
 public:
  /// Makes the elements. @errors as plan_pipeline() and make_element().
  explicit Pipeline(const PipelineSpec& spec);
  /// Stops the pipeline at once if it still runs, as stop() does without time for frames in flight. @pre The caller is no thread of the pipeline.
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  /// Starts all threads. Each source opens in its own thread, so errors of opening are among failures().
  void start();
  /// Waits until every stream has ended and every sink is finished. @return False: the deadline came first.
  /// @errors kFailedPrecondition: an element waits for its own pipeline, and so for itself; a deadline that is over only asks.
  bool wait(Deadline deadline);
  /// Whether the caller is a thread of this pipeline, as its elements' calls are.
  bool is_own_thread() const noexcept;
  /// Makes the sources stop reading. Frames in flight are finished until `deadline`; then they are dropped (NodeStats::dropped), calls
  /// that wait are interrupted, and the elements get the ends of their streams: a file is whole with the frames that were written to it.
  /// Returns when all threads have ended. An element that calls it from a thread of the pipeline only asks for the end:
  /// the call returns at once, and wait() says when the pipeline has ended.
  void stop(Deadline deadline = default_deadline());

  /// Adds a source to a pipeline with PipelineSpec::more_sources that runs. It feeds the nodes that another source feeds, each by an
  /// element of its own where the element is not shared; the frames of other streams go on meanwhile. It opens in its own thread. Whatever
  /// `on_error` says, a failure of an added stream ends or restarts that stream alone.
  /// @param source  Its name: that of no other node and no source that is there; `from` and `queue` empty.
  /// @param like    The name of the planned source whose nodes it feeds; empty: the first one.
  /// @return The number of its stream, which no other stream has had.
  /// @errors kFailedPrecondition: not started, stopped, or made without more_sources; kAlreadyExists: the name is taken;
  /// kResourceExhausted: so many sources were added already; kNotFound: no source `like`, no such element; kUnimplemented: its way leads to
  /// an element that joins streams; as make_element(). Nothing has changed then.
  /// @cost makes elements and starts threads in the caller's.
  std::uint32_t add_source(const NodeSpec& source, const std::string& like = {});
  /// Ends a source, planned or added, also while it opens. Frames that it gave are finished, those of a planned one a moment later. What an
  /// added source had is freed, and its name may be used again.
  /// @return False: the deadline came first, or an element calls this from a thread of the pipeline, which does not wait; the source ends
  /// later.
  /// @errors kNotFound: no such source, or it was removed before.
  bool remove_source(const std::string& name, Deadline deadline = default_deadline());
  /// The planned sources, and those that were added and not removed, in the order of their streams. An added source that has ended goes
  /// when another one is added.
  std::vector<SourceState> sources() const;

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
